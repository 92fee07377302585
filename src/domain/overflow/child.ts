/**
 * Child: whether a call may go on through an aggregator after our own account failed it.
 * Promises: only for what is our side's fault (our account is out, a burst that smoothing did not absorb, our own window, an account that is
 * known to be out before the send); never for what is the caller's or nobody's: tiers 1 to 3, a caller's 4xx, a 401, a timeout, a method that
 * may have changed something, a tenant that opted out. Pure. Called by the road's overflow branch.
 */
import type { SignalKind } from '../capacity/signal';

/** Id of a child call's row, beside its parent's. */
export const childId = (callId: string): string => `${callId}:overflow`;

/** Whether a row is a child's: the pair is one call. */
export const isChildId = (id: string): boolean => id.endsWith(':overflow');

/** Id of a call's row: the call's own, or that of its child. */
export const callRowId = /^call_[0-9A-HJKMNP-TV-Z]{26}(?::overflow)?$/;

/** `shadow`: calls the aggregator and spends the operator's budget, the caller gets what it would have got. */
export type OverflowMode = 'off' | 'shadow' | 'on';

/** What happened to the call. A transport fault or a timeout is no trigger: there is no arm for it. */
export type OverflowTrigger =
  /** The vendor answered; `signal` is what that said of our account, after smoothing. */
  | { readonly kind: 'answer'; readonly status: number; readonly signal: SignalKind | null }
  /** Our own window of the vendor's rate refused the send. */
  | { readonly kind: 'window' }
  /** The account is known to be out; nothing was held or sent. */
  | { readonly kind: 'skip_direct' };

/** What is known of the call. */
export interface OverflowFacts {
  readonly mode: OverflowMode;
  readonly trigger: OverflowTrigger;
  /** The rung that served it: 1 to 4; null: none. */
  readonly tier: number | null;
  readonly method: string;
  readonly tenantAllows: boolean;
  readonly hasRoute: boolean;
}

/** Why it may go. */
export type OverflowCause = 'balance' | 'quota' | 'burst' | 'window' | 'skip_direct';

/** Why it may not, the first that applies. */
export type OverflowNo = 'off' | 'tier' | 'not_ours' | 'method' | 'opted_out' | 'no_route';

/** The decision. */
export type OverflowDecision =
  | { readonly go: true; readonly cause: OverflowCause; readonly isShadow: boolean }
  | { readonly go: false; readonly why: OverflowNo };

/** Methods that a second send cannot do twice what the first one did (the first was refused), and that aggregators take. */
export const overflowMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST']);

/** Whether the child cycle starts. */
export function decideOverflow(facts: OverflowFacts): OverflowDecision {
  if (facts.mode === 'off') return no('off');
  if (facts.tier !== 4) return no('tier');
  const cause = causeOf(facts.trigger);
  if (cause === null) return no('not_ours');
  if (!overflowMethods.has(facts.method)) return no('method');
  if (!facts.tenantAllows) return no('opted_out');
  if (!facts.hasRoute) return no('no_route');
  return { go: true, cause, isShadow: facts.mode === 'shadow' };
}

const no = (why: OverflowNo): OverflowDecision => ({ go: false, why });

/** null: not our side's fault. A 401 is none whatever its body says: a key that is wrong is wrong everywhere. */
function causeOf(trigger: OverflowTrigger): OverflowCause | null {
  if (trigger.kind !== 'answer') return trigger.kind;
  const { status, signal } = trigger;
  if (status === 401 || status < 400) return null;
  return signal === 'balance' || signal === 'quota' || signal === 'burst' ? signal : null;
}
