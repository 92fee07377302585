/**
 * Signatures: how each vendor says that our account there is out, as data (digest A12 and the
 * vendors' own error pages). Promises: a row is one vendor's dialect: its status and its field or
 * phrase; the first row that matches decides. Must never: hold a word that callers could be
 * talking about without a status that speaks of capacity. Read by `classify.ts`, the contract test
 * (a platform account has a row or an acknowledged gap) and `weir capacity classify`.
 */
import { errorFields } from './error-text';
import { isExhausting, type SignalKind } from './signal';

/** What a row looks at. Values are lower-case and compared without case; any one of them is enough. */
export type Match =
  /** The status is the whole signature. */
  | { readonly by: 'status' }
  /** A field of codes is exactly this. */
  | { readonly by: 'code'; readonly at: readonly string[]; readonly values: readonly string[] }
  /** An identifier of the vendor's has this in it. */
  | { readonly by: 'part'; readonly at: readonly string[]; readonly values: readonly string[] }
  /** The vendor's error text says so (`error-text.ts`): a sentence of its own begins like this, or has it in it. */
  | {
      readonly by: 'sentence' | 'phrase';
      readonly at: readonly string[];
      readonly values: readonly string[];
    };

/** One row. */
export interface Signature {
  /** A provider's slug; `*`: any. */
  readonly provider: string;
  readonly status: number;
  readonly match: Match;
  readonly kind: Exclude<SignalKind, 'edge_block' | 'unrecorded'>;
  /** When the allowance is filled again, where the vendor's documentation says so. */
  readonly reset: 'next_utc_midnight' | null;
  /** For people. */
  readonly note: string | null;
}

type Kind = Signature['kind'];
type More = Partial<Pick<Signature, 'reset' | 'note'>>;

const row = (
  provider: string,
  status: number,
  match: Match,
  kind: Kind,
  more: More,
): Signature => ({
  provider,
  status,
  match,
  kind,
  reset: more.reset ?? null,
  note: more.note ?? null,
});

/** `at` and `values` are lists with `|` between. */
const code = (vendor: string, status: number, at: string, values: string, kind: Kind): Signature =>
  row(vendor, status, { by: 'code', at: at.split('|'), values: values.split('|') }, kind, {});

const part = (vendor: string, status: number, at: string, values: string, kind: Kind): Signature =>
  row(vendor, status, { by: 'part', at: at.split('|'), values: values.split('|') }, kind, {});

type TextMore = More & { readonly at?: string };

function text(
  by: 'sentence' | 'phrase',
  [vendor, status, values, kind, { at, ...more }]: [string, number, string, Kind, TextMore],
): Signature {
  const paths = at === undefined ? errorFields : [at];
  return row(vendor, status, { by, at: paths, values: values.split('|') }, kind, more);
}

/** Words within the vendor's error text; `more.at`: in this field only. */
const phrase = (
  vendor: string,
  status: number,
  values: string,
  kind: Kind,
  more: TextMore = {},
): Signature => text('phrase', [vendor, status, values, kind, more]);

/** The same, where the whole beginning of the sentence is known: nothing can be in front of it. */
const sentence = (
  vendor: string,
  status: number,
  values: string,
  kind: Kind,
  more: TextMore = {},
): Signature => text('sentence', [vendor, status, values, kind, more]);

const message = { at: 'error.message' };
const midnight = { reset: 'next_utc_midnight' } as const;

