/** Asynchronous tasks on the road: who may ask for one, which account answers, and what becomes of the money. */
import { afterEach, describe, expect, it } from 'vitest';
import { err } from '../../../src/base/result';
import { reserve } from '../../../src/call/06-reserve';
import { settle } from '../../../src/call/09-settle';
import type { Money } from '../../../src/call/money';
import { cost, pending, price, rule, settlement } from '../domain/tasks/rows';
import {
  account,
  answered,
  authorized,
  backgroundOf,
  brokenBody,
  catalogCall,
  entryOf,
  key,
} from './calls';
import { capacityPorts, locked, NotedCapacity } from './capacity-ports';
import { moneyOf, NotedDesk, NotedTasks } from './desk';
import { answering, bought, json, keyed, rowOf, told } from './paid-calls';

const submitRow = entryOf({ cost, settlement, task: rule }).endpoint;

const opened: Money[] = [];
afterEach(() => {
  for (const money of opened.splice(0)) money.abandon('test', false);
});

describe('a call about a task', () => {
  const labels = ['primary', 'b'];
  async function ask(
    found: NotedTasks['found'],
    options: {
      labels?: readonly string[];
      callCap?: number;
      placed?: ConstructorParameters<typeof NotedDesk>[0];
      capacity?: NotedCapacity;
    } = {},
  ) {
    const tasks = new NotedTasks();
    tasks.found = found;
    const desk = new NotedDesk(options.placed);
    const accounts = (options.labels ?? labels).map((label) => account(label));
    const catalog = catalogCall(
      { cost: { kind: 'free' }, path: '/tasks/{id}', taskId: 'id' },
      { accounts, callersQuery: 'a=1&id=job-1' },
    );
    const call = authorized({ catalog, key: key({ callCap: options.callCap ?? null }) });
    const ports = { ...capacityPorts(options.capacity), desk, replayBodies: null, tasks };
    const result = await reserve(call, ports, backgroundOf());
    if (result.ok && 'money' in result.value && result.value.money) opened.push(result.value.money);
    return { result, desk, tasks };
  }

  it('is looked for by the id that stands in its parameter', async () => {
    const { tasks } = await ask(pending());
    expect(tasks.lookedFor).toEqual([['vendor', 'job-1']]);
  });

  it('of nobody, or of somebody else, is refused', async () => {
    const { result, desk } = await ask(null);
    expect(result).toEqual(err({ code: 'catalog.task_not_owned' }));
    expect(desk.places).toEqual([]);
  });

  it.each(['ledger_busy', 'ledger_unavailable'] as const)('is refused by %s', async (outcome) => {
    const { result } = await ask({ outcome, retryAfterMs: 7 });
    expect(result).toEqual(err({ code: outcome, retryAfterMs: 7 }));
  });

  it.each([
    ['primary', ['primary']],
    ['b', ['b']],
  ])('is answered by the account %s that works on it', async (label, expected) => {
    const { result, desk } = await ask(pending({ account: label }));
    expect(result).toMatchObject({ ok: true, value: { money: null, task: { taskId: 'job-1' } } });
    if (result.ok && 'capacity' in result.value)
      expect(result.value.capacity?.accounts.map((one) => one.label)).toEqual(expected);
    expect(desk.places).toEqual([]);
  });

  it('whose account is no longer configured is refused, and never moves to another', async () => {
    const gone = await ask(pending({ account: 'c' }));
    expect(gone.result).toEqual(err({ code: 'platform_account_retired' }));
    const alone = await ask(pending({ account: 'c' }), { labels: ['primary'] });
    expect(alone.result).toEqual(err({ code: 'platform_account_unavailable' }));
  });

  it('is counted where its key has a cap', async () => {
    const { result, desk } = await ask(pending(), { callCap: 5 });
    expect(result).toMatchObject({ ok: true, value: { task: { taskId: 'job-1' } } });
    expect(desk.places).toHaveLength(1);
  });

  it.each([
    ['given back when its key’s cap is used up', true],
    ['kept when it goes on', false],
  ])('that was to be the probe of a lock is %s', async (_, isUsedUp) => {
    const grant = { id: 'call_1', lockId: 'lock_1' };
    const view = locked('vendor.search', { kind: 'quota', nextProbeInMs: 0 });
    const capacity = new NotedCapacity({ view, grant });
    const refusal = { code: 'key_call_cap', cap: 5, resetsAtMs: 0 } as const;
    const placed = isUsedUp ? ({ outcome: 'refused', refusal } as const) : undefined;
    const { result } = await ask(pending(), { labels: ['primary'], callCap: 5, placed, capacity });
    expect(result.ok).toBe(!isUsedUp);
    expect(capacity.asked).toContainEqual(['probe', 'vendor', expect.anything()]);
    expect([capacity.asked.at(-1)].flat()[0]).toBe(isUsedUp ? 'giveBackProbe' : 'probe');
  });
});

