/**
 * What has to be true after a siege. The vendor's own count is the judge: what it completed is what
 * it bills. Called by test/proofs/kill.ts, in this order.
 */
import { spawn } from 'node:child_process';
import { type EntryWire, isReplay, refusalOf } from '../../support/money-world.ts';
import { callMicros } from '../../support/money-world-catalog.ts';
import { holds, same } from '../../support/proof.ts';
import { leaseMs } from './lease.ts';
import type { Siege } from './siege.ts';

/** How long the last leases and their alarms may take, milliseconds. */
const endedWithinMs = 5 * leaseMs;

type Verdict = readonly [name: string, run: (siege: Siege) => Promise<string>];

/** What became of a hold. */
interface HoldStory {
  readonly caseId: string;
  readonly placed: number;
  readonly ends: readonly string[];
  readonly chargedMicros: number;
  readonly late: number;
}

/** Holds by id; every call says its case in a tag. */
async function stories({ tenant }: Siege): Promise<ReadonlyMap<string, HoldStory>> {
  const by = new Map<string, EntryWire[]>();
  for (const entry of await tenant.entries()) {
    if (entry.id?.startsWith('hld_') !== true) continue;
    by.set(entry.id, [...(by.get(entry.id) ?? []), entry]);
  }
  return new Map([...by].map(([id, entries]) => [id, storyOf(entries)]));
}

function storyOf(entries: readonly EntryWire[]): HoldStory {
  const of = (...kinds: string[]): EntryWire[] =>
    entries.filter(({ kind }) => kinds.includes(kind));
  const charges = of('settle', 'late_settle');
  return {
    caseId: of('place')[0]?.tags?.case ?? '?',
    placed: of('place').length,
    ends: of('settle', 'release', 'expire').map(({ kind }) => kind),
    chargedMicros: charges.reduce((sum, { micros }) => sum + (micros ?? 0), 0),
    late: of('late_settle').length,
  };
}

