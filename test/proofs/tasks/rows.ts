/** Rows of the tasks proof: the money of an asynchronous job, from its submission to its end. Called by ../tasks.ts. */
import {
  costOf,
  isReplay,
  type MoneyTenant,
  newCase,
  refusalOf,
} from '../../support/money-world.ts';
import { holds, same } from '../../support/proof.ts';
import { until } from '../../support/until.ts';
import { asyncOf, heldMicros, limits, type Stand, tasksOf } from './stand.ts';

type Named = readonly [name: string, run: (stand: Stand) => Promise<string | void>];

/** Ends of holds in the log: what, and how much. */
async function ends(tenant: MoneyTenant): Promise<readonly (readonly [string, number | null])[]> {
  return (await tenant.entries())
    .filter(({ kind }) => ['settle', 'release', 'expire', 'late_settle'].includes(kind))
    .map(({ kind, micros }) => [kind, micros]);
}

const renewals = async (tenant: MoneyTenant): Promise<number> =>
  (await tenant.entries()).filter(({ kind }) => kind === 'renew').length;

const stateOf = async (tenant: MoneyTenant): Promise<string | undefined> =>
  (await tasksOf(tenant))[0]?.state;

const succeeded = (id: string, charge: unknown = 40) => ({ id, status: 'succeeded', charge });

/** Opens a task, and lets leases pass until its hold was renewed so often. */
async function outlived(stand: Stand, tenant: MoneyTenant, job: string, times = 2) {
  const answer = await stand.submit(tenant, job);
  const before = await renewals(tenant);
  await until('the hold outlives its lease', async () =>
    (await renewals(tenant)) >= before + times ? true : undefined,
  );
  return answer;
}

const success: Named = [
  'C082 a task outlives its lease by far, succeeds with charge 40: 40 once',
  async (stand) => {
    const [tenant, job] = [await stand.world.tenant(), stand.newJob()];
    const submitted = await outlived(stand, tenant, job);
    same(
      [submitted.status, asyncOf(submitted), costOf(submitted)],
      [200, 'pending', null],
      'submission',
    );
    same(submitted.body.toString(), JSON.stringify({ id: job }), 'its body');
    same((await tenant.books()).held, heldMicros, 'held');
    const running = await stand.poll(tenant, job);
    same([asyncOf(running), costOf(running)], ['pending', null], 'a poll meanwhile');
    stand.job(job, succeeded(job));
    const last = await stand.poll(tenant, job);
    same([last.status, asyncOf(last), costOf(last)], [200, 'settled', 40], 'the last poll');
    same(last.body.toString(), JSON.stringify(succeeded(job)), 'its body');
    same((await tenant.ended()).settled, 40, 'settled');
    const again = await stand.poll(tenant, job);
    same([asyncOf(again), costOf(again)], ['settled', null], 'a poll after it');
    same(await ends(tenant), [['settle', 40]], 'ends');
    await tenant.audit();
    return `${await renewals(tenant)} renewals of ${limits.ledgerLeaseMs} ms`;
  },
];

const failure: Named = [
  'C082 the same, then failed: nothing is charged, the hold is released once',
  async (stand) => {
    const [tenant, job] = [await stand.world.tenant(), stand.newJob()];
    await outlived(stand, tenant, job, 1);
    stand.job(job, { id: job, status: 'failed' });
    const last = await stand.poll(tenant, job);
    same([last.status, asyncOf(last), costOf(last)], [200, 'released', null], 'the last poll');
    same(await tenant.ended(), { available: 1_000_000, held: 0, settled: 0 }, 'books');
    await stand.poll(tenant, job);
    same(
      (await ends(tenant)).map(([kind]) => kind),
      ['release'],
      'ends',
    );
  },
];

