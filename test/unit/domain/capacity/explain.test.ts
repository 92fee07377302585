/** What an operator is told of a provider: one word for all of it, and one call explained. */
import { describe, expect, it } from 'vitest';
import { probeIntervalMs } from '../../../../src/base/limits-capacity';
import { Breaker } from '../../../../src/domain/capacity/breaker';
import {
  type ExplainQuestion,
  explain,
  overallOf,
  viewOf,
} from '../../../../src/domain/capacity/explain';
import type { CapacityState, StrikeOp } from '../../../../src/domain/capacity/operations';

const startMs = Date.UTC(2030, 0, 1);
const hourMs = 3_600_000;

const strike = (parts: Partial<StrikeOp> = {}): StrikeOp => ({
  id: 'call_1',
  account: 'primary',
  endpointId: 'vendor.search',
  kind: 'balance',
  resetsInMs: null,
  agoMs: 0,
  lastOkAgoMs: null,
  ...parts,
});

/** Whose state it is. */
const breakers = new WeakMap<CapacityState, Breaker>();

/** A real breaker, what is done to it, and its state then. */
function stateAfter(
  nowMs: number,
  happen: (breaker: Breaker, strikeAt: (atMs: number, parts?: Partial<StrikeOp>) => void) => void,
): CapacityState {
  const breaker = new Breaker('vendor', []);
  let n = 0;
  happen(breaker, (atMs, parts = {}) => {
    n += 1;
    breaker.strike(strike({ id: `call_${n}`, ...parts }), atMs);
  });
  const state = breaker.state(nowMs, []);
  breakers.set(state, breaker);
  return state;
}

const asked = (parts: Partial<ExplainQuestion> = {}): ExplainQuestion => ({
  provider: 'vendor',
  endpointId: 'vendor.search',
  accounts: ['primary'],
  spendsBalance: true,
  isProbed: true,
  ...parts,
});

const empty = { state: 'exhausted', resetsAtMs: null } as const;

const quiet = stateAfter(startMs, () => undefined);
const struck = stateAfter(startMs + 5_000, (_, strikeAt) => strikeAt(startMs));
const locked = stateAfter(startMs + 30_000, (_, strikeAt) => {
  strikeAt(startMs);
  strikeAt(startMs + 20_000);
});
const due = stateAfter(startMs + 20_000 + probeIntervalMs, (_, strikeAt) => {
  strikeAt(startMs);
  strikeAt(startMs + 20_000);
});
const quotaLocked = stateAfter(startMs + 30_000, (_, strikeAt) => {
  strikeAt(startMs, { kind: 'quota', resetsInMs: 2 * hourMs });
  strikeAt(startMs + 20_000, { kind: 'quota', resetsInMs: 2 * hourMs });
});
const exhausted = stateAfter(startMs + 60_000, (breaker) =>
  breaker.observe({ observedAtMs: startMs, ...empty }, startMs),
);
const old = stateAfter(startMs + 7 * hourMs, (breaker) =>
  breaker.observe({ observedAtMs: startMs, ...empty }, startMs),
);
const full = stateAfter(startMs + 60_000, (breaker) =>
  breaker.observe({ observedAtMs: startMs, state: 'ok', resetsAtMs: null }, startMs),
);
const emptyUntil = {
  observedAtMs: startMs,
  state: 'exhausted',
  resetsAtMs: startMs + hourMs,
} as const;
const exhaustedUntil = stateAfter(startMs + 60_000, (breaker) =>
  breaker.observe(emptyUntil, startMs),
);
const mark = { id: 'm', key: 'hunter', reason: 'vendor_dry', forMs: 900_000 };
const marked = stateAfter(startMs + 60_000, (breaker) => breaker.mark(mark, startMs));

describe('the state in one word', () => {
  it.each([
    ['open', quiet, false],
    ['stale', quiet, true],
    ['struck', struck, true],
    ['locked', locked, true],
    ['locked', quotaLocked, false],
    ['exhausted', exhausted, true],
    ['stale', old, true],
    ['open', old, false],
    ['open', full, true],
  ] as const)('is %s', (word, state, isRead) => {
    expect(overallOf(state, isRead)).toBe(word);
  });

  it('is no longer exhausted once the vendor’s reset has passed', () => {
    const at = (nowMs: number) =>
      stateAfter(nowMs, (breaker) => breaker.observe(emptyUntil, startMs));
    expect([
      overallOf(at(startMs + hourMs - 1), true),
      overallOf(at(startMs + hourMs), true),
    ]).toEqual(['exhausted', 'open']);
  });
});

