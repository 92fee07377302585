/** Tasks, the rule: what a submission started, what a poll says, what it costs. */
import { describe, expect, it } from 'vitest';
import {
  catalogIdCharsMax,
  taskDeadlineMsMax,
  taskIdCharsMax,
  taskTermsCharsMax,
} from '../../../../src/base/limits-money';

import {
  type OpenTask,
  openTaskFault,
  submissionOf,
  type TaskAnswer,
  type TaskTerms,
  termsOf,
  verdictOf,
} from '../../../../src/domain/tasks/task';

const rule = {
  idAt: 'data.id',
  poll: 'lab.look-at',
  stateAt: 'data.status',
  succeeded: ['succeeded', '2'],
  failed: ['failed'],
  deadlineMs: 86_400_000,
};
const reported = { in: 'body', at: 'charge', perMillionMicros: 1_000_000, times: null } as const;
const settlement = {
  basis: 'terminal',
  reported,
  fallbackMicros: null,
  reserveMicros: null,
} as const;
const cost = { kind: 'per_success', prices: [{ when: [], priceMicros: 60 }] } as const;
const price = { kind: 'per_success', priceMicros: 60 } as const;
const terms: TaskTerms = termsOf(rule, { cost, settlement }, price);
const unreported = termsOf(rule, { cost, settlement: { ...settlement, reported: null } }, price);

const answer = (body: unknown, status = 200): TaskAnswer => ({
  status,
  header: () => null,
  bytes: body === undefined ? null : new TextEncoder().encode(JSON.stringify(body)),
});
const state = (status: unknown, more: object = {}) =>
  answer({ data: { id: 'j', status }, ...more });

const nothing = { kind: 'ended', charge: { micros: 0, source: 'not_billable' } };
const paid = (micros: number, source: string) => ({ kind: 'ended', charge: { micros, source } });

describe('a submission', () => {
  it.each([
    ['names its task', answer({ data: { id: 'job-1' } }), 'job-1'],
    ['names it by a number', answer({ data: { id: 17 } }), '17'],
    [
      'names it by a number that no double holds',
      { ...answer(undefined), bytes: new TextEncoder().encode('{"data":{"id":9007199254740993}}') },
      '9007199254740993',
    ],
    ['says that it runs', state('queued'), 'j'],
  ])('that %s starts it', (_, given, taskId) => {
    expect(submissionOf(terms, given, 60)).toEqual({ kind: 'started', taskId });
  });

  it.each([
    ['has no id', answer({ data: {} })],
    ['has an empty id', answer({ data: { id: '' } })],
    ['has an id that is no text', answer({ data: { id: ['a'] } })],
    ['has an id that is too long', answer({ data: { id: 'x'.repeat(taskIdCharsMax + 1) } })],
    ['is no JSON', { ...answer(undefined), bytes: new TextEncoder().encode('ok') }],
    ['has no body', answer(undefined)],
    ['is no 2xx', answer({ data: { id: 'j' } }, 400)],
    ['failed at once', state('failed')],
  ])('that %s costs nothing', (_, given) => {
    expect(submissionOf(terms, given, 60)).toEqual(nothing);
  });

  it('that started nothing costs what the vendor reports for it', () => {
    expect(submissionOf(terms, answer({ charge: 3 }), 60)).toEqual(paid(3, 'reported'));
    expect(submissionOf(terms, answer({ charge: 0 }), 60)).toEqual(nothing);
  });

  it('that is done at once costs what a task does', () => {
    expect(submissionOf(terms, state('succeeded', { charge: 40 }), 60)).toEqual(
      paid(40, 'reported'),
    );
    expect(submissionOf(unreported, state('succeeded'), 60)).toEqual(paid(60, 'table'));
  });
});

describe('a poll', () => {
  it.each([undefined, null, 'running', 'SUCCEEDED', 7, {}, ''])(
    'that says %j runs on',
    (status) => {
      expect(verdictOf(terms, state(status, { charge: 40 }), 60)).toEqual({ kind: 'running' });
    },
  );

  it.each([199, 300, 404, 500])('of status %i is no evidence', (status) => {
    const given = answer({ data: { status: 'succeeded' }, charge: 40 }, status);
    expect(verdictOf(terms, given, 60)).toEqual({ kind: 'running' });
  });

  it('that says it succeeded costs what is reported, more than was held too', () => {
    expect(verdictOf(terms, state('succeeded', { charge: 40 }), 60)).toEqual(paid(40, 'reported'));
    expect(verdictOf(terms, state(2, { charge: 400 }), 60)).toEqual(paid(400, 'reported'));
    expect(verdictOf(terms, state('succeeded', { charge: 0 }), 60)).toEqual(paid(0, 'reported'));
  });

  it('whose report cannot be read costs what was held', () => {
    expect(verdictOf(terms, state('succeeded'), 60)).toEqual(paid(60, 'fallback'));
    expect(verdictOf(terms, state('succeeded', { charge: 'much' }), 60)).toEqual(
      paid(60, 'fallback'),
    );
  });

  it('that says it failed costs nothing, or what is reported', () => {
    expect(verdictOf(terms, state('failed'), 60)).toEqual(nothing);
    expect(verdictOf(terms, state('failed', { charge: 7 }), 60)).toEqual(paid(7, 'reported'));
  });
});

describe('what is kept of a task', () => {
  it('is plain JSON, without prices that were not chosen', () => {
    expect(terms.cost).toEqual({ kind: 'per_success', prices: [] });
    const again = JSON.parse(JSON.stringify(terms)) as TaskTerms;
    expect(verdictOf(again, state('succeeded', { charge: 40 }), 60)).toEqual(paid(40, 'reported'));
  });

  it('is bounded', () => {
    const task: OpenTask = {
      holdId: 'hld_1',
      provider: 'lab',
      taskId: 'j',
      endpointId: 'lab.submit',
      account: 'primary',
      deadlineMs: 1,
      terms: '{}',
    };
    expect(openTaskFault(task)).toBeNull();
    expect(openTaskFault({ ...task, taskId: 'x'.repeat(taskIdCharsMax + 1) })).toBe('taskId');
    expect(openTaskFault({ ...task, terms: 'x'.repeat(taskTermsCharsMax + 1) })).toBe('terms');
    for (const field of ['provider', 'endpointId', 'account'] as const)
      for (const text of ['', 'x'.repeat(catalogIdCharsMax + 1)])
        expect(openTaskFault({ ...task, [field]: text })).toBe(field);
    for (const deadlineMs of [0, -1, 1.5, Number.NaN, taskDeadlineMsMax + 1])
      expect(openTaskFault({ ...task, deadlineMs })).toBe('deadlineMs');
  });
});
