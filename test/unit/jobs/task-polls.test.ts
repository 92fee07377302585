/** Task polls: when a task is asked for again, and that silence moves no money. */
import { describe, expect, it } from 'vitest';
import type { ReadAnswer } from '../../../src/adapters/egress/job-client';
import {
  meteredAnswerBytesMax,
  taskPollFirstMs,
  taskPollLeaseMs,
  taskPollPauseMsMax,
  taskPollRetryMs,
  taskPollStepMs,
  taskPollsMax,
  taskPollsTogetherMax,
  taskPollWaitMs,
} from '../../../src/base/limits-money';
import { ok } from '../../../src/base/result';
import type { EndOp } from '../../../src/domain/ledger/operations';
import { pollTasks } from '../../../src/jobs/task-polls';
import type { CatalogEntry } from '../../../src/ports/catalog';
import type { Ledger } from '../../../src/ports/ledger';
import type { DueTask, TaskIndex } from '../../../src/ports/tasks';
import { entryOf } from '../call/calls';
import { pending } from '../domain/tasks/rows';

const nowMs = 1_000_000;
const pollEntry = entryOf(
  { cost: { kind: 'free' }, path: '/tasks/{id}', taskId: 'id' },
  { accounts: [{ label: 'main', setting: 'LAB_KEY' }] },
);
const task = pending({ holdId: 'hld_1' });
const due: DueTask = {
  holdId: 'hld_1',
  address: { ledgerTenantId: 'ten_1', homeRegion: null },
  provider: 'lab',
  taskId: 'job-1',
  polls: 0,
  failures: 0,
};

const says = (status: string, code = 200): ReadAnswer => ({
  status: code,
  header: () => null,
  bytes: new TextEncoder().encode(JSON.stringify({ status })),
});

interface World {
  readonly meanwhile?: () => Promise<void>;
  readonly many?: readonly DueTask[];
  /** What the clock says, look by look; the last one stays. */
  readonly clock?: readonly number[];
  readonly task?: Awaited<ReturnType<Ledger['task']>>;
  readonly due?: DueTask;
  /** null: none came. */
  readonly answer?: ReadAnswer | null;
  readonly entry?: CatalogEntry | null;
  readonly settings?: ReadonlyMap<string, string>;
  /** Further accounts of the provider. */
  readonly labels?: readonly string[];
  readonly applied?: Awaited<ReturnType<Ledger['apply']>>;
  /** Holds whose row D1 does not change. */
  readonly unwritten?: readonly string[];
}

async function run(world: World) {
  const ends: EndOp[] = [];
  const next: unknown[] = [];
  const clock = [...(world.clock ?? [nowMs])];
  const now = (): number => (clock.length > 1 ? (clock.shift() ?? 0) : (clock[0] ?? 0));
  const removed: string[] = [];
  const asked: string[] = [];
  const told: string[] = [];
  const entry = world.entry === undefined ? pollEntry : world.entry;
  const index: TaskIndex = {
    add: async () => undefined,
    takeDue: async (_, limit) => {
      expect(limit).toBe(taskPollsMax);
      return world.many ?? [world.due ?? due];
    },
    next: async (id, when) => {
      write(id);
      next.push(when);
    },
    remove: async (id) => {
      write(id);
      removed.push(id);
    },
  };
  const reports: unknown[] = [];
  function write(id: string): void {
    if (world.unwritten?.includes(id)) throw new Error('D1_ERROR');
  }
  const ledger = {
    task: async () => (world.task === undefined ? task : world.task),
    apply: async (ops: readonly EndOp[]) => {
      ends.push(...ops);
      return world.applied ?? { outcome: 'applied', ends: [{ outcome: 'settled' }], places: [] };
    },
  } as unknown as Ledger;
  const counts = await pollTasks(
    {
      index,
      ledgers: { of: () => ledger },
      catalog: { endpoint: async () => ok(entry) },
      client: {
        ask: async ({ url, headers }, rules) => {
          expect(rules).toMatchObject({ waitMs: taskPollWaitMs, bytesMax: meteredAnswerBytesMax });
          asked.push(
            `${url} ${new Headers([...headers.map(([n, v]): [string, string] => [n, v])]).get('authorization')}`,
          );
          await world.meanwhile?.();
          return world.answer === undefined ? says('running') : world.answer;
        },
      },
      policy: { allow: { pairs: new Set() }, gatewayHosts: [], httpsOnly: true },
      settings: world.settings ?? new Map([['LAB_KEY', 'sk']]),
      labels: new Map([[pollEntry.provider.slug, world.labels ?? []]]),
      nowMs: now,
      report: (event, facts) => {
        reports.push([event, facts]);
        told.push(facts.why === undefined ? event : `${event} ${facts.why}`);
      },
    },
    () => undefined,
  );
  return { counts, ends, next, removed, asked, reports, told };
}

it('the times are those of digest A15: 30 s, 10 s more each, 60 s at most; 2, 4, 8, 15 min', () => {
  const times = [taskPollFirstMs, taskPollStepMs, taskPollPauseMsMax, taskPollLeaseMs];
  expect(times).toEqual([30_000, 10_000, 60_000, 60_000]);
  expect(taskPollRetryMs).toEqual([120_000, 240_000, 480_000, 900_000]);
});

describe('a task that runs', () => {
  it.each([0, 1, 2, 3, 9])('is asked for again after poll %i, later and later', async (polls) => {
    const { next, ends } = await run({ due: { ...due, polls, failures: 3 } });
    const waitMs = Math.min(taskPollFirstMs + (polls + 1) * taskPollStepMs, taskPollPauseMsMax);
    expect(next).toEqual([{ atMs: nowMs + waitMs, polls: polls + 1, failures: 0 }]);
    expect(ends).toEqual([]);
  });
});