describe('a call that is not refused', () => {
  it.each([
    ['nothing is known', quiet, asked(), 'vendor.search: not refused. Calls go out on primary.'],
    [
      'one strike waits',
      struck,
      asked(),
      'vendor.search: not refused. Calls go out on primary. One balance strike on vendor at 2030-01-01 00:00:00Z waits for a second one until 2030-01-01 00:10:00Z.',
    ],
    [
      'another endpoint is locked',
      quotaLocked,
      asked({ endpointId: 'vendor.other' }),
      'vendor.other: not refused. Calls go out on primary. Locked, but not for this call: vendor.search.',
    ],
    [
      'another account is open',
      locked,
      asked({ accounts: ['primary', 'backup'] }),
      'vendor.search: not refused. Calls go out on backup. Locked, but not for this call: vendor.',
    ],
    [
      'it is free',
      exhausted,
      asked({ spendsBalance: false }),
      'vendor.search: not refused. Calls go out on primary. A free endpoint is not refused for an empty balance.',
    ],
    [
      'it is free, and the balance is not empty',
      full,
      asked({ spendsBalance: false }),
      'vendor.search: not refused. Calls go out on primary.',
    ],
    [
      'the reading is old',
      old,
      asked({ endpointId: null }),
      'vendor, any endpoint: not refused. Calls go out on primary. The reading of 2030-01-01 00:00:00Z is too old: it refuses nobody.',
    ],
  ] as const)('%s', (_, state, question, summary) => {
    expect(explain(state, question)).toEqual({
      cause: null,
      open: [question.accounts.length === 2 ? 'backup' : 'primary'],
      summary,
    });
  });

  it('names ten of the other locks and three of the strikes, however many there are', () => {
    const many = stateAfter(startMs + 30_000, (_, strikeAt) => {
      for (let n = 0; n < 11; n += 1)
        for (const atMs of [startMs, startMs + 20_000])
          strikeAt(atMs, { kind: 'quota', endpointId: `vendor.locked${n}` });
      for (let n = 0; n < 4; n += 1)
        strikeAt(startMs, { kind: 'quota', endpointId: `vendor.struck${n}` });
    });
    const { summary } = explain(many, asked());
    expect(summary.match(/vendor\.locked\d+/g)).toHaveLength(10);
    expect(summary.match(/One quota strike on/g)).toHaveLength(3);
  });

  it('its probe has lifted the reading', () => {
    const lifted = stateAfter(startMs + 60_000, (breaker) => {
      breaker.observe({ observedAtMs: startMs, ...empty }, startMs);
      const lockId = `reading:${startMs}`;
      breaker.probe({ id: 'call_p', lockId }, startMs + 1_000);
      const probe = { id: 'call_p', lockId };
      const place = { account: 'primary', endpointId: 'vendor.search' };
      breaker.ok({ ...place, id: 'call_p', spendsBalance: true, agoMs: 0, probe }, startMs + 2_000);
    });
    expect(explain(lifted, asked()).summary).toBe(
      'vendor.search: not refused. Calls go out on primary. The empty reading of 2030-01-01 00:00:00Z was lifted: a call has succeeded since.',
    );
  });
});