export const verdicts: readonly Verdict[] = [
  [
    'every hold ends once, and none is left open',
    async (siege) => {
      await siege.tenant.ended(endedWithinMs);
      const all = await stories(siege);
      const ends = new Map<string, number>();
      for (const [id, { placed, ends: own, late }] of all) {
        same([placed, own.length], [1, 1], `${id}: placed, ended`);
        holds(late === 0 || own[0] !== 'settle', `${id}: settled twice`);
        ends.set(own[0] ?? '', (ends.get(own[0] ?? '') ?? 0) + 1);
      }
      holds((ends.get('expire') ?? 0) > 0, 'no kill hit an open hold: nothing was proven');
      holds((ends.get('settle') ?? 0) > 0, 'no call was settled: nothing was proven');
      return [...ends].map(([kind, n]) => `${n} ${kind}`).join(', ');
    },
  ],
  [
    'settled + listed for review = completed at the vendor × price',
    async (siege) => {
      const { origin } = siege.world;
      const [all, reviews] = [await stories(siege), await siege.tenant.reviews()];
      const listed = new Set(reviews.filter((r) => r.closed_by === null).map(({ id }) => id));
      const sums = { settled: 0, review: 0, neverDone: 0 };
      const booked = new Map<string, number>();
      for (const [id, { caseId, chargedMicros, ends, late }] of all) {
        const done = origin.completions(caseId);
        const isSettled = ends[0] === 'settle' || late > 0;
        if (isSettled) {
          same([done > 0, chargedMicros], [true, callMicros], `${id} of ${caseId}: done, charged`);
          sums.settled += chargedMicros;
        }
        const isListed = ends[0] === 'expire' && !isSettled;
        same(listed.has(id), isListed, `${id} (${ends[0]}) is listed for review`);
        // A hold that expired before its call reached the vendor owes nothing.
        if (isListed && done === 0) sums.neverDone += 1;
        else if (isListed) sums.review += callMicros;
        if (ends[0] !== 'release') booked.set(caseId, (booked.get(caseId) ?? 0) + 1);
      }
      for (const caseId of origin.cases()) {
        const found = booked.get(caseId) ?? 0;
        holds(found >= origin.completions(caseId), `${caseId} was done and is in no book`);
      }
      same(sums.settled + sums.review, origin.completed() * callMicros, 'settled + for review');
      const books = await siege.tenant.books();
      same(books.settled, sums.settled, 'settled in the books');
      return `${sums.settled} + ${sums.review} = ${origin.completed()} × ${callMicros}; ${sums.neverDone} listed that never arrived`;
    },
  ],
  ['the audit of the log is clean', async ({ tenant }) => `${await tenant.audit()} rows replayed`],
  [
    'no idempotency key is executed twice; what was answered once is answered the same again',
    async (siege) => {
      const { origin, isolates } = siege.world;
      const keyed = siege.calls.filter(({ isKeyed }) => isKeyed);
      let replays = 0;
      for (const [i, one] of keyed.entries()) {
        const wasAnswered = one.answer !== null;
        const answer = await siege.send(one, i % isolates.ports.length);
        holds(answer !== null, `${one.caseId}: no answer`);
        siege.take(one, answer);
        if (isReplay(answer)) replays += 1;
        // A stream ends for its caller once its record is on disk.
        else holds(!wasAnswered, `${one.caseId} of ${one.endpoint}: ${answer.statusLine}`);
        holds(origin.arrivals(one.caseId) <= 1, `${one.caseId} was executed twice`);
      }
      holds(replays > 0, 'nothing was replayed: nothing was proven');
      return `${keyed.length} keys, ${replays} replayed`;
    },
  ],
  [
    'every key whose outcome nobody saw says so, and is listed',
    async (siege) => {
      await siege.tenant.ended(endedWithinMs);
      const records = new Map((await siege.tenant.records()).map((r) => [r.key, r]));
      let unknown = 0;
      const keyed = siege.calls.filter(({ isKeyed }) => isKeyed);
      for (const one of keyed) {
        if (one.answer !== null && records.get(one.caseId)?.state !== 'unknown') continue;
        const answer = await siege.send(one, 0);
        const code = answer === null ? 'no answer' : refusalOf(answer);
        same(code, 'idempotency.outcome_unknown', `${one.caseId}, tried again`);
        same(records.get(one.caseId)?.state, 'unknown', `the record of ${one.caseId}`);
        unknown += 1;
      }
      const listed = [...records.values()].filter(({ state }) => state === 'unknown').length;
      same(listed, unknown, 'unknown records');
      return `${unknown} unknown`;
    },
  ],
  [
    'an operator resolves them by the vendor’s count: then the books are right to the last call',
    async (siege) => {
      const { tenant, world } = siege;
      const before = (await tenant.books()).settled;
      let charged = 0;
      for (const { id, key, state } of await tenant.records()) {
        if (state !== 'unknown') continue;
        const wasDone = world.origin.completions(key) > 0;
        const resolution = wasDone
          ? { resolution: 'settle', charge_micros: callMicros }
          : { resolution: 'free' };
        await tenant.api('POST', `/idempotency/${id}/resolve`, resolution);
        charged += wasDone ? callMicros : 0;
      }
      same((await tenant.books()).settled - before, charged, 'charged by the resolutions');
      await tenant.audit();
      return `${charged / callMicros} charged late`;
    },
  ],
  [
    'npm run ledger:audit on the stopped storage is clean',
    async ({ world }) => {
      await world.isolates.dispose();
      const run = await ledgerAudit(world.folder);
      same(run.code, 0, run.output);
      return run.output.trim().split('\n').at(-1) ?? '';
    },
  ],
];

function ledgerAudit(folder: string): Promise<{ code: number | null; output: string }> {
  const args = ['--disable-warning=ExperimentalWarning', 'scripts/ledger-audit.ts'];
  const env = { ...process.env, WEIR_STATE: folder };
  return new Promise((resolve) => {
    const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    const keep = (bytes: Buffer): void => {
      output += bytes.toString('utf8');
    };
    child.stdout.on('data', keep);
    child.stderr.on('data', keep);
    child.on('close', (code) => resolve({ code, output }));
  });
}
