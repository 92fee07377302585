/**
 * Cases of the kinds `hold-ledger` and `retry`: one hold, one end, whatever happens to a call.
 * Called by ../cases.ts.
 */
import { costOf, type MoneyTenant, newCase } from '../../support/money-world.ts';
import {
  answers,
  chunk,
  lastChunk,
  refuses,
  resets,
  silent,
  streamHead,
  streams,
} from '../../support/priced-origin.ts';
import { holds, same } from '../../support/proof.ts';
import { reply } from '../../support/recording-origin.ts';
import { until } from '../../support/until.ts';
import { type Check, ends, limits, placed, type Stand, says } from './stand.ts';

const upgrade = [
  'Connection: Upgrade',
  'Upgrade: websocket',
  'Sec-WebSocket-Version: 13',
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
];

/** Two sessions that come to nothing, as upgrades and as streams; then one that fits the balance. */
const refusedSessions: Check = async (stand) => {
  const tenant = await stand.tenant({ topUpMicros: 80 });
  for (let i = 0; i < 2; i += 1) {
    const answer = await tenant.call('lab.socket', { method: 'GET', headers: upgrade });
    says(answer, 400, 'catalog.websocket_not_metered', 'an upgrade');
  }
  same(await placed(tenant), 0, 'holds of the upgrades');
  for (let i = 0; i < 2; i += 1) {
    const caseId = newCase();
    stand.plan(caseId, refuses('403 Forbidden'));
    const headers = ['Accept: text/event-stream'];
    says(await tenant.call('lab.forty', { caseId, headers }), 403, null, 'a refused stream');
  }
  same(await tenant.ended(), { available: 80, held: 0, settled: 0 }, 'before the third call');
  same(await ends(tenant), [['release'], ['release']], 'ends of the streams');
  const third = await tenant.call('lab.forty');
  same([third.status, costOf(third)], [200, 40], 'the third call');
  same(await tenant.ended(), { available: 40, held: 0, settled: 40 }, 'after it');
};

const done = Buffer.concat([chunk('data: [DONE]\n\n'), Buffer.from(lastChunk)]);

/** The caller of a stream closes behind its last byte, and just before it. */
const closesAtTheEnd: Check = async (stand) => {
  const tenant = await stand.tenant();
  const [whole, before] = [newCase(), newCase()];
  stand.plan(whole, streams(30));
  const first = await tenant.open('lab.live', { caseId: whole });
  await first.until(() => first.bytes.includes('[DONE]\n\n\r\n0\r\n\r\n'));
  first.close();
  stand.plan(before, silent);
  const second = await tenant.open('lab.live', { caseId: before });
  const call = await stand.arrived(before);
  call.write(Buffer.concat([Buffer.from(streamHead), chunk('data: {"usage":{"units":30}}\n\n')]));
  await second.until(() => second.bytes.includes('"units":30'));
  second.reset();
  call.complete(done);
  same((await tenant.ended()).settled, 60, 'settled');
  same(
    await ends(tenant),
    [
      ['settle', 30],
      ['settle', 30],
    ],
    'ends',
  );
};

/** A well-behaved client that closes as soon as it has everything is a success. */
const closesAtOnce: Check = async (stand) => {
  const tenant = await stand.tenant();
  const times = 10;
  for (let i = 0; i < times; i += 1) {
    const [plain, streamed] = [newCase(), newCase()];
    stand.plan(plain, answers(30));
    stand.plan(streamed, streams(30));
    const one = await tenant.open('lab.live', { caseId: plain });
    await one.answer('POST');
    one.close();
    const other = await tenant.open('lab.live', { caseId: streamed });
    await other.until(() => other.bytes.includes('[DONE]\n\n\r\n0\r\n\r\n'));
    other.close();
  }
  for (const row of await stand.rows(tenant, 2 * times))
    same([row.outcome, row.status, row.cost_micros], ['answered', 200, 30], 'a row');
  same((await tenant.ended()).settled, 2 * times * 30, 'settled');
};

const crowd = 20;