const chargedFailure: Named = [
  'a failure that the vendor charges 7 for: 7 once',
  async (stand) => {
    const [tenant, job] = [await stand.world.tenant(), stand.newJob()];
    await stand.submit(tenant, job);
    stand.job(job, { id: job, status: 'canceled', charge: 7 });
    const last = await stand.poll(tenant, job);
    same([asyncOf(last), costOf(last)], ['settled', 7], 'the last poll');
    same((await tenant.ended()).settled, 7, 'settled');
  },
];

const deadline: Named = [
  'C082 past the deadline: released in full, listed for review, nobody is asked any more',
  async (stand) => {
    const [tenant, job] = [await stand.world.tenant(), stand.newJob()];
    await stand.submit(tenant, job, { id: 'lab.submit-short' });
    same(await tenant.ended(), { available: 1_000_000, held: 0, settled: 0 }, 'books');
    same(
      (await ends(tenant)).map(([kind]) => kind),
      ['expire'],
      'ends',
    );
    same(
      (await tenant.reviews()).map(({ micros, closed_by }) => [micros, closed_by]),
      [[heldMicros, null]],
      'reviews',
    );
    same(await stateOf(tenant), 'timed_out', 'state');
    await stand.fireUntil('it leaves the list of polls', async () => {
      const db = await stand.world.gateway.db();
      const [task] = await tasksOf(tenant);
      const left = db.prepare('select 1 from tasks where hold_id = ?').bind(task?.id ?? '');
      return (await left.all()).results.length === 0;
    });
    const asked = stand.asked(job);
    await stand.fire();
    same(stand.asked(job), asked, 'polls after it');
  },
];

const nobodyLooks: Named = [
  'nobody polls: the gateway does, and 40 is charged once',
  async (stand) => {
    const [tenant, job] = [await stand.world.tenant(), stand.newJob()];
    await stand.submit(tenant, job);
    await stand.fireUntil('it is polled', async () => stand.asked(job) > 0);
    same(await stateOf(tenant), 'pending', 'state while it runs');
    stand.job(job, succeeded(job));
    await stand.fireUntil('it is settled', async () => (await stateOf(tenant)) === 'settled');
    same((await tenant.ended()).settled, 40, 'settled');
    same(await ends(tenant), [['settle', 40]], 'ends');
    return `${stand.asked(job)} polls`;
  },
];

const byHand: Named = [
  'an operator polls by hand: what is due, and nothing else',
  async (stand) => {
    const [tenant, job] = [await stand.world.tenant(), stand.newJob()];
    await stand.submit(tenant, job);
    stand.job(job, succeeded(job));
    await until('it is due', async () => {
      const run = await tenant.api('POST', '/tasks/poll', {}, 'gateway');
      return run.settled > 0 ? true : undefined;
    });
    await tenant.api('POST', '/tasks/poll', {}, 'gateway');
    same([stand.asked(job), await stateOf(tenant)], [1, 'settled'], 'polls, and its state');
  },
];

const twoFirings: Named = [
  'two firings at once poll a task once',
  async (stand) => {
    const [tenant, job] = [await stand.world.tenant(), stand.newJob()];
    await stand.submit(tenant, job);
    stand.job(job, succeeded(job));
    await until('its time has come', async () => {
      await Promise.all([stand.fire(0), stand.fire(1)]);
      return stand.asked(job) > 0 ? true : undefined;
    });
    same([stand.asked(job), await stateOf(tenant)], [1, 'settled'], 'polls and state');
  },
];

const vendorDown: Named = [
  'a vendor that fails, and one that is silent, are no evidence: the hold stays',
  async (stand) => {
    const tenant = await stand.world.tenant();
    const [broken, silent] = [stand.newJob(), stand.newJob()];
    await stand.submit(tenant, broken);
    await stand.submit(tenant, silent);
    stand.job(broken, 'broken');
    stand.job(silent, 'silent');
    await stand.fireUntil(
      'both are asked',
      async () => stand.asked(broken) + stand.asked(silent) >= 2,
    );
    same((await tenant.books()).held, 2 * heldMicros, 'held');
    const poll = await stand.poll(tenant, broken);
    same([poll.status, asyncOf(poll)], [500, 'pending'], 'a poll of its owner');
    for (const job of [broken, silent]) {
      stand.job(job, succeeded(job));
      await stand.poll(tenant, job);
    }
    same((await tenant.ended()).settled, 80, 'settled');
  },
];

