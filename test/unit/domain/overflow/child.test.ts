/** When a call may go on through an aggregator, and when never. */
import { describe, expect, it } from 'vitest';
import type { SignalKind } from '../../../../src/domain/capacity/signal';
import { decideOverflow, type OverflowFacts } from '../../../../src/domain/overflow/child';

const answer = (status: number, signal: SignalKind | null) =>
  ({ kind: 'answer', status, signal }) as const;
const facts = (parts: Partial<OverflowFacts> = {}): OverflowFacts => ({
  mode: 'on',
  trigger: answer(402, 'balance'),
  tier: 4,
  method: 'GET',
  tenantAllows: true,
  hasRoute: true,
  ...parts,
});

describe('a call', () => {
  it.each<[string, Partial<OverflowFacts>, string]>([
    ['a balance signature', {}, 'balance'],
    ['a quota signature', { trigger: answer(429, 'quota') }, 'quota'],
    ['a burst that smoothing did not absorb', { trigger: answer(429, 'burst') }, 'burst'],
    ["our own window's refusal", { trigger: { kind: 'window' } }, 'window'],
    ['an account that is known to be out', { trigger: { kind: 'skip_direct' } }, 'skip_direct'],
    ['HEAD', { method: 'HEAD' }, 'balance'],
    ['POST', { method: 'POST' }, 'balance'],
  ])('goes on after %s', (_, parts, cause) => {
    expect(decideOverflow(facts(parts))).toEqual({ go: true, cause, isShadow: false });
  });

  it('in shadow mode goes as a shadow', () => {
    expect(decideOverflow(facts({ mode: 'shadow' }))).toMatchObject({ go: true, isShadow: true });
  });

  it.each<[string, Partial<OverflowFacts>, string]>([
    ['while it is off', { mode: 'off' }, 'off'],
    ['on tier 1', { tier: 1 }, 'tier'],
    ['on tier 2', { tier: 2 }, 'tier'],
    ['on tier 3', { tier: 3 }, 'tier'],
    ['on no tier', { tier: null }, 'tier'],
    ["after a caller's 400", { trigger: answer(400, null) }, 'not_ours'],
    ["after a caller's 422", { trigger: answer(422, null) }, 'not_ours'],
    ['after a 401', { trigger: answer(401, null) }, 'not_ours'],
    ['after a 401 that speaks of a quota', { trigger: answer(401, 'quota') }, 'not_ours'],
    ['after a 200 that speaks of a balance', { trigger: answer(200, 'balance') }, 'not_ours'],
    ['after an unknown 429', { trigger: answer(429, 'unknown') }, 'not_ours'],
    ['after an unrecorded refusal', { trigger: answer(403, 'unrecorded') }, 'not_ours'],
    ['after an edge block', { trigger: answer(403, 'edge_block') }, 'not_ours'],
    ['after a 500', { trigger: answer(500, null) }, 'not_ours'],
    ['with PUT', { method: 'PUT' }, 'method'],
    ['with PATCH', { method: 'PATCH' }, 'method'],
    ['with DELETE', { method: 'DELETE' }, 'method'],
    ['of a tenant that opted out', { tenantAllows: false }, 'opted_out'],
    [
      'of an opted-out tenant before the send',
      { tenantAllows: false, trigger: { kind: 'skip_direct' } },
      'opted_out',
    ],
    ['without a route', { hasRoute: false }, 'no_route'],
  ])('never goes on %s', (_, parts, why) => {
    expect(decideOverflow(facts(parts))).toEqual({ go: false, why });
  });
});
