/**
 * No limit of base/limits*.ts is without a use in the gateway (the Worker or its objects) and without
 * a test. Called by test/proofs/bounds.ts.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { same } from '../../support/proof.ts';
import type { Named } from './stand.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));

/** Text of every file below a folder whose name ends so. */
function textBelow(folder: string, ...except: readonly string[]): string {
  const names = readdirSync(`${root}${folder}`, { recursive: true, encoding: 'utf8' });
  const files = names.filter((name) => name.endsWith('.ts') && !except.includes(name));
  return files.map((name) => readFileSync(`${root}${folder}/${name}`, 'utf8')).join('\n');
}

const limitFiles = ['base/limits.ts', 'base/limits-money.ts', 'base/limits-capacity.ts'];
const resolverTests = 'test/unit/adapters/egress/doh-resolver.test.ts';
const maskingTests = 'test/unit/domain/credentials/masking.test.ts';
const deskTests = 'test/unit/adapters/durable/ledger-desk.test.ts';

/** Limits whose tests use the figure, not the name: which file does. */
const provedByFigure: Readonly<Record<string, string>> = {
  maskableSecretCharsMin: maskingTests,
  unwrapDepthMax: maskingTests,
  unwrapCharsMax: maskingTests,
  normaliseRoundsMax: maskingTests,
  resolverTtlFloorMs: resolverTests,
  resolverTtlCeilingMs: resolverTests,
  resolverFailureTtlMs: resolverTests,
  dataKeysHeldMax: 'test/unit/adapters/vault/vault.test.ts',
  // What the desk's clock sees: a crowd, an answer of a second, a flusher of five.
  ledgerBusyRetryMs: deskTests,
  ledgerCrowdMin: deskTests,
  ledgerEndsRetryMs: deskTests,
  ledgerFlusherLifeMs: deskTests,
  ledgerFlusherTickMs: deskTests,
  ledgerHeirMs: 'test/fault/ledger-client.test.ts',
  // Rows of 400 entries, read page by page.
  ledgerEntriesPageMax: 'test/unit/control-plane/ledger.test.ts',
};

/** The meta row. */
export const everyLimit: Named = [
  'every limit of base/limits*.ts is used by the gateway and named by a test',
  async () => {
    const limits = limitFiles.map((name) => readFileSync(`${root}src/${name}`, 'utf8')).join('\n');
    const names = [...limits.matchAll(/^export const (\w+)/gm)].map((match) => match[1] as string);
    const words = (text: string): ReadonlySet<string> => new Set(text.match(/\w+/g));
    const used = words(textBelow('src', ...limitFiles) + textBelow('durable-objects'));
    // A limit that this file names as proved elsewhere is not tested by that.
    const tested = words(textBelow('test', 'proofs/bounds/every-limit.ts'));
    same(
      names.filter((name) => !used.has(name)),
      [],
      'limits without a use',
    );
    const untested = names.filter((name) => !tested.has(name) && !(name in provedByFigure));
    same(untested, [], 'limits without a test');
    const stale = Object.entries(provedByFigure).filter(
      ([name, file]) => !names.includes(name) || tested.has(name) || !existsSync(`${root}${file}`),
    );
    same(stale, [], 'limits that need no exception, and files that are gone');
    return `${names.length} limits, ${Object.keys(provedByFigure).length} of them by their figure`;
  },
];
