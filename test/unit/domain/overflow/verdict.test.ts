/** Every verdict of a verification, and every exit of a run. */
import { describe, expect, it } from 'vitest';
import type { OverflowFailure } from '../../../../src/domain/overflow/envelope';
import {
  alarmOf,
  type DirectLeg,
  type RelayLeg,
  type RunEntry,
  verdictOf,
} from '../../../../src/domain/overflow/verdict';

const served = (status: number, shape = 'A'): RelayLeg => ({ kind: 'served', status, shape });
const lost = (failure: OverflowFailure): RelayLeg => ({ kind: 'failed', failure });
const direct = (status: number, parts: object = {}): DirectLeg => ({
  kind: 'answered',
  status,
  shape: 'A',
  isDry: false,
  ...parts,
});
const none: DirectLeg = { kind: 'none' };
const dry = direct(402, { isDry: true });

describe('a verification', () => {
  it.each<[string, RelayLeg, DirectLeg, string, boolean, string]>([
    ['both serve one shape', served(200), direct(200), 'passed', true, 'passed'],
    ['201 beside 200', served(201), direct(200), 'passed', true, 'passed'],
    ['two shapes', served(200, 'B'), direct(200), 'failed', false, 'shape'],
    [
      'a list that only the vendor has empty',
      served(200, '[]\n[]='),
      direct(200, { shape: '[]' }),
      'inconclusive',
      false,
      'direct_empty',
    ],
    [
      'a list that only the aggregator has empty',
      served(200, '[]'),
      direct(200, { shape: '[]\n[]=' }),
      'failed',
      false,
      'shape',
    ],
    ['relay 404 beside 200', served(404), direct(200), 'failed', false, 'relay_status_404'],
    ['relay 500 beside 200', served(500), direct(200), 'failed', false, 'relay_status_500'],
    ['contract beside 200', lost('contract'), direct(200), 'failed', false, 'contract'],
    ['contract beside 400', lost('contract'), direct(400), 'inconclusive', false, 'contract'],
    ['contract without a key', lost('contract'), none, 'inconclusive', false, 'contract'],
    ['our key', lost('aggregator_auth'), direct(200), 'aggregator', false, 'aggregator_auth'],
    ['our balance', lost('aggregator_balance'), none, 'aggregator', false, 'aggregator_balance'],
    ['no envelope', lost('malformed'), direct(200), 'aggregator', false, 'malformed'],
    ['a dry vendor there', lost('vendor_dry'), direct(200), 'aggregator', false, 'vendor_dry'],
    ['no answer', lost('unreachable'), direct(200), 'aggregator', false, 'unreachable'],
    ['still running', { kind: 'pending' }, direct(200), 'inconclusive', false, 'pending'],
    ['no key of ours', served(200), none, 'inconclusive', false, 'no_key'],
    ['our key refused', served(200), direct(401), 'inconclusive', false, 'direct_status_401'],
    ['a stale request', served(400), direct(400), 'inconclusive', false, 'direct_status_400'],
    [
      'a vendor that is away',
      served(200),
      { kind: 'unreachable' },
      'inconclusive',
      false,
      'direct_unreachable',
    ],
    ['our dry account, served there', served(200), dry, 'inconclusive', true, 'direct_dry'],
    ['our dry account, refused there', served(404), dry, 'inconclusive', false, 'direct_dry'],
    ['our dry account and no answer', lost('unreachable'), dry, 'aggregator', false, 'unreachable'],
  ])('%s', (_, relay, other, verdict, stamps, reason) => {
    expect(verdictOf({ relay, direct: other })).toEqual({ verdict, stamps, reason });
  });
});

const entry = (verdict: RunEntry['verdict'], failure: OverflowFailure | null = null): RunEntry => ({
  verdict,
  failure,
});
const passed = entry('passed');
const failed = entry('failed');
const at = (failure: OverflowFailure): RunEntry => entry('aggregator', failure);

describe('a run', () => {
  it.each<[string, RunEntry[], string | null]>([
    ['nothing was attempted', [], 'nothing_attempted'],
    ['everything passed', [passed, passed], null],
    ['a route failed: a result, not a failed run', [failed, passed], null],
    ['every route failed', [failed, failed], null],
    ['everything is inconclusive', [entry('inconclusive')], null],
    ['our key was refused once', [passed, at('aggregator_auth')], 'our_key'],
    ['our balance was refused once', [passed, at('aggregator_balance')], 'our_balance'],
    ['one timeout among others', [passed, at('unreachable')], null],
    ['every attempt was lost there', [at('unreachable'), at('malformed')], 'all_lost'],
    ['the only attempt was lost there', [at('unreachable')], 'all_lost'],
    ['a dry vendor there is theirs to fill up', [at('vendor_dry')], null],
    ['lost ones beside a dry vendor', [at('unreachable'), at('vendor_dry')], null],
    ['a contract that failed is no loss', [entry('failed', 'contract')], null],
  ])('in which %s gives %3$j', (_, attempts, alarm) => {
    expect(alarmOf(attempts)).toBe(alarm);
  });
});
