/**
 * The limits of catalog files, attacked where they enter: at the limit a file is read, beyond it its import says which field. Called by
 * test/proofs/bounds.ts.
 */
import {
  catalogEndpointsMax,
  catalogIdCharsMax,
  catalogProvidersMax,
  jsonPathCharsMax,
  jsonPathStepsMax,
  metersMax,
  priceRowsMax,
} from '../../../src/base/limits-money.ts';
import { holds, same } from '../../support/proof.ts';
import { type Named, openSrc } from './stand.ts';

const head = (provider = 'lab'): string => `provider: ${provider}
name: Lab
base_urls: ['https://api.example.com/${provider}']
price_note: a test's own
endpoints:`;

const row = (name: string, cost: string): string => `
  - name: ${name}
    capability: lab.work
    summary: work
    method: POST
    path: /work
    cost: ${cost}`;

interface Attack {
  readonly limit: string;
  readonly max: number;
  /** The path that the fault names, or its message. */
  readonly fault: RegExp;
  /** The files with so many, or so long a, thing. */
  readonly files: (size: number) => readonly string[];
}

const free = '{ kind: free }';
const one = (cost: string): readonly string[] => [head() + row('work', cost)];
const list = (size: number, item: (i: number) => string): string =>
  Array.from({ length: size }, (_, i) => item(i)).join(', ');
const perResult = (path: string): string =>
  `{ kind: per_result, results: '${path}', prices: [{ per_million_micros: 1 }], reserve: { kind: fixed, units: 1 } }`;
const meters = (size: number): string =>
  list(size, (i) => {
    const reserve = 'reserve: [{ kind: fixed, units: 1 }]';
    return `{ name: m${i}, paths: [m${i}], required: true, ${reserve} }`;
  });
const rates = (size: number): string => list(size, (i) => `m${i}: 1`);

const attacks: readonly Attack[] = [
  {
    limit: 'catalogIdCharsMax',
    max: catalogIdCharsMax,
    fault: /^endpoints\.0\.name /,
    files: (n) => [head() + row('n'.repeat(n - 'lab.'.length), free)],
  },
  {
    limit: 'jsonPathCharsMax',
    max: jsonPathCharsMax,
    fault: /^endpoints\.0\.cost\.results /,
    files: (n) => one(perResult('p'.repeat(n))),
  },
  {
    limit: 'jsonPathStepsMax',
    max: jsonPathStepsMax,
    fault: /^endpoints\.0\.cost\.results /,
    files: (n) => one(perResult(`a${'.a'.repeat(n - 1)}`)),
  },
  {
    limit: 'priceRowsMax',
    max: priceRowsMax,
    fault: /^endpoints\.0\.cost\.prices /,
    files: (n) => {
      const when = (i: number) => `[{ in: query, at: q, one_of: [v${i}] }]`;
      const prices = list(n, (i) => `{ when: ${when(i)}, price_micros: 1 }`);
      return one(`{ kind: per_call, prices: [${prices}] }`);
    },
  },
  {
    limit: 'metersMax',
    max: metersMax,
    fault: /^endpoints\.0\.cost\.meters /,
    files: (n) => {
      const prices = `[{ per_million_micros: { ${rates(n)} } }]`;
      return one(`{ kind: usage, meters: [${meters(n)}], prices: ${prices} }`);
    },
  },
  {
    limit: 'catalogProvidersMax',
    max: catalogProvidersMax,
    fault: /at most \d+ providers/,
    files: (n) => Array.from({ length: n }, (_, i) => head(`p${i}`) + row('work', free)),
  },
  {
    limit: 'catalogEndpointsMax',
    max: catalogEndpointsMax,
    fault: /at most \d+ endpoints/,
    files: (n) => [head() + Array.from({ length: n }, (_, i) => row(`work${i}`, free)).join('')],
  },
];

/** A file is named like its provider. */
const nameOf = (text: string): string => `${/^provider: (\w+)/.exec(text)?.[1]}.yaml`;

const egress = { allow: { pairs: new Set<string>() }, gatewayHosts: [], httpsOnly: true };

/** Every row of this file. */
export const inCatalogFiles: readonly Named[] = attacks.map(({ limit, max, fault, files }) => [
  `${limit}: a catalog may have ${max}; one more is a fault of the import`,
  async () => {
    openSrc();
    const { readSources } = await import('../../../scripts/lib/catalog/read.ts');
    const faultsAt = (size: number): string[] => {
      const sources = files(size).map((text) => ({ name: nameOf(text), text: `${text}\n` }));
      const read = readSources(sources, egress);
      return read.ok ? [] : read.faults.map(({ path, message }) => `${path} ${message}`);
    };
    same(faultsAt(max), [], 'faults at the limit');
    const beyond = faultsAt(max + 1);
    holds(
      beyond.some((text) => fault.test(text)),
      `beyond the limit: ${JSON.stringify(beyond.slice(0, 3))}`,
    );
  },
]);