describe('the money of a submission', () => {
  const task = { taskId: 'job-1', account: 'b' };

  it('that has ended is no task’s: not before it is opened, nor while it is', async () => {
    const tasks = new NotedTasks();
    const ended = moneyOf({ endpoint: submitRow, price, tasks });
    ended.money.release('refused');
    expect([await ended.money.defer(task), tasks.opened]).toEqual([false, []]);
    const ending = moneyOf({ endpoint: submitRow, price, tasks });
    const onDisk = Promise.withResolvers<void>();
    tasks.onDisk = onDisk.promise;
    const deferring = ending.money.defer(task);
    ending.money.release('refused');
    onDisk.resolve();
    expect([await deferring, ending.desk.last]).toEqual([false, [['release', 'hld_1', 'refused']]]);
  });

  it('of a row without tasks, or of a call that is only counted, is never one’s', async () => {
    const tasks = new NotedTasks();
    const plain = moneyOf({ tasks });
    const counted = moneyOf({ endpoint: null, tasks });
    opened.push(plain.money, counted.money);
    expect([await plain.money.defer(task), await counted.money.defer(task)]).toEqual([
      false,
      false,
    ]);
    expect(tasks.opened).toEqual([]);
  });

  it('has an answer that has to be read', () => {
    const { money } = moneyOf({ endpoint: submitRow, price });
    opened.push(money);
    expect(money.readsAnswers).toBe(true);
  });

  async function submit(
    ledgersAnswer: NotedTasks['answer'],
    recordId: string | null = null,
    answer = Response.json({ id: 'job-1' }),
  ) {
    const tasks = new NotedTasks();
    tasks.answer = ledgersAnswer;
    const held = moneyOf({ endpoint: submitRow, price, tasks, recordId });
    opened.push(held.money);
    held.money.sent();
    const hold = { cancel: null, arm: () => undefined, armLater: () => undefined };
    const call = answered({ answer, money: held.money, account: 'b' });
    const result = await settle(call, hold, { desk: held.desk, tasks }, backgroundOf());
    return { ...held, tasks, result };
  }

  it('belongs to the task as soon as the ledger has it', async () => {
    const { money, desk, tasks, result } = await submit({ outcome: 'opened' });
    expect(result).toMatchObject({ ok: true, value: { taskState: 'pending', costMicros: null } });
    expect(tasks.opened).toMatchObject([
      { holdId: 'hld_1', taskId: 'job-1', account: 'b', deadlineMs: rule.deadlineMs },
    ]);
    expect([money.isClosed, money.costMicros, desk.last]).toEqual([true, null, []]);
    money.abandon('downstream.error', true);
    expect(desk.last).toEqual([]);
  });

  it.each([
    { outcome: 'known' },
    { outcome: 'not_open' },
    { outcome: 'ledger_unavailable', retryAfterMs: 1 },
  ] as const)('is given back when the ledger says $outcome', async (answer) => {
    const { desk, result } = await submit(answer);
    expect(result).toMatchObject({ ok: true, value: { taskState: 'released' } });
    expect(desk.last).toEqual([['release', 'hld_1', 'async_task_not_recorded']]);
  });

  it('of a key is recorded without a cost, and does not settle', async () => {
    const { money, desk } = await submit({ outcome: 'opened' }, 'idm_1');
    expect(money.isClosed).toBe(false);
    await money.record({ status: 200, headers: [], bytes: new Uint8Array() });
    expect(desk.last).toMatchObject([['record', 'idm_1', { costMicros: null }]]);
    expect(money.isClosed).toBe(true);
  });

  it('of a key whose answer nobody gets leaves the key unknown, and the hold to its task', async () => {
    const { money, desk } = await submit({ outcome: 'opened' }, 'idm_1');
    money.abandon('internal.error', true);
    expect([desk.last, money.isClosed]).toEqual([[['unknown', 'idm_1']], true]);
  });

  it.each([
    ['names no task, costs nothing', {}, 200, ['release', 'hld_1', 'not_billable']],
    [
      'says that it is done, costs its price',
      { status: 'succeeded' },
      200,
      ['settle', 'hld_1', 70, true],
    ],
    ['is a refusal, costs nothing', { id: 'job-1' }, 400, ['release', 'hld_1', 'not_billable']],
  ])('whose answer %s and is no task’s', async (_, body, status, op) => {
    const answer = Response.json(body, { status });
    const { desk, tasks, result } = await submit({ outcome: 'opened' }, null, answer);
    expect([desk.last, tasks.opened]).toEqual([[op], []]);
    expect(result).toMatchObject({ ok: true, value: { taskState: null } });
  });

  it('of a key that the vendor refused is given back, and the key is free', async () => {
    const answer = Response.json({ id: 'job-1' }, { status: 400 });
    const { desk } = await submit({ outcome: 'opened' }, 'idm_1', answer);
    expect(desk.last.map(([op]) => op)).toEqual(['release', 'free']);
  });

  it('of a key that the ledger did not take costs nothing, and its key is used', async () => {
    const { money, desk } = await submit({ outcome: 'known' }, 'idm_1');
    await money.record({ status: 200, headers: [], bytes: new Uint8Array() });
    expect(desk.last).toMatchObject([
      ['settle', 'hld_1', 0, true],
      ['record', 'idm_1', { costMicros: 0 }],
    ]);
  });
});

