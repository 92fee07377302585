/** Who may import whom (CONTRIBUTING.md). Checked by `npm run tidy` and `npm test`. */
const outside = (folders) => `^(${folders.join('|')})`;

module.exports = {
  forbidden: [
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'base-imports-nothing',
      severity: 'error',
      from: { path: '^src/base' },
      to: { pathNot: '^src/base' },
    },
    {
      name: 'domain-is-pure',
      comment: 'domain knows no clock, no randomness, no I/O, no platform; libraries of pure rules are listed by name',
      severity: 'error',
      from: { path: '^src/domain' },
      to: { pathNot: outside(['src/base', 'src/domain', 'src/http/header-names', 'node:zlib', 'zlib', 'weir:public-suffixes']) },
    },
    {
      name: 'ports-know-the-inside-only',
      severity: 'error',
      from: { path: '^src/ports' },
      to: { pathNot: outside(['src/base', 'src/domain', 'src/ports']) },
    },
    {
      name: 'stages-know-no-outside',
      severity: 'error',
      from: { path: '^src/call' },
      to: { pathNot: outside(['src/base', 'src/domain', 'src/ports', 'src/call', 'src/http/(header-names|problem|refusal-table)']) },
    },
    {
      name: 'stages-do-not-import-each-other',
      severity: 'error',
      from: { path: '^src/call/\\d\\d-' },
      to: { path: '^src/call/\\d\\d-' },
    },
    {
      name: 'adapters-know-ports-and-domain',
      severity: 'error',
      from: { path: '^src/adapters' },
      to: { path: '^src/(call|control-plane|jobs|app|worker|wiring)' },
    },
    {
      name: 'control-plane-has-no-adapters',
      severity: 'error',
      from: { path: '^src/control-plane' },
      to: { path: '^src/(call|adapters|jobs|app|worker|wiring)', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'only-the-worker-loads-objects',
      severity: 'error',
      from: { path: '^src', pathNot: '^src/worker\\.ts$' },
      to: { path: '^durable-objects', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'objects-take-domain-and-base',
      severity: 'error',
      from: { path: '^durable-objects' },
      to: { path: '^src/(call|control-plane|adapters|http|jobs|app|worker|wiring)' },
    },
    {
      name: 'product-has-no-test-code',
      severity: 'error',
      from: { path: '^(src|durable-objects)' },
      to: { path: '^test', dependencyTypesNot: ['type-only'] },
    },
  ],
  options: {
    tsPreCompilationDeps: true,
    doNotFollow: { path: 'node_modules' },
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['workerd', 'import', 'types', 'default'] },
  },
};
