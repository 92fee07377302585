/**
 * Stream end: what an event stream costs once it has ended, and what of an answer is recorded for its key.
 * Promises: a whole stream is settled by what it said, another by what was seen of it; a record is on disk before the caller sees the
 * end. Called by run-call and by branch-overflow.
 */
import type { UsageTap } from '../domain/pricing/sse-usage-tap';
import { weirHeaders } from '../http/header-names';
import type { EvidencedCall } from './call';
import type { Money, SeenAnswer } from './money';
import type { BodyEnd, KeptBytes } from './pump';

/** A stream that has ended, however. */
export interface StreamEnd {
  readonly call: EvidencedCall;
  readonly tap: UsageTap;
  readonly end: BodyEnd;
  readonly answer: SeenAnswer | null;
}

/** The answer of a keyed stream; null: it is not kept. */
export function answerOf(
  kept: KeptBytes | null,
  status: number,
  headers: readonly string[],
): SeenAnswer | null {
  const bytes = kept?.bytes() ?? null;
  return bytes === null ? null : { status, headers, bytes };
}

/** Settles a stream: whole ones by what they said, others by what was seen of them. A record is on disk before the caller sees the end. */
export function closeStream(
  money: Money,
  { call, tap, end, answer }: StreamEnd,
): Promise<void> | undefined {
  tap.end();
  const isWhole = end === 'complete' || end === 'drained' || tap.hasEnded;
  if (!isWhole && end === 'caller_left') money.left(() => undefined);
  if (!isWhole) {
    money.cutShort();
    return undefined;
  }
  const header = (name: string): string | null => call.answer.headers.get(name);
  const usage = tap.usage();
  money.settle(money.chargeOf({ status: call.status, header, usage }), true);
  return money.isClosed ? undefined : money.record(answer);
}

/** Headers of an answer as they are recorded; its call id is that of one call. */
export function recordedHeaders(headers: Headers): readonly string[] {
  const flat: string[] = [];
  for (const [name, value] of headers) if (name !== weirHeaders.callId) flat.push(name, value);
  return flat;
}