/** Many calls at once, of which the money or a budget allows one. */
async function onePasses(
  stand: Stand,
  tenant: MoneyTenant,
  options: { readonly meta?: string },
  refusal: readonly [status: number, code: string],
): Promise<void> {
  const { origin } = stand.world;
  const cases = Array.from({ length: crowd }, () => newCase());
  origin.hold();
  let least = Number.POSITIVE_INFINITY;
  const look = async (): Promise<void> => {
    least = Math.min(least, (await tenant.books()).available);
  };
  const calls = cases.map((caseId) => tenant.call('lab.fixed', { caseId, ...options }));
  let answered = 0;
  for (const call of calls) void call.then(() => (answered += 1));
  await until('all but one are refused', async () => {
    await look();
    return answered === crowd - 1 ? true : undefined;
  });
  same(origin.waiting(), 1, 'calls at the vendor');
  origin.open();
  const all = await Promise.all(calls);
  await look();
  for (const answer of all.filter(({ status }) => status !== 200))
    says(answer, refusal[0], refusal[1], 'one of the others');
  same(all.filter(({ status }) => status === 200).length, 1, 'calls that passed');
  same(cases.filter((caseId) => stand.arrivals(caseId) > 0).length, 1, 'cases at the vendor');
  holds(least >= 0, `available was ${least}`);
  same((await tenant.ended()).settled, 60, 'settled');
}

const oneOfMany: Check = async (stand) => {
  const poor = await stand.tenant({ topUpMicros: 100 });
  await onePasses(stand, poor, {}, [402, 'insufficient_balance']);
  const budgets = [{ dimension: 'team', window: 'day', spend_max_micros: 100 }];
  const capped = await stand.tenant({ topUpMicros: 100_000, limits: { budgets } });
  await onePasses(stand, capped, { meta: 'team=new' }, [429, 'tag_spend_cap_reached']);
};

/** The vendor says that it charged more than there is. */
const chargedBeyondTheBalance: Check = async (stand) => {
  const tenant = await stand.tenant({ topUpMicros: 10 });
  const caseId = newCase();
  stand.plan(caseId, answers(1, { cost: 25 }));
  const first = await tenant.call('lab.reported', { caseId });
  same([first.status, costOf(first)], [200, 25], 'the call');
  same(await tenant.ended(), { available: -15, held: 0, settled: 25 }, 'books');
  same(await ends(tenant), [['settle', 25]], 'ends');
  const next = await tenant.call('lab.reported');
  says(next, 402, 'insufficient_balance', 'the next call');
  const { available_micros, required_micros } = JSON.parse(next.body.toString());
  same([available_micros, required_micros], [-15, 10], 'what the refusal says');
  const [row] = await stand.rows(tenant, 2);
  same([row?.outcome, row?.cost_micros], ['answered', 25], 'the row');
};

/** A POST whose answer never comes, or is a 504: sent once, its hold ends once. */
const neverResent: Check = async (stand) => {
  const { origin } = stand.world;
  const tenant = await stand.tenant();
  const attempt = async (plan: Parameters<Stand['plan']>[1]): Promise<readonly unknown[]> => {
    const caseId = newCase();
    stand.plan(caseId, plan);
    const answer = await tenant.call('lab.fixed', { caseId });
    return [answer.status, stand.arrivals(caseId)];
  };
  same(await attempt(({ socket }) => void socket.end()), [502, 1], 'closed without an answer');
  same(await attempt(resets()), [502, 1], 'reset without an answer');
  const late = reply('504 Gateway Timeout', [], '');
  same(
    await attempt((call) => void setTimeout(() => call.write(late), 1_000)),
    [504, 1],
    'a 504 of the vendor after 1 s',
  );
  const silentMs = performance.now();
  same(await attempt(silent), [504, 1], 'no answer');
  const tookMs = performance.now() - silentMs;
  holds(tookMs >= limits.firstByteTimeoutDefaultMs * 0.9, `504 after ${tookMs.toFixed(0)} ms`);
  same(await attempt(answers()), [200, 1], 'a connection to keep');
  const kept = origin.calls.at(-1)?.socket;
  let reused = false;
  same(
    await attempt(({ socket }) => {
      reused = socket === kept;
      socket.resetAndDestroy();
    }),
    [502, 1],
    'a kept connection that is reset',
  );
  holds(reused, 'the connection was another one');
  const released = ['release'];
  const all = [released, released, released, released, ['settle', 60], released];
  await tenant.ended();
  same(await ends(tenant), all, 'ends');
};

/** Checks by case. */
export const holdLedgerChecks: Readonly<Record<string, Check>> = {
  C020: refusedSessions,
  C060: closesAtTheEnd,
  C061: closesAtOnce,
  C063: oneOfMany,
  C064: chargedBeyondTheBalance,
  C065: neverResent,
};