const strangers: Named = [
  'a foreign task and one that nobody has: the same 403, the vendor is not asked',
  async (stand) => {
    const [owner, other, job] = [
      await stand.world.tenant(),
      await stand.world.tenant({ name: 'Other' }),
      stand.newJob(),
    ];
    await stand.submit(owner, job);
    const answers = [
      await stand.poll(other, job),
      await stand.poll(owner, 'job-of-nobody'),
      await stand.poll(owner, `${job}%20`),
      await stand.poll(owner, `${job}/../${job}`.replaceAll('.', '%252e')),
      await other.call('lab.stop', { query: `?id=${job}` }),
    ];
    for (const answer of answers)
      same([answer.status, refusalOf(answer)], [403, 'catalog.task_not_owned'], 'an answer');
    const bodies = answers
      .slice(0, 2)
      .map(({ body }) => body.toString().replace(/call_[0-9A-Z]+/g, ''));
    holds(bodies[0] === bodies[1], `unlike: ${bodies.join(' | ')}`);
    same(stand.asked(job), 0, 'polls at the vendor');
    same(await other.books(), { available: 1_000_000, held: 0, settled: 0 }, 'books of the other');
  },
];

const stops: Named = [
  'another call about a task may end it: stopped by its owner',
  async (stand) => {
    const [tenant, job] = [await stand.world.tenant(), stand.newJob()];
    await stand.submit(tenant, job);
    stand.job(job, { id: job, status: 'canceled' });
    const stopped = await tenant.call('lab.stop', { query: `?id=${job}` });
    same([stopped.status, asyncOf(stopped)], [200, 'released'], 'the stop');
    same((await tenant.ended()).settled, 0, 'settled');
  },
];

const keyed: Named = [
  'a keyed submission: a repeat gets the same answer, nothing is submitted twice, its task is paid once',
  async (stand) => {
    const [tenant, job] = [await stand.world.tenant(), stand.newJob()];
    const [caseId, key] = [newCase(), 'one-job'];
    const first = await stand.submit(tenant, job, { caseId, key });
    const second = await stand.submit(tenant, job, { caseId, key });
    same([first.status, asyncOf(first), isReplay(first)], [200, 'pending', false], 'the first');
    same([second.status, asyncOf(second), isReplay(second)], [200, 'pending', true], 'the repeat');
    same([costOf(second), second.body.toString()], [null, first.body.toString()], 'its cost, body');
    same(stand.world.origin.arrivals(caseId), 1, 'submissions at the vendor');
    stand.job(job, succeeded(job));
    const poll = await stand.poll(tenant, job, { key });
    same([asyncOf(poll), isReplay(poll)], ['settled', false], 'a poll with the same key');
    same((await tenant.ended()).settled, 40, 'settled');
    const [record] = await tenant.records();
    same([record?.state, record?.cost_micros], ['recorded', null], 'the record');
    const third = await stand.submit(tenant, job, { caseId, key });
    same([third.status, isReplay(third)], [200, true], 'a repeat after the end');
  },
];

