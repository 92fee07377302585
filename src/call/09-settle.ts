/**
 * 09 settle: what the call costs. Most answers say it before their headers go out; a stream says it when it has ended.
 * Promises: an answer that a price or a key needs is read whole within `meteredAnswerBytesMax` before any header of it goes out, an event
 * stream never is; an answer that nobody has to read stays native; the ledger is told behind the answer's back.
 * Called by run-call with an armed hold.
 */

import { readJson } from '../base/json-path';
import { errorBodyDecodedBytesMax } from '../base/limits';
import { meteredAnswerBytesMax, meteredAnswerWaitMs } from '../base/limits-money';
import { err, type MaybePromise, ok, type Result } from '../base/result';
import { type Usage, usageOf } from '../domain/pricing/meters';
import { SseUsageTap } from '../domain/pricing/sse-usage-tap';
import type { Refusal } from '../domain/refusal';
import { decodeContent } from '../domain/relay/content-coding';
import { declaredLength } from '../domain/relay/request-target';
import { type AnsweredCall, grow, type SettledCall } from './call';
import type { Hold } from './custody';
import type { Money } from './money';
import { readAll } from './pump';

/** What settling may do with the call that is held. */
export type SettleHold = Pick<Hold, 'arm' | 'armLater' | 'cancel'>;

const unread = { tap: null, costMicros: null } as const;

/** Refuses: response_buffer_limit, downstream.error (the answer broke while it was read). */
export function settle(
  call: AnsweredCall,
  hold: SettleHold,
): MaybePromise<Result<SettledCall, Refusal>> {
  const { money } = call;
  if (money === null) return ok(grow(call, unread));
  return settleMetered(call, money, hold);
}

async function settleMetered(
  call: AnsweredCall,
  money: Money,
  hold: SettleHold,
): Promise<Result<SettledCall, Refusal>> {
  const { answer, status } = call;
  const { headers } = answer;
  const header = (name: string): string | null => headers.get(name);
  const type = header('content-type') ?? '';
  const wantsUsage = money.plan.readings.length > 0;
  const isKeyed = money.recordId !== null;
  const isSuccess = status >= 200 && status < 300;
  const isStream = /^text\/event-stream\b/i.test(type);
  if (isSuccess && isStream && (wantsUsage || isKeyed) && answer.body !== null) {
    const tap = new SseUsageTap(money.plan);
    money.seenSoFar(() => ({ status, header, usage: tap.usage() }));
    return ok(grow(call, { tap, costMicros: null }));
  }
  const isJson = /^application\/(?:[\w.+-]+\+)?json\b/i.test(type);
  const isRead = answer.body !== null && ((wantsUsage && isJson) || (isKeyed && isSuccess));
  money.seenSoFar(() => ({ status, header, usage: null }));
  const bytes = isRead && call.bytes === null ? await wholeBody(call, hold) : ok(call.bytes);
  if (!bytes.ok) return bytes;
  const usage = bytes.value === null ? null : usageIn(bytes.value, money, header);
  money.settle(money.chargeOf({ status, header, usage }), isSuccess);
  return ok(grow(call, { bytes: bytes.value, tap: null, costMicros: money.costMicros }));
}

async function wholeBody(
  { answer, endpoint }: AnsweredCall,
  hold: SettleHold,
): Promise<Result<Uint8Array | null, Refusal>> {
  if (answer.body === null) return ok(null);
  const declared = declaredLength(answer.headers.get('content-length'));
  const tooLarge = err({ code: 'response_buffer_limit', bytesMax: meteredAnswerBytesMax } as const);
  if (declared !== null && declared > meteredAnswerBytesMax) return tooLarge;
  const bytes = await (declared === null ? counted(answer.body, hold) : native(answer, hold));
  if (bytes === 'too_large') return tooLarge;
  if (bytes === 'broken' || bytes === 'late')
    return err({ code: 'downstream.error', host: endpoint.host });
  return ok(bytes);
}

function counted(body: ReadableStream, hold: SettleHold): ReturnType<typeof readAll> {
  hold.arm();
  return readAll(body, meteredAnswerBytesMax, meteredAnswerWaitMs);
}

/** A length that was promised and is within the bound needs no counting: the platform reads it. The wait gets its timer when it is long. */
async function native(answer: Response, hold: SettleHold): Promise<Uint8Array | 'broken'> {
  let late: ReturnType<typeof setTimeout> | null = null;
  let isOver = false;
  hold.armLater(meteredAnswerWaitMs, () => {
    if (!isOver) late = setTimeout(() => hold.cancel?.abort(), meteredAnswerWaitMs);
  });
  try {
    return new Uint8Array(await answer.arrayBuffer());
  } catch {
    return 'broken';
  } finally {
    isOver = true;
    if (late !== null) clearTimeout(late);
  }
}

/** We ask for no coding; an answer that has one all the same is decoded for the price alone. */
function usageIn(
  bytes: Uint8Array,
  money: Money,
  header: (name: string) => string | null,
): Usage | null {
  if (money.plan.readings.length === 0) return null;
  const coding = header('content-encoding');
  const plain = coding === null ? bytes : decodeContent(bytes, coding, errorBodyDecodedBytesMax);
  if (plain === null) return null;
  const json = readJson(plain);
  return json.ok ? usageOf(json.value, money.plan) : null;
}