describe('a poll that is no evidence', () => {
  const unanswered: readonly (readonly [string, World])[] = [
    ['the vendor is unreachable', { answer: null }],
    ['the vendor says no', { answer: says('succeeded', 503) }],
    ['the ledger does not answer', { task: { outcome: 'ledger_unavailable', retryAfterMs: 1 } }],
    ['the row is gone', { entry: null }],
    ['the row cannot be judged any more', { task: { ...task, terms: 'no JSON' } }],
    ['the account has no credential', { settings: new Map() }],
    [
      'the ledger does not take the end',
      { answer: says('succeeded'), applied: { outcome: 'ledger_busy', retryAfterMs: 1 } },
    ],
  ];
  it.each(unanswered)('%s: again later, and the task stays', async (_, world) => {
    const { next, removed, counts } = await run(world);
    expect(next).toEqual([{ atMs: nowMs + taskPollRetryMs[0], polls: 0, failures: 1 }]);
    expect([removed, counts.failed]).toEqual([[], 1]);
  });

  it.each([1, 2, 3, 8])('after %i failures waits longer, up to the longest', async (failures) => {
    const { next } = await run({ due: { ...due, failures }, answer: null });
    const waitMs = taskPollRetryMs[Math.min(failures, 3)] ?? 0;
    expect(next).toEqual([{ atMs: nowMs + waitMs, polls: 0, failures: failures + 1 }]);
  });
});

it('a task whose turn comes when the lease is nearly over is left for the next firing', async () => {
  const lateMs = nowMs + taskPollLeaseMs - taskPollWaitMs;
  const inTime = await run({ clock: [nowMs, lateMs] });
  expect([inTime.asked.length, inTime.counts.left]).toEqual([1, 0]);
  const late = await run({ clock: [nowMs, lateMs + 1] });
  expect([late.asked, late.counts.left, late.next, late.removed]).toEqual([[], 1, [], []]);
});

it('so many tasks are polled at a time, and no more', async () => {
  let [together, most] = [0, 0];
  const many = Array.from({ length: 3 * taskPollsTogetherMax }, () => due);
  const meanwhile = async () => {
    together += 1;
    most = Math.max(most, together);
    await Promise.resolve();
    together -= 1;
  };
  const { counts } = await run({ many, meanwhile });
  expect([counts.running, most]).toEqual([many.length, taskPollsTogetherMax]);
});

describe('a task on an account that this deployment does not have', () => {
  const ofB = { ...task, account: 'b' };

  it('whose label was taken away while others are there is given up: its hold goes back', async () => {
    const { counts, ends, removed, asked, told } = await run({ task: ofB, labels: ['c'] });
    expect(ends).toEqual([['release', 'hld_1', 'platform_account_retired']]);
    expect([asked, removed, counts.released]).toEqual([[], ['hld_1'], 1]);
    expect(told).toEqual(['task.account_retired']);
  });

  it('without any further account waits: a deployment that lost its settings gives nothing up', async () => {
    const { counts, ends, next, told } = await run({ task: ofB });
    expect([ends, counts.failed, told]).toEqual([[], 1, ['task.not_polled no_request']]);
    expect(next).toEqual([{ atMs: nowMs + taskPollRetryMs[0], polls: 0, failures: 1 }]);
  });

  it('without the primary’s setting waits too', async () => {
    const { counts, ends } = await run({ task: ofB, labels: ['c'], settings: new Map() });
    expect([ends, counts.failed]).toEqual([[], 1]);
  });

  it('is left to the next time when the ledger does not answer', async () => {
    const applied = { outcome: 'ledger_busy', retryAfterMs: 1 } as const;
    const { counts, removed } = await run({ task: ofB, labels: ['c'], applied });
    expect([removed, counts.failed]).toEqual([[], 1]);
  });
});

describe('a task that has ended', () => {
  it.each([
    ['succeeded', ['settle', 'hld_1', 70, true]],
    ['failed', ['release', 'hld_1', 'task_failed']],
  ])('%s: its hold ends, and it leaves the list', async (status, end) => {
    const { ends, removed, next } = await run({ answer: says(status) });
    expect([ends, removed, next]).toEqual([[end], ['hld_1'], []]);
  });

  it.each([
    ['is not in the ledger', null],
    ['was settled', { ...task, state: 'settled' as const }],
    ['was given up', { ...task, state: 'timed_out' as const }],
    ['is another hold’s', { ...task, holdId: 'hld_2' }],
  ])('and %s is not asked for', async (_, known) => {
    const { asked, removed, ends } = await run({ task: known });
    expect([asked, removed, ends]).toEqual([[], ['hld_1'], []]);
  });
});

it.each(['running', 'succeeded'])(
  'a task (%s) whose row D1 does not change keeps no other from its poll, and is said',
  async (state) => {
    const many = Array.from({ length: 2 * taskPollsTogetherMax }, (_, at) => ({
      ...due,
      holdId: `hld_${at}`,
    }));
    const world = { many, answer: says(state), unwritten: ['hld_0', 'hld_3'] };
    const { counts, reports } = await run(world);
    expect(counts.running + counts.settled + counts.gone).toBe(many.length);
    expect(reports).toEqual([
      ['task.not_noted', { hold_id: 'hld_0', error: 'Error' }],
      ['task.not_noted', { hold_id: 'hld_3', error: 'Error' }],
    ]);
  },
);
