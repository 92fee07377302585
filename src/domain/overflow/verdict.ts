/**
 * Verdict: what one verification of a route means, and what a run of them means for its exit code.
 * Promises: a route is disabled only when the direct leg proved the request; what is our key's, our balance's or the aggregator's fault
 * leaves the route as it is; the one inconclusive that stamps is our own dry account beside a relayed 2xx, so that a route does not decay
 * just while it is needed (digest A13). Pure over typed fields. Called by `jobs/overflow-verify.ts`.
 */
import type { OverflowFailure } from './envelope';
import { isEmptier } from './shape';

/** The leg through the aggregator. */
export type RelayLeg =
  | { readonly kind: 'served'; readonly status: number; readonly shape: string }
  | { readonly kind: 'pending' }
  | { readonly kind: 'failed'; readonly failure: OverflowFailure };

/** The leg to the vendor. `none`: we hold no key there. `isDry`: our own account refused in its recorded words. */
export type DirectLeg =
  | { readonly kind: 'none' }
  | { readonly kind: 'unreachable' }
  | {
      readonly kind: 'answered';
      readonly status: number;
      readonly shape: string;
      readonly isDry: boolean;
    };

/** One call, sent through the aggregator and to the vendor itself. */
export interface Verification {
  readonly relay: RelayLeg;
  readonly direct: DirectLeg;
}

/** `aggregator`: it failed for a cause that is its own, not of this route; `inconclusive`: nothing was learned. */
export type VerdictKind = 'passed' | 'failed' | 'aggregator' | 'inconclusive';

/** `stamps`: the route counts as verified now. `reason`: a word for people and for the row. */
export interface Verdict {
  readonly verdict: VerdictKind;
  readonly stamps: boolean;
  readonly reason: string;
}

/** What one verification means. */
export function verdictOf({ relay, direct }: Verification): Verdict {
  const isProven = direct.kind === 'answered' && isOk(direct.status);
  if (relay.kind === 'pending') return inconclusive('pending');
  if (relay.kind === 'failed') {
    if (relay.failure !== 'contract') return aggregators(relay.failure);
    return isProven ? failure('contract') : inconclusive('contract');
  }
  const isServed = isOk(relay.status);
  if (isProven && !isServed) return failure(`relay_status_${relay.status}`);
  if (isProven) return shapesSay(relay.shape, direct.shape);
  if (direct.kind === 'answered' && direct.isDry)
    return { ...inconclusive('direct_dry'), stamps: isServed };
  return inconclusive(directWord(direct));
}

/** The vendor had nothing to list, the aggregator had: nobody knows yet. The other way round it has served less than it was paid for. */
function shapesSay(relay: string, direct: string): Verdict {
  if (relay === direct) return passed;
  return isEmptier(direct, relay) ? inconclusive('direct_empty') : failure('shape');
}

const isOk = (status: number): boolean => status >= 200 && status < 300;

const passed: Verdict = { verdict: 'passed', stamps: true, reason: 'passed' };
const failure = (reason: string): Verdict => ({ verdict: 'failed', stamps: false, reason });
const aggregators = (reason: string): Verdict => ({
  verdict: 'aggregator',
  stamps: false,
  reason,
});
const inconclusive = (reason: string): Verdict => ({
  verdict: 'inconclusive',
  stamps: false,
  reason,
});

function directWord(direct: DirectLeg): string {
  if (direct.kind === 'answered') return `direct_status_${direct.status}`;
  return direct.kind === 'none' ? 'no_key' : 'direct_unreachable';
}

/** One route of a run; `failure`: of its relay leg. */
export interface RunEntry {
  readonly verdict: VerdictKind;
  readonly failure: OverflowFailure | null;
}

/** What an exit code of 1 is about; null: 0. A route that failed is a result, not a failed run. */
export type RunAlarm = 'our_key' | 'our_balance' | 'all_lost' | 'nothing_attempted';

/** Attempts that the aggregator lost; a vendor that is dry there is theirs to fill up, and never fails a run. */
const lost: ReadonlySet<OverflowFailure | null> = new Set<OverflowFailure | null>([
  'aggregator_auth',
  'aggregator_balance',
  'malformed',
  'unreachable',
]);

/** Whether a run of verifications needs somebody to look. */
export function alarmOf(attempts: readonly RunEntry[]): RunAlarm | null {
  if (attempts.length === 0) return 'nothing_attempted';
  if (attempts.some((each) => each.failure === 'aggregator_auth')) return 'our_key';
  if (attempts.some((each) => each.failure === 'aggregator_balance')) return 'our_balance';
  return attempts.every((each) => lost.has(each.failure)) ? 'all_lost' : null;
}
