/** `npm run tidy`: types, format and lint, import rules, migrations in step with the schema. `--fix` writes what can be written. */
import { spawnSync } from 'node:child_process';
import { pathToFileURL } from 'node:url';
import { ownArguments } from './lib/arguments.ts';

/** One check: a name and a command from node_modules/.bin. */
type Check = readonly [name: string, command: string, args: readonly string[]];

const checks = (fix: boolean): readonly Check[] => [
  ['types of the Worker', 'tsc', ['-p', 'tsconfig.json']],
  ['types of tests inside workerd', 'tsc', ['-p', 'tsconfig.test.json']],
  ['types of scripts and socket tests', 'tsc', ['-p', 'tsconfig.node.json']],
  ['format and lint', 'biome', ['check', ...(fix ? ['--write'] : []), '--error-on-warnings']],
  [
    'import rules',
    'depcruise',
    ['src', 'durable-objects', '--config', '.dependency-cruiser.cjs', '--output-type', 'err'],
  ],
  ['migrations match the schema', 'drizzle-kit', ['check']],
];

/** Runs all checks; gives the names of those that failed. */
export function tidy(fix: boolean): string[] {
  const failed: string[] = [];
  for (const [name, command, args] of checks(fix)) {
    const run = spawnSync(command, args, { encoding: 'utf8' });
    const passed = run.status === 0;
    console.log(`  ${passed ? 'ok  ' : 'FAIL'}  ${name}`);
    if (!passed) {
      failed.push(name);
      console.log(`${run.stdout}${run.stderr}`);
    }
  }
  return failed;
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const usage = 'npm run tidy [-- --fix]\n\n  --fix   writes what can be written';
  process.exit(tidy(ownArguments({ usage, switches: ['fix'] }).isSet('fix')).length === 0 ? 0 : 1);
}
