/** What a view says of one call. */
import { describe, expect, it } from 'vitest';
import type { CapacityView, LockView } from '../../../../src/domain/capacity/operations';
import { type StandingQuestion, standingOf } from '../../../../src/domain/capacity/standing';

const lock = (key: string, more: Partial<LockView> = {}): LockView => ({
  key,
  id: `lock:${key}`,
  kind: 'quota',
  sinceAgoMs: 0,
  endsInMs: 100_000,
  nextProbeInMs: 30_000,
  isStated: false,
  ...more,
});

const reading = (more: Partial<NonNullable<CapacityView['reading']>> = {}) => ({
  observedAtMs: 7,
  state: 'exhausted' as const,
  resetsAtMs: null,
  endsInMs: null,
  nextProbeInMs: 0,
  ...more,
});

const view = (more: Partial<CapacityView>): CapacityView => ({
  locks: [],
  strikes: [],
  reading: null,
  marks: [],
  ...more,
});

const question: StandingQuestion = {
  provider: 'acme',
  endpointId: 'acme.find',
  accounts: ['primary', 'b'],
  spendsBalance: true,
};

describe('standing', () => {
  const free = { ...question, spendsBalance: false };
  it.each<[string, CapacityView, number, StandingQuestion, readonly string[]]>([
    ['nothing is known', view({}), 0, question, ['primary', 'b']],
    [
      'a strike is no lock',
      view({ strikes: [{ key: 'acme', agoMs: 1 }] }),
      0,
      question,
      ['primary', 'b'],
    ],
    ['the endpoint of the primary', view({ locks: [lock('acme.find')] }), 0, question, ['b']],
    [
      'the provider of the primary',
      view({ locks: [lock('acme', { kind: 'balance' })] }),
      0,
      question,
      ['b'],
    ],
    [
      'the endpoint of another account',
      view({ locks: [lock('acme.find#b')] }),
      0,
      question,
      ['primary'],
    ],
    [
      'the provider of another account',
      view({ locks: [lock('acme#b')] }),
      0,
      question,
      ['primary'],
    ],
    ['another endpoint', view({ locks: [lock('acme.list')] }), 0, question, ['primary', 'b']],
    ['a lock that ends later', view({ locks: [lock('acme.find')] }), 99_999, question, ['b']],
    [
      'a lock that has ended since',
      view({ locks: [lock('acme.find')] }),
      100_000,
      question,
      ['primary', 'b'],
    ],
    ['a reading is of the primary', view({ reading: reading() }), 0, question, ['b']],
    [
      'a reading that is ok',
      view({ reading: reading({ state: 'ok' }) }),
      0,
      question,
      ['primary', 'b'],
    ],
    [
      'a reading whose reset is there',
      view({ reading: reading({ endsInMs: 50 }) }),
      50,
      question,
      ['primary', 'b'],
    ],
    [
      'a free route and a balance',
      view({ locks: [lock('acme')], reading: reading() }),
      0,
      free,
      ['primary', 'b'],
    ],
    ['a free route and its own quota', view({ locks: [lock('acme.find')] }), 0, free, ['b']],
  ])('%s', (_, seen, ageMs, asked, open) => {
    expect(standingOf(seen, ageMs, asked)).toEqual({ open, out: null });
  });

  const one = { ...question, accounts: ['primary'] };
  it.each<[string, CapacityView, number, StandingQuestion, object]>([
    [
      'one lock, as it is now',
      view({ locks: [lock('acme.find')] }),
      10_000,
      one,
      {
        account: 'primary',
        lockId: 'lock:acme.find',
        kind: 'quota',
        resetsInMs: 90_000,
        probeInMs: 20_000,
      },
    ],
    [
      'a probe that is due',
      view({ locks: [lock('acme.find')] }),
      40_000,
      one,
      { probeInMs: 0, resetsInMs: 60_000 },
    ],
    [
      'a reading without a reset',
      view({ reading: reading() }),
      10,
      one,
      { lockId: 'reading:7', kind: 'reading', resetsInMs: null, probeInMs: 0 },
    ],
    [
      'a reading with one',
      view({ reading: reading({ endsInMs: 500, nextProbeInMs: 60 }) }),
      10,
      one,
      { lockId: 'reading:7', resetsInMs: 490, probeInMs: 50 },
    ],
    [
      'two locks of one account: the one to probe first, the end of the last',
      view({
        locks: [
          lock('acme', { kind: 'balance', endsInMs: 900_000 }),
          lock('acme.find', { nextProbeInMs: 5 }),
        ],
      }),
      0,
      one,
      { lockId: 'lock:acme.find', kind: 'quota', resetsInMs: 900_000, probeInMs: 5 },
    ],
    [
      'the same, the other way round',
      view({
        locks: [lock('acme.find', { nextProbeInMs: 5 }), lock('acme', { endsInMs: 900_000 })],
      }),
      0,
      one,
      { lockId: 'lock:acme.find', resetsInMs: 900_000, probeInMs: 5 },
    ],
    [
      'two locks and a reading: a reset that one of them says is not the account’s',
      view({
        locks: [lock('acme.find'), lock('acme')],
        reading: reading({ nextProbeInMs: 99_000 }),
      }),
      0,
      one,
      { kind: 'quota', resetsInMs: null },
    ],
    [
      'two accounts to probe now: one that ends before one that nobody knows the end of',
      view({
        locks: [lock('acme#b', { nextProbeInMs: 0, endsInMs: 50 })],
        reading: reading(),
      }),
      0,
      question,
      { account: 'b', resetsInMs: 50 },
    ],
    [
      'the same, the other way round',
      view({
        locks: [lock('acme#b', { nextProbeInMs: 0, endsInMs: 50 })],
        reading: reading(),
      }),
      0,
      { ...question, accounts: ['b', 'primary'] },
      { account: 'b', resetsInMs: 50 },
    ],
    [
      'a lock and a reading: nobody says when that ends',
      view({ locks: [lock('acme.find')], reading: reading() }),
      0,
      one,
      { kind: 'reading', resetsInMs: null, probeInMs: 0 },
    ],
    [
      'two accounts: the one to probe first',
      view({ locks: [lock('acme.find'), lock('acme#b', { nextProbeInMs: 9 })] }),
      0,
      question,
      { account: 'b', lockId: 'lock:acme#b', probeInMs: 9 },
    ],
    [
      'two accounts to probe now: the one that ends first',
      view({
        locks: [
          lock('acme.find', { nextProbeInMs: 0 }),
          lock('acme#b', { nextProbeInMs: 0, endsInMs: 50 }),
        ],
      }),
      0,
      question,
      { account: 'b', resetsInMs: 50 },
    ],
  ])('out: %s', (_, seen, ageMs, asked, out) => {
    expect(standingOf(seen, ageMs, asked)).toMatchObject({ open: [], out });
  });
});
