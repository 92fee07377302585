/**
 * Names of Weir's own headers and cookies, and of the caller's headers that it honours. Must never: be spelled anywhere else.
 * Called by stages, problem.ts and adapters.
 */

/** Prefix of every header of ours; dropped from requests and from upstream answers, whatever follows. */
export const weirPrefix = 'x-weir-';

/** Our headers, of requests and of answers (decisions section 1). */
export const weirHeaders = {
  key: 'x-weir-key',
  targetHost: 'x-weir-target-host',
  bodyEncoding: 'x-weir-body-encoding',
  callId: 'x-weir-call-id',
  error: 'x-weir-error',
  errorSource: 'x-weir-error-source',
  meta: 'x-weir-meta',
  maxCostMicro: 'x-weir-max-cost-micro',
  keepReportedCharge: 'x-weir-keep-reported-charge',
  costMicro: 'x-weir-cost-micro',
  idempotentReplay: 'x-weir-idempotent-replay',
  smoothed: 'x-weir-smoothed',
  servedVia: 'x-weir-served-via',
  async: 'x-weir-async',
} as const;

/** The caller's own (draft-ietf-httpapi-idempotency-key-header): honoured on tier 4, relayed as it came on every other. */
export const idempotencyKey = 'idempotency-key';

/** Cookies of the console; removed from requests and answers of upstreams, so that neither side can read or plant one. */
export const weirCookies = ['__Host-weir_session', '__Host-weir_oauth'] as const;

/** What a platform account's vendor sees as the client. */
export const platformUserAgent = 'weir';