/** The table, from the top; the last row is the last word on a 402. */
export const signatures: readonly Signature[] = [
  // ── digest A12 ──
  phrase('findymail', 402, 'not enough credits', 'balance'),
  phrase('leadsforge', 402, 'insufficient_credits', 'balance'),
  phrase('leadmagic', 402, 'insufficient_credits', 'balance'),
  phrase('thecompaniesapi', 403, 'nocreditsremaining', 'balance'),
  phrase('companyenrich', 402, 'payment required', 'balance'),
  phrase('orbit', 402, 'developer_api_credits_insufficient', 'balance'),
  phrase('akta', 402, 'insufficient credits', 'balance'),
  phrase('lusha', 400, 'reached your credit limit', 'balance'),
  phrase('lusha', 429, 'daily', 'quota', midnight),
  phrase('predictleads', 402, 'exceeded the monthly request limit', 'quota'),
  phrase('pdl', 402, 'hit your account maximum for', 'quota', {
    note: 'its operations are metered apart',
  }),
  phrase('hunter', 429, 'per billing period', 'quota'),
  phrase('apollo', 429, 'per day|per month|daily|monthly', 'quota'),
  phrase('apollo', 422, 'insufficient credits', 'balance', {
    note: "any other 422 is the caller's",
  }),
  // Where its error page has the word: {error: {data: {issue}}} (moz.com/api/docs/guides/error-handling).
  row(
    'moz',
    403,
    { by: 'code', at: ['error.data.issue', 'issue'], values: ['insufficient-quota'] },
    'quota',
    { note: 'filled on its billing day' },
  ),
  phrase('influencersclub', 429, 'discovery api credit limit reached', 'quota'),
  phrase('trykitt', 418, 'temporarily throttled', 'burst'),
  phrase(
    'trykitt',
    402,
    'insufficient funds|insufficient credits|insufficient balance|not enough credits|not enough funds|out of credits|add funds',
    'balance',
  ),
  row('trykitt', 402, { by: 'status' }, 'unknown', { note: 'it uses 402 for rate limits too' }),
  sentence('contactout', 403, "you're out of credits|you are out of credits", 'quota', {
    note: 'its pools are independent',
  }),
  // ── the starter catalog ──
  code('openai', 429, 'error.code|error.type', 'insufficient_quota|billing_not_active', 'balance'),
  code('openai', 400, 'error.code', 'billing_hard_limit_reached', 'balance'),
  // A day's allowance comes under the same code as a burst; the message names it.
  phrase('openai', 429, 'requests per day|tokens per day', 'quota', message),
  code('openai', 429, 'error.code', 'rate_limit_exceeded', 'burst'),
  // Anthropic has no code for it: an invalid request like any other, but for the text.
  sentence(
    'anthropic',
    400,
    'your credit balance is too low to access|you have reached your specified api usage limits',
    'balance',
    message,
  ),
  code('anthropic', 402, 'error.type', 'billing_error', 'balance'),
  code('anthropic', 429, 'error.type', 'rate_limit_error', 'burst'),
  sentence('gemini', 429, 'your prepayment credits are depleted', 'balance', message),
  part('gemini', 429, 'error.details[*].violations[*].quotaId', 'perday', 'quota'),
  part('gemini', 429, 'error.details[*].violations[*].quotaId', 'perminute', 'burst'),
  // The caller's max_tokens is more than is left: with a smaller one the account still serves.
  phrase('openrouter', 402, 'but can only afford 0', 'balance', message),
  sentence(
    'openrouter',
    402,
    'this request requires more credits, or fewer max_tokens|more credits are required to run this request|prompt tokens limit exceeded',
    'unknown',
    { ...message, note: 'a smaller request may still be served' },
  ),
  sentence('openrouter', 402, 'insufficient credits', 'balance', message),
  sentence('openrouter', 403, 'key limit exceeded', 'balance', message),
  sentence('openrouter', 429, 'rate limit exceeded: free-models-per-day', 'quota', {
    ...message,
    ...midnight,
  }),
  sentence('openrouter', 429, 'rate limit exceeded: free-models-per-min', 'burst', message),
  code('deepgram', 402, 'err_code', 'asr_payment_required', 'balance'),
  code('deepgram', 429, 'err_code', 'too_many_requests', 'burst'),
  code('elevenlabs', 401, 'detail.status|detail.code', 'quota_exceeded', 'balance'),
  code(
    'elevenlabs',
    429,
    'detail.status|detail.code',
    'too_many_concurrent_requests|concurrent_limit_exceeded|system_busy',
    'burst',
  ),
  code('brave', 429, 'error.code|errors[*].code', 'quota_limited', 'quota'),
  code('brave', 429, 'error.code|errors[*].code', 'rate_limited', 'burst'),
  // Memory and runs that are in use come back with the runs that end.
  code(
    'apify',
    402,
    'error.type',
    'actor-memory-limit-exceeded|memory-limit-exceeded|concurrent-runs-limit-exceeded',
    'burst',
  ),
  code('apify', 402, 'error.type', 'not-enough-usage-to-run-paid-actor', 'balance'),
  code(
    'apify',
    403,
    'error.type',
    'not-enough-usage-to-run-paid-actor|monthly-usage-limit-too-low',
    'balance',
  ),
  sentence('apify', 403, 'monthly usage hard limit exceeded', 'balance', message),
  code('apify', 429, 'error.type', 'rate-limit-exceeded', 'burst'),
  code('resend', 429, 'name', 'daily_quota_exceeded|monthly_quota_exceeded', 'quota'),
  code('resend', 429, 'name', 'rate_limit_exceeded', 'burst'),
  sentence('github', 403, 'api rate limit exceeded', 'quota', { at: 'message' }),
  sentence('github', 403, 'you have exceeded a secondary rate limit', 'burst', { at: 'message' }),
  sentence('github', 429, 'api rate limit exceeded', 'quota', { at: 'message' }),
  sentence('github', 429, 'you have exceeded a secondary rate limit', 'burst', { at: 'message' }),
  row('*', 402, { by: 'status' }, 'balance', {}),
];

/**
 * Providers with a platform account and no row, and why: a person looked and found that the vendor
 * publishes no dialect of its own. Empty: every account of the starter catalog has rows.
 */
export const acknowledgedGaps: Readonly<Record<string, string>> = {};

/**
 * Words that make a refusal worth a line in the log when no row knows it. A bare "quota",
 * "balance" or "insufficient" is none (digest A12): errors echo what callers wrote.
 */
export const tripwires: readonly string[] = [
  'insufficient credit',
  'insufficient fund',
  'insufficient balance',
  'insufficient quota',
  'credits insufficient',
  'not enough credit',
  'not enough fund',
  'out of credit',
  'out of quota',
  'no credits',
  'no remaining credit',
  'nocreditsremaining',
  'credit balance',
  'credit limit',
  'credits remaining',
  'credits exhausted',
  'credits are depleted',
  'quota exceeded',
  'quota exhausted',
  'exceeded your quota',
  'exceeded your current quota',
  'exceeds your quota',
  'over quota',
  'usage limit',
  'monthly request limit',
  'account maximum',
  'spending limit',
  'payment required',
  'upgrade your plan',
  'top up',
  'hard limit',
];

const wordy: ReadonlySet<string> = new Set(
  signatures
    .filter(
      ({ match: { by }, kind }) => (by === 'sentence' || by === 'phrase') && isExhausting(kind),
    )
    .map(({ provider }) => provider),
);

/** Whether a vendor says in words that the account is out: only the request tells such an answer from an echo of it (C074). */
export const speaksInWords = (provider: string): boolean => wordy.has(provider);