describe('a submission for a key whose answer names no task', () => {
  it.each([
    ['JSON', 'application/json', '{"taken":true}'],
    ['a text', 'text/plain', '{"id":"job-1"}'],
  ])('as %s, arrives whole, costs nothing, and is its key’s answer', async (_, type, body) => {
    const entry = rowOf({ cost, settlement, task: rule });
    const send = answering(body, { headers: { 'content-type': type } });
    const { answer, desk } = bought({ entry, send }, { headers: keyed });
    const got = await answer;
    expect([got.status, await got.text()]).toEqual([200, body]);
    const recorded = { status: 200, costMicros: 0, body: new TextEncoder().encode(body) };
    expect(told(desk)).toMatchObject([
      ['settle', 0, true],
      ['record', recorded],
    ]);
  });
});

describe('an answer about a task', () => {
  async function poll(response: Response, task = pending(), money: Money | null = null) {
    const [desk, tasks] = [new NotedDesk(), new NotedTasks()];
    const hold = { cancel: null, arm: () => undefined, armLater: () => undefined };
    const call = answered({ answer: response, task, money });
    const result = await settle(call, hold, { desk, tasks }, backgroundOf());
    return { desk, tasks, result };
  }
  const says = (status: string) => Response.json({ id: 'job-1', status });

  it('that it succeeded settles its submission, and has the price', async () => {
    const { desk, tasks, result } = await poll(says('succeeded'));
    expect(desk.last).toEqual([['settle', 'hld_task', 70, true]]);
    expect(tasks.closed).toEqual(['hld_task']);
    expect(result).toMatchObject({ ok: true, value: { taskState: 'settled', costMicros: 70 } });
  });

  it('that it failed gives the hold back', async () => {
    const { desk, result } = await poll(says('failed'));
    expect(desk.last).toEqual([['release', 'hld_task', 'task_failed']]);
    expect(result).toMatchObject({ ok: true, value: { taskState: 'released', costMicros: null } });
  });

  it('that it runs changes nothing', async () => {
    const { desk, result } = await poll(says('running'));
    expect(desk.last).toEqual([]);
    expect(result).toMatchObject({ ok: true, value: { taskState: 'pending' } });
  });

  it.each(['settled', 'released', 'timed_out'] as const)(
    'that has ended (%s) is not read',
    async (state) => {
      const response = says('succeeded');
      const { desk, result } = await poll(response, pending({ state }));
      expect([desk.last, response.bodyUsed]).toEqual([[], false]);
      expect(result).toMatchObject({ ok: true, value: { taskState: state, costMicros: null } });
    },
  );

  it('ends what its own call was counted by, and charges nothing for it', async () => {
    const { money, desk } = moneyOf({ endpoint: null, heldMicros: 0, price: { kind: 'free' } });
    await poll(says('running'), pending(), money);
    expect([desk.last, money.isClosed]).toEqual([[['settle', 'hld_1', 0, true]], true]);
  });

  it.each([300, 404, 500])('of %i is not read: it says nothing of the task', async (status) => {
    const response = Response.json({ id: 'job-1', status: 'failed' }, { status });
    const { desk, result } = await poll(response);
    expect([desk.last, response.bodyUsed]).toEqual([[], false]);
    expect(result).toMatchObject({ ok: true, value: { taskState: 'pending' } });
  });

  it('that breaks is no answer, and the task goes on', async () => {
    const response = new Response(brokenBody('{"status":"fail'), json);
    const { desk, tasks, result } = await poll(response);
    expect(result).toEqual(err({ code: 'downstream.error', host: 'api.t' }));
    expect([desk.last, tasks.closed]).toEqual([[], []]);
  });

  it('that is no JSON is not read', async () => {
    const response = new Response('done', { headers: { 'content-type': 'text/plain' } });
    const { desk } = await poll(response);
    expect([desk.last, response.bodyUsed]).toEqual([[], false]);
  });
});
