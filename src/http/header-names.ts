/**
 * Names of Weir's own headers and cookies. Must never: be spelled anywhere else. Called by stages, problem.ts and adapters.
 */

/** Prefix of every header of ours; dropped from requests and from upstream answers, whatever follows. */
export const weirPrefix = 'x-weir-';

export const weirHeaders = {
  key: 'x-weir-key',
  targetHost: 'x-weir-target-host',
  callId: 'x-weir-call-id',
  error: 'x-weir-error',
  errorSource: 'x-weir-error-source',
} as const;

/** Cookies of the console; removed from requests and answers of upstreams, so that neither side can read or plant one. */
export const weirCookies = ['__Host-weir_session', '__Host-weir_oauth'] as const;
