/**
 * No limit of base/limits.ts is without a use in the gateway and without a test. Called by
 * test/proofs/bounds.ts.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { same } from '../../support/proof.ts';
import type { Named } from './stand.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));

/** Text of every file below a folder whose name ends so. */
function textBelow(folder: string, except: string): string {
  const names = readdirSync(`${root}${folder}`, { recursive: true, encoding: 'utf8' });
  const files = names.filter((name) => name.endsWith('.ts') && name !== except);
  return files.map((name) => readFileSync(`${root}${folder}/${name}`, 'utf8')).join('\n');
}

/** Limits of the sections that have a proof of their own (issue 2). */
const ofLaterSections = /\/\/ ── (?:ledger|idempotency records) ──[\s\S]*/;

/** Limits whose tests use the figure, not the name: which file does. */
const provedByFigure: Readonly<Record<string, string>> = {
  maskableSecretCharsMin: 'test/unit/domain/credentials/masking.test.ts',
  unwrapDepthMax: 'test/unit/domain/credentials/masking.test.ts',
  unwrapCharsMax: 'test/unit/domain/credentials/masking.test.ts',
  normaliseRoundsMax: 'test/unit/domain/credentials/masking.test.ts',
  resolverTtlFloorMs: 'test/unit/adapters/egress/doh-resolver.test.ts',
  resolverTtlCeilingMs: 'test/unit/adapters/egress/doh-resolver.test.ts',
  resolverFailureTtlMs: 'test/unit/adapters/egress/doh-resolver.test.ts',
  dataKeysHeldMax: 'test/unit/adapters/vault/vault.test.ts',
};

/** The meta row. */
export const everyLimit: Named = [
  'every limit of base/limits.ts is used by the gateway and named by a test',
  async () => {
    const limits = readFileSync(`${root}src/base/limits.ts`, 'utf8').replace(ofLaterSections, '');
    const names = [...limits.matchAll(/^export const (\w+)/gm)].map((match) => match[1] as string);
    const words = (text: string): ReadonlySet<string> => new Set(text.match(/\w+/g));
    const used = words(textBelow('src', 'base/limits.ts'));
    // A limit that this file names as proved elsewhere is not tested by that.
    const tested = words(textBelow('test', 'proofs/bounds/every-limit.ts'));
    same(
      names.filter((name) => !used.has(name)),
      [],
      'limits without a use',
    );
    const untested = names.filter((name) => !tested.has(name) && !(name in provedByFigure));
    same(untested, [], 'limits without a test');
    return `${names.length} limits`;
  },
];
