/**
 * The times of the breaker and of what stands around it, as the specification has them: proofs on real sockets run on a sixtieth of them,
 * so the real ones are held to their source here (digest A12, A13; decisions sections 3 and 5).
 */
import { describe, expect, it } from 'vitest';
import * as limits from '../../../src/base/limits-capacity';

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;

describe('limits of capacity', () => {
  it.each([
    ['a burst of concurrent calls is one strike: 15 s', limits.strikeSpacingMs, 15 * second],
    ['a second strike counts within 10 min', limits.strikeWindowMs, 10 * minute],
    ['a guessed hold lasts 1 h', limits.guessedHoldMs, hour],
    ['a vendor’s reset holds 6 h at most', limits.capacityVendorHoldMsMax, 6 * hour],
    ['one probe a minute', limits.probeIntervalMs, minute],
    ['a view is 60 s old at most', limits.capacityViewMsMax, minute],
    ['a 429 that says 60 s is a burst', limits.capacityBurstWaitMsMax, minute],
    ['a call waits 2 s at most for its place', limits.spacerWaitMsMax, 2 * second],
    ['a burst is sent again within 5 s', limits.resendWaitMsMax, 5 * second],
    ['a reading is stale after 6 h', limits.readingStaleMs, 6 * hour],
    ['an aggregator that failed rests 15 min', limits.overflowMarkMs, 15 * minute],
    ['three malformed vendors mark the aggregator', limits.overflowMalformedVendorsMax, 3],
    ['a run is asked about ten times', limits.overflowPollsMax, 10],
    ['every 1.5 s', limits.overflowPollMs, 1_500],
    ['a price is four times ours at most', limits.overflowRatioMax, 4],
    ['a free endpoint’s route costs 1 cent at most', limits.overflowFreeMicrosMax, 10_000],
    ['a verification is good for 7 days', limits.overflowVerifiedMsMax, 7 * 24 * hour],
    ['a verification pays 2 cents at most', limits.overflowVerifyMicrosMax, 20_000],
  ])('%s', (_, actual, wanted) => {
    expect(actual).toBe(wanted);
  });

  it('a view is read again well before it is too old', () => {
    expect(limits.capacityViewRefreshMs).toBeLessThanOrEqual(limits.capacityViewMsMax / 2);
  });

  it.each([
    ['sweep', limits.sweepLeaseMs, limits.sweepMsMax],
    ['overflow', limits.overflowLeaseMs, 10 * minute],
  ])('the lease of the job %s outlives its work', (_, leaseMs, workMs) => {
    expect(leaseMs).toBeGreaterThan(workMs);
  });
});
