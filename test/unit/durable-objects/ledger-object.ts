/**
 * The real `OrgLedger` for proofs, behind a small Worker: histories by their seed, on a clock that
 * the history moves, and a few scenes on the real clock. Bundled by `test/proofs/ledger-model.ts`.
 */
import { OrgLedger } from '../../../durable-objects/org-ledger';
import { packedLedger } from '../../../src/adapters/durable/ledger-call';
import { historyOf, type Step, startMs } from '../../support/ledger-history';

/** Clocks of the objects that play a history, by name. Object and Worker are in one isolate. */
const clocks = new Map<string, number>();

export class TestLedger extends OrgLedger {
  protected override nowMs(): number {
    return clocks.get(this.ctx.id.name ?? '') ?? super.nowMs();
  }

  /** Dies as an eviction does: memory is gone, the disk stays. */
  evict(): void {
    this.ctx.abort('evicted by a proof');
  }

  runAlarm(): void {
    this.alarm();
  }

  rows(): number {
    return this.ctx.storage.sql.exec('SELECT count(*) AS n FROM log').one().n as number;
  }
}

interface Env {
  readonly LEDGER: DurableObjectNamespace<TestLedger>;
}

type Stub = DurableObjectStub<TestLedger>;

async function evict(stub: Stub): Promise<void> {
  try {
    await stub.evict();
  } catch {
    // the call cannot be answered by an object that is gone
  }
}

/** Carries out one step; calls of one step are sent together and arrive in order. */
async function run(stub: Stub, step: Step): Promise<unknown> {
  // As the road sends them: flat lists there and back.
  const ledger = packedLedger(stub);
  switch (step.do) {
    case 'apply':
      return Promise.all(step.calls.map((call) => ledger.apply(call.ends, call.places)));
    case 'die':
    case 'lose_answer':
      return ledger.apply(step.call.ends, step.call.places);
    case 'credit':
      return step.kind === 'purchased'
        ? stub.topUp(step.id, step.micros)
        : stub.grant(step.id, step.kind, step.micros);
    case 'task':
      return stub.openTask(step.task);
    case 'configure':
      return stub.configure(step.config);
    case 'alarm':
      for (let i = 0; i < step.times; i += 1) await stub.runAlarm();
      return null;
    case 'resolve':
      return stub.resolveRecord(step.id, step.resolution);
    case 'journal': {
      const outbox = await stub.outbox(step.limit);
      const taken = outbox.rows.slice(0, Math.max(0, outbox.rows.length - step.keep)).at(-1);
      if (taken !== undefined) await stub.acknowledge(taken.seq);
      return outbox;
    }
    case 'audit': {
      let audit = await stub.audit();
      while (audit.outcome === 'more') audit = await stub.audit();
      return audit;
    }
    default:
      return null;
  }
}

/** Steps of one call each: what is sent after them arrives after them. */
const single = new Set<Step['do']>([
  'apply',
  'die',
  'lose_answer',
  'credit',
  'task',
  'configure',
  'resolve',
]);

/** A step and the books after it; sent together where the order is sure, to wait for one commit. */
async function see(stub: Stub, step: Step): Promise<unknown> {
  const answer = run(stub, step);
  if (!single.has(step.do)) await answer;
  const view = stub.view();
  return { answer: await answer, view: await view };
}

async function history(env: Env, seed: number): Promise<unknown> {
  const name = `seed ${seed}`;
  let nowMs = startMs;
  const seen: unknown[] = [];
  let stub = env.LEDGER.getByName(name);
  const restart = async (): Promise<void> => {
    await evict(stub);
    stub = env.LEDGER.getByName(name);
  };
  for (const step of historyOf(seed)) {
    if (step.do === 'wait') nowMs += step.ms;
    clocks.set(name, nowMs);
    if (step.do === 'lose_answer') await stub.apply(step.call.ends, step.call.places);
    if (step.do === 'lose_answer' || step.do === 'restart') await restart();
    seen.push(await see(stub, step));
  }
  const lists = {
    holds: await stub.holds(null),
    records: await stub.records(null),
    reviews: await stub.reviews(null),
    tasks: await stub.tasks(null),
  };
  return { seen, lists };
}

/** 200 calls of 60 at once on a balance of 100, through as many stubs. */
async function overspend(env: Env, name: string): Promise<unknown> {
  await env.LEDGER.getByName(name).topUp('pay_1', 100);
  const calls = Array.from({ length: 200 }, (_, i) =>
    env.LEDGER.getByName(name).apply([], [['place', `hld_${i}`, 60, 'key_a', null, null, null]]),
  );
  const outcomes: string[] = [];
  for (const answer of await Promise.all(calls)) {
    outcomes.push(
      answer.outcome === 'applied' ? (answer.places[0]?.outcome ?? '?') : answer.outcome,
    );
  }
  return { outcomes, view: await env.LEDGER.getByName(name).view() };
}

/** A hold and a claim whose owner and whose object are gone: only the alarm is left. */
async function abandon(env: Env, name: string): Promise<unknown> {
  const stub = env.LEDGER.getByName(name);
  await stub.topUp('pay_1', 100);
  const claim = ['idm_1', 'p', 'k', 'f'] as const;
  await stub.apply([], [['place', 'hld_1', 60, 'key_a', null, null, claim]]);
  await evict(stub);
  return null;
}

async function look(env: Env, name: string): Promise<unknown> {
  const stub = env.LEDGER.getByName(name);
  return {
    view: await stub.view(),
    reviews: await stub.reviews(null),
    records: await stub.records(null),
  };
}

/** More calls at once than may be unconfirmed; what was refused was not done. */
async function flood(env: Env, name: string, count: number): Promise<unknown> {
  const stub = env.LEDGER.getByName(name);
  await stub.topUp('pay_1', count);
  const calls = Array.from({ length: count }, (_, i) =>
    stub.apply([], [['place', `hld_${i}`, 1, 'key_a', null, null, null]]),
  );
  const outcomes = (await Promise.all(calls)).map((answer) => answer.outcome);
  return { outcomes, view: await stub.view(), rows: await stub.rows() };
}

export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
    const name = searchParams.get('name') ?? 'ledger';
    const number = Number(searchParams.get('n'));
    if (pathname === '/history') return Response.json(await history(env, number));
    if (pathname === '/overspend') return Response.json(await overspend(env, name));
    if (pathname === '/abandon') return Response.json(await abandon(env, name));
    if (pathname === '/look') return Response.json(await look(env, name));
    if (pathname === '/flood') return Response.json(await flood(env, name, number));
    return new Response(null, { status: 404 });
  },
};