const notAccepted: Named = [
  'submissions that start nothing are settled at once, by what they say',
  async (stand) => {
    const cases = [
      ['no id', '{"ok":true}', 0],
      ['no JSON', 'accepted', 0],
      ['an id that is no text', '{"id":{"a":1}}', 0],
      ['failed at once', '{"id":"x","status":"failed"}', 0],
      ['failed at once, and charged', '{"id":"x","status":"failed","charge":3}', 3],
      ['done at once', '{"id":"x","status":"succeeded","charge":12}', 12],
      ['done at once, without a charge', '{"id":"x","status":"succeeded"}', heldMicros],
    ] as const;
    for (const [what, says, micros] of cases) {
      const tenant = await stand.world.tenant();
      const answer = await stand.submit(tenant, stand.newJob(), { says });
      same([answer.status, asyncOf(answer)], [200, null], what);
      same(answer.body.toString(), says, `${what}: body`);
      same((await tenant.ended()).settled, micros, `${what}: settled`);
      same(await tasksOf(tenant), [], `${what}: tasks`);
    }
  },
];

const evidenceOnly: Named = [
  'a success without a charge costs what was held; an unknown state is still running',
  async (stand) => {
    const [tenant, job] = [await stand.world.tenant(), stand.newJob()];
    await stand.submit(tenant, job, { id: 'lab.submit-flat' });
    for (const status of ['half-done', 7, null, { deep: 'succeeded' }]) {
      stand.job(job, { id: job, status });
      same(asyncOf(await stand.poll(tenant, job)), 'pending', `status ${JSON.stringify(status)}`);
    }
    stand.job(job, { id: job, status: 'succeeded' });
    const last = await stand.poll(tenant, job);
    same([asyncOf(last), costOf(last)], ['settled', heldMicros], 'the last poll');
    same((await tenant.ended()).settled, heldMicros, 'settled');
  },
];

const manyPolls: Named = [
  'twenty polls at once through two isolates see the end: 40 once',
  async (stand) => {
    const [tenant, job] = [await stand.world.tenant(), stand.newJob()];
    await stand.submit(tenant, job);
    stand.job(job, succeeded(job));
    const all = await Promise.all(
      Array.from({ length: 20 }, (_, i) => stand.poll(tenant, job, { isolate: i % 2 })),
    );
    for (const answer of all) same(answer.status, 200, 'a poll');
    same((await tenant.ended()).settled, 40, 'settled');
    same(await ends(tenant), [['settle', 40]], 'ends');
  },
];

const callerLeaves: Named = [
  'a caller that leaves before the id comes: the task is known, polled and paid all the same',
  async (stand) => {
    const [tenant, job, caseId] = [await stand.world.tenant(), stand.newJob(), newCase()];
    const { origin } = stand.world;
    stand.job(job, { id: job, status: 'running' });
    stand.prepared(caseId, job);
    origin.hold();
    const connection = await tenant.open('lab.submit', { caseId });
    await origin.until(() => origin.waiting() === 1);
    connection.reset();
    origin.open();
    await until('the task is known', async () => ((await stateOf(tenant)) ? true : undefined));
    stand.job(job, succeeded(job));
    await stand.fireUntil('it is settled', async () => (await stateOf(tenant)) === 'settled');
    same(await ends(tenant), [['settle', 40]], 'ends');
  },
];

const killed: Named = [
  'workerd is killed while a task runs: it is polled after the start, and paid once',
  async (stand) => {
    const [tenant, job] = [await stand.world.tenant(), stand.newJob()];
    await stand.submit(tenant, job);
    await stand.fireUntil('it is on the list', async () => stand.asked(job) > 0);
    await stand.world.isolates.kill();
    await stand.world.restart();
    same((await tenant.books()).held, heldMicros, 'held after the start');
    stand.job(job, succeeded(job));
    await stand.fireUntil('it is settled', async () => (await stateOf(tenant)) === 'settled');
    same((await tenant.ended()).settled, 40, 'settled');
    await tenant.audit();
  },
];

/** All rows; the kill is last. */
export const taskRows: readonly Named[] = [
  success,
  failure,
  chargedFailure,
  deadline,
  nobodyLooks,
  byHand,
  twoFirings,
  vendorDown,
  strangers,
  stops,
  keyed,
  notAccepted,
  evidenceOnly,
  manyPolls,
  callerLeaves,
  killed,
];
