/**
 * Rows of the refusal table for the operator's vendor accounts. Promises: it is never the caller's fault, and says so; what else does the
 * same is named, never chosen. Called by `refusal-table.ts` only.
 */
import type { RefusalCode } from '../domain/refusal';
import { ofOthers } from './catalog-refusals';
import { type RefusalRows, retryAfterS } from './refusal-row';

type CapacityCode = Extract<RefusalCode, `provider_${string}` | `platform_account_${string}`>;

const reasons = {
  balance: 'the account has no money left at the vendor',
  quota: 'the allowance for this operation is used up at the vendor',
  reading: 'the vendor reported an empty account',
} as const;

/** What became of the call beside the account; a request that an aggregator does not take is worth changing. */
function elsewhere(overflow: string | null): string {
  if (overflow === null) return 'Nothing was sent or charged.';
  const why =
    overflow === 'overflow.contract' ? 'does not take this request' : 'could not serve the call';
  return `An aggregator that was asked instead ${why}. Nothing was charged.`;
}

/** Refusals of a call that would spend an account of the operator's. */
export const capacityRefusals: RefusalRows<CapacityCode> = {
  provider_capacity: {
    status: 503,
    title: 'The provider cannot be reached on our account right now',
    blame: 'gateway',
    detail: ({ provider, reason, resetsAtMs, overflow, alternatives }) =>
      `Every account of this gateway at ${provider} is out: ${reasons[reason]}. ${
        resetsAtMs === null
          ? 'A call a minute looks whether it is back.'
          : `It is expected back at ${new Date(resetsAtMs).toISOString()}.`
      } ${elsewhere(overflow)} ${
        alternatives.length === 0
          ? 'Try again later, or use a key of your own.'
          : 'Try again later, use a key of your own, or call one of the alternatives.'
      }`,
    members: (r) => ({
      provider: r.provider,
      endpoint_id: r.endpointId,
      reason: r.reason,
      resets_at: r.resetsAtMs === null ? null : new Date(r.resetsAtMs).toISOString(),
      overflow: r.overflow,
      alternatives: ofOthers(r.alternatives),
    }),
    retryAfterS,
  },
  provider_rate_limited: {
    status: 429,
    title: "The provider's rate is used up on our account",
    blame: 'gateway',
    detail: ({ provider }) =>
      `All callers of this gateway together have used what ${provider} allows for now. Nothing was sent to it or charged. Try again after Retry-After.`,
    members: (r) => ({ provider: r.provider }),
    retryAfterS,
  },
  platform_account_retired: {
    status: 410,
    title: 'The account that made this object is gone',
    blame: 'gateway',
    detail: () =>
      'The object belongs to an account of this gateway that is no longer configured. It cannot be used through another one. Make it anew.',
  },
  platform_account_unavailable: {
    status: 503,
    title: 'The account that made this object is not available here',
    blame: 'gateway',
    detail: () =>
      'The object belongs to an account that this deployment does not have at the moment. Try again; if it lasts, tell the operator.',
    retryAfterS: () => 60,
  },
  platform_account_split: {
    status: 409,
    title: 'These objects belong to different accounts',
    blame: 'caller',
    detail: () =>
      'The call names objects that different accounts of this gateway made. Call once for the objects of each.',
  },
};
