/** What is known of an account before a person looked, and what a snapshot means now. */
import { describe, expect, it } from 'vitest';
import { readingStaleMs } from '../../../../src/base/limits-capacity';
import {
  defaultPolicy,
  readingOf,
  type SnapshotFacts,
  sourceOf,
} from '../../../../src/domain/capacity/policy';
import { balanceCall } from './accounts-under-test';

const nowMs = Date.UTC(2030, 0, 1);

describe('the policy of an account that has none', () => {
  it.each([
    ['openrouter', 'prepaid', 'unknown'],
    ['elevenlabs', 'quota', 'subscription'],
    ['gemini', 'postpaid', 'unknown'],
    ['overflow:monid', 'prepaid', 'manual'],
  ])('of %s is %s, filled by %s', (provider, capacityType, fundingMode) => {
    expect(defaultPolicy(provider, null)).toEqual({
      provider,
      capacityType,
      fundingMode,
      source: 'unknown',
      usdPerUnitMicros: null,
      lowRemaining: null,
      overflowAllowed: true,
    });
  });

  it.each(['vendor', 'toString', '__proto__', 'overflow:', 'OpenAI', ''])(
    'of %j is nobody: code never guesses',
    (provider) => {
      expect(defaultPolicy(provider, balanceCall())).toBeNull();
    },
  );

  it('has a dollar figure only where the unit is a dollar', () => {
    const of = (unit: string) => defaultPolicy('openai', balanceCall({ unit }))?.usdPerUnitMicros;
    expect(of('usd')).toBe(1_000_000);
    expect(of('credits')).toBeNull();
    expect(defaultPolicy('openai', { kind: 'none' })?.usdPerUnitMicros).toBeNull();
  });

  it.each(['tikhub', 'scrapecreators'])('bars %s from aggregators', (provider) => {
    expect(defaultPolicy(provider, null)?.overflowAllowed).toBe(false);
  });

  it.each([
    ['api', balanceCall()],
    ['dashboard', { kind: 'none' } as const],
    ['unknown', null],
  ])('has its source from the catalog: %s', (source, balance) => {
    expect(sourceOf(balance)).toBe(source);
    expect(defaultPolicy('openai', balance)?.source).toBe(source);
  });
});

describe('a snapshot', () => {
  const snapshot = (parts: Partial<SnapshotFacts>): SnapshotFacts => ({
    observedAtMs: nowMs,
    remaining: 10,
    resetsAtMs: null,
    confidence: 'exact',
    error: null,
    ...parts,
  });

  it.each<[string, Partial<SnapshotFacts> | null, number | null, string]>([
    ['none', null, null, 'stale'],
    ['one that failed', { error: 'late' }, null, 'stale'],
    ['one that read nothing', { remaining: null }, null, 'stale'],
    ['one that is as old as may be', { observedAtMs: nowMs - readingStaleMs }, null, 'ok'],
    ['one that is older', { observedAtMs: nowMs - readingStaleMs - 1 }, null, 'stale'],
    [
      'an empty one that is older',
      { remaining: 0, observedAtMs: nowMs - readingStaleMs - 1 },
      null,
      'stale',
    ],
    ['something left', { remaining: 0.01 }, null, 'ok'],
    ['nothing left', { remaining: 0 }, null, 'exhausted'],
    ['less than nothing', { remaining: -3 }, 5, 'exhausted'],
    ['nothing left until later', { remaining: 0, resetsAtMs: nowMs + 1 }, null, 'exhausted'],
    ['nothing left until now', { remaining: 0, resetsAtMs: nowMs }, null, 'stale'],
    ['nothing left, estimated', { remaining: 0, confidence: 'estimated' }, null, 'low'],
    ['the threshold', { remaining: 5 }, 5, 'ok'],
    ['below the threshold', { remaining: 4.99 }, 5, 'low'],
    ['a reset behind it, but something left', { resetsAtMs: nowMs - 1 }, null, 'ok'],
  ])('%s: %#', (_, parts, lowRemaining, expected) => {
    const facts = parts === null ? null : snapshot(parts);
    expect(readingOf(facts, lowRemaining, nowMs)).toBe(expected);
  });
});
