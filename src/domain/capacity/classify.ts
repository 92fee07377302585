/**
 * Classify: what one answer of a vendor says of our account there. Promises: the order of digest
 * A12: edge block, table, a 429's wait, tripwire, bare 429; a 2xx, 3xx or 5xx says nothing (but an
 * edge block's 503); text that the request has too strikes nothing. Must never: repeat a body: the
 * reason is a row or a phrase of ours. Pure. Called by the road, the overflow branch and
 * `weir capacity classify`.
 */
import { assertNever } from '../../base/assert';
import { capacityBurstWaitMsMax, capacityVendorHoldMsMax } from '../../base/limits-capacity';
import { isEdgeBlock } from './edge-block';
import { type ErrorText, errorTextOf, isInRequest, says, textsAt, tripwireIn } from './error-text';
import { type HeaderOf, waitOf } from './retry-after';
import type { CapacitySignal, SignalKind } from './signal';
import { type Match, type Signature, signatures, tripwires } from './signatures';

/** An answer, as far as it is at hand. */
export interface VendorAnswer {
  readonly provider: string;
  readonly status: number;
  /** By lower-case name; two lines come joined by a comma. */
  readonly header: HeaderOf;
  /** Decoded, `capacityBodyHeadBytesMax` at most; null: not read, then headers and status decide. */
  readonly bodyHead: string | null;
  /** What the caller said, as far as it is at hand (path, decoded query, head of the body). */
  readonly requestText: string;
  readonly nowMs: number;
}

/** A signal and how it was found. */
export interface Judgement {
  readonly signal: CapacitySignal;
  /** `echo`: a row matched, and the request has its phrase. */
  readonly rule: 'edge_block' | 'table' | 'echo' | 'wait' | 'tripwire' | 'bare_429';
  /** Where the row's value was found: a JSON path, or `body` for a plain text. */
  readonly field: string | null;
  readonly row: Signature | null;
}

/** What the answer says of the account; null: nothing. */
export const classify = (answer: VendorAnswer): CapacitySignal | null =>
  judge(answer)?.signal ?? null;

/** The same with its reason. */
export function judge(answer: VendorAnswer): Judgement | null {
  const { provider, status, header, bodyHead, nowMs } = answer;
  if (status < 400 || (status >= 500 && status !== 503)) return null;
  const body = errorTextOf(bodyHead);
  if (isEdgeBlock(status, header, body)) {
    return found('edge_block', { kind: 'edge_block', because: `edge ${status}` });
  }
  if (status === 503) return null;
  for (const row of signatures) {
    if (row.status !== status || (row.provider !== provider && row.provider !== '*')) continue;
    const hit = hitOf(row, body);
    if (hit !== null) return byRow(row, hit, answer);
  }
  const waitMs = status === 429 ? waitOf(header, nowMs) : null;
  if (waitMs !== null) {
    const kind = waitMs <= capacityBurstWaitMsMax ? 'burst' : 'quota';
    return found('wait', { kind, waitMs, because: `429 with a wait` });
  }
  const phrase = bodyHead === null || isSilent(status) ? null : tripwireIn(bodyHead, tripwires);
  if (phrase !== null) return found('tripwire', { kind: 'unrecorded', because: phrase });
  return status === 429 ? found('bare_429', { kind: 'unknown', because: 'bare 429' }) : null;
}

/** A wrong key and a wrong path speak of credits for other reasons (digest A12). */
const isSilent = (status: number): boolean => status === 401 || status === 404;

// ── the table ──

/** Where a row matched; `phrase`: what of its phrases, null where it is no text of a sentence. */
interface Hit {
  readonly field: string | null;
  readonly value: string | null;
  readonly phrase: string | null;
}

function hitOf({ match }: Signature, body: ErrorText): Hit | null {
  if (match.by === 'status') return { field: null, value: null, phrase: null };
  for (const { at, text } of textsAt(body, match.at)) {
    const value = match.values.find((wanted) => isSaid(match.by, text, wanted));
    if (value !== undefined) return { field: at, value, phrase: isWords(match) ? value : null };
  }
  return null;
}

/** Whether a row looks for words of a text, which an echo could have too. */
const isWords = ({ by }: Match): boolean => by === 'phrase' || by === 'sentence';

function isSaid(by: Exclude<Match['by'], 'status'>, text: string, wanted: string): boolean {
  switch (by) {
    case 'code':
      return text.toLowerCase() === wanted;
    case 'part':
      return text.toLowerCase().includes(wanted);
    case 'sentence':
    case 'phrase':
      return says(text, wanted, by === 'sentence');
    default:
      return assertNever(by);
  }
}

function byRow(row: Signature, { field, value, phrase }: Hit, answer: VendorAnswer): Judgement {
  if (phrase !== null && isInRequest(answer.requestText, phrase)) {
    return { ...found('echo', { kind: 'unrecorded', because: phrase }), field, row };
  }
  const who = row.provider === '*' ? 'any' : row.provider;
  const because = value === null ? `${who} ${row.status}` : `${who} ${row.status} ${value}`;
  const waitMs = rowWaitMs(row, answer);
  return { ...found('table', { kind: row.kind, waitMs, because }), field, row };
}

/** A short wait beside an account that is out is the vendor's rate limiter speaking: it says nothing. */
function rowWaitMs({ kind, reset }: Signature, { header, nowMs }: VendorAnswer): number | null {
  if (reset === 'next_utc_midnight') {
    return Math.min(dayMs - (nowMs % dayMs), capacityVendorHoldMsMax);
  }
  const waitMs = waitOf(header, nowMs);
  const isExhausting = kind === 'balance' || kind === 'quota';
  return isExhausting && waitMs !== null && waitMs <= capacityBurstWaitMsMax ? null : waitMs;
}

const dayMs = 86_400_000;

function found(
  rule: Judgement['rule'],
  signal: { readonly kind: SignalKind; readonly because: string; readonly waitMs?: number | null },
): Judgement {
  return { rule, field: null, row: null, signal: { waitMs: null, ...signal } };
}