describe('a call that is refused', () => {
  it('for an empty balance at an aggregator: nobody probes there', () => {
    const question = asked({ provider: 'overflow:monid', endpointId: null, isProbed: false });
    const { cause, summary } = explain(exhausted, question);
    expect(cause).toMatchObject({ kind: 'reading', nextProbeAtMs: null });
    expect(summary).toBe(
      'Refused since 2030-01-01 00:00:00Z: the sweep read an empty balance of account primary. It lasts until a sweep reads something else. No probe goes through.',
    );
  });

  it('for an empty balance: since when, until when, who may probe next', () => {
    const { cause, open, summary } = explain(locked, asked());
    expect(summary).toBe(
      'Refused since 2030-01-01 00:00:20Z: the vendor said at 2030-01-01 00:00:00Z and again at 2030-01-01 00:00:20Z that account primary has no money left (lock vendor). ' +
        'It ends at 2030-01-01 01:00:20Z: a guess, the vendor named no time. ' +
        'The first call from 2030-01-01 00:01:20Z on goes through as the probe (one in 60 s over all isolates; its 2xx reopens the account).',
    );
    expect(open).toEqual([]);
    expect(cause).toMatchObject({
      kind: 'balance',
      account: 'primary',
      key: 'vendor',
      lockId: 'lock:call_2',
      firstStrikeAtMs: startMs,
      sinceMs: startMs + 20_000,
      untilMs: startMs + 20_000 + hourMs,
      isStated: false,
      probe: null,
      nextProbeAtMs: startMs + 20_000 + probeIntervalMs,
    });
  });

  it('for a quota that the vendor said when it ends', () => {
    const { cause, summary } = explain(quotaLocked, asked());
    expect(cause).toMatchObject({ kind: 'quota', key: 'vendor.search', isStated: true });
    expect(summary).toContain('has used up its allowance (lock vendor.search).');
    expect(summary).toContain('It ends at 2030-01-01 02:00:20Z, as the vendor said.');
  });

  it('for a reading whose end the vendor named', () => {
    const { cause, summary } = explain(exhaustedUntil, asked());
    expect(cause).toMatchObject({ untilMs: startMs + hourMs, isStated: true });
    expect(summary).toContain('It ends at 2030-01-01 01:00:00Z, as the vendor said.');
  });

  it('while a probe is out', () => {
    const probing = stateAfter(startMs + 90_000, (breaker, strikeAt) => {
      strikeAt(startMs);
      strikeAt(startMs + 20_000);
      breaker.probe({ id: 'call_p', lockId: 'lock:call_2' }, startMs + 85_000);
    });
    const { cause, summary } = explain(probing, asked());
    expect(cause?.probe).toEqual({
      callId: 'call_p',
      grantedAtMs: startMs + 85_000,
      leaseUntilMs: startMs + 85_000 + probeIntervalMs,
    });
    expect(summary).toContain(
      'Call call_p has been the probe since 2030-01-01 00:01:25Z and has not come back. The first call from 2030-01-01 00:02:25Z on goes through as the probe',
    );
  });

  it('from the moment on that a probe is due', () => {
    expect(explain(due, asked()).summary).toContain('The next call goes through as the probe');
  });

  it('for a reading of the sweep', () => {
    const { cause, summary } = explain(exhausted, asked({ endpointId: null }));
    expect(cause).toMatchObject({
      kind: 'reading',
      key: 'reading',
      lockId: `reading:${startMs}`,
      sinceMs: startMs,
      untilMs: null,
      nextProbeAtMs: startMs,
    });
    expect(summary).toBe(
      'Refused since 2030-01-01 00:00:00Z: the sweep read an empty balance of account primary. It lasts until a sweep reads something else. The next call goes through as the probe (one in 60 s over all isolates; its 2xx reopens the account).',
    );
  });

  it('because every one of its accounts is out, with the one that may be probed first', () => {
    const both = stateAfter(startMs + 60_000, (_, strikeAt) => {
      for (const atMs of [startMs, startMs + 20_000]) strikeAt(atMs);
      for (const atMs of [startMs + 10_000, startMs + 50_000])
        strikeAt(atMs, { account: 'backup' });
    });
    const { cause, summary } = explain(both, asked({ accounts: ['primary', 'backup'] }));
    expect([cause?.account, cause?.key]).toEqual(['primary', 'vendor']);
    expect(summary).toContain('Locked as well: vendor#backup.');
  });

  it.each([
    ['', 'orthogonal itself', 'everything here is left alone (aggregator_auth)'],
    ['hunter', 'a vendor at it', 'hunter is left alone (vendor_dry)'],
  ])('because of a mark on %j: %s', (key, _, text) => {
    const reason = /\((\w+)\)/.exec(text)?.[1] ?? '';
    const marked = stateAfter(startMs, (breaker) =>
      breaker.mark({ id: 'm', key, reason, forMs: 900_000 }, startMs),
    );
    const { cause, open, summary } = explain(marked, asked({ endpointId: 'hunter' }));
    expect(overallOf(marked, false)).toBe(key === '' ? 'locked' : 'open');
    expect(cause).toMatchObject({ kind: 'mark', untilMs: startMs + 900_000, isStated: false });
    expect(open).toEqual([]);
    expect(summary).toBe(`Refused until 2030-01-01 00:15:00Z: ${text}. No probe goes through.`);
    expect(explain(marked, asked({ endpointId: 'apollo' })).cause === null).toBe(key !== '');
  });
});

describe('the view of a state', () => {
  it.each([
    ['quiet', quiet],
    ['struck', struck],
    ['locked', locked],
    ['quota', quotaLocked],
    ['exhausted', exhausted],
    ['due', due],
    ['exhausted until', exhaustedUntil],
    ['marked', marked],
    ['old', old],
  ])('is what an isolate would be given: %s', (_, state) => {
    expect(viewOf(state)).toEqual(breakers.get(state)?.view(state.nowMs));
  });
});
