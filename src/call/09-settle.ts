/**
 * 09 settle: what the call costs. Most answers say it before their headers go out; a stream says it when it has ended.
 * Promises: an answer that a price or a key needs is read whole within `meteredAnswerBytesMax` before any header of it goes out, an event
 * stream never is; an answer that nobody has to read stays native; the ledger is told behind the answer's back, except of a task that was
 * submitted: it is on disk before its id is known. A task's money ends with the first answer that says how the task ended.
 * Called by run-call with an armed hold.
 */

import { readJson } from '../base/json-path';
import { errorBodyDecodedBytesMax } from '../base/limits';
import { meteredAnswerBytesMax, meteredAnswerWaitMs } from '../base/limits-money';
import { err, type MaybePromise, ok, type Result, whenOk } from '../base/result';
import { primaryAccount } from '../domain/capacity/signal';
import { isUnseenAnswer } from '../domain/idempotency/edge-answer';
import { CodedUsageTap } from '../domain/pricing/coded-usage-tap';
import { type Usage, type UsagePlan, usageOf } from '../domain/pricing/meters';
import { SseUsageTap, type UsageTap } from '../domain/pricing/sse-usage-tap';
import type { Refusal } from '../domain/refusal';
import { codingsOf, decodeContent } from '../domain/relay/content-coding';
import { answerLength } from '../domain/relay/request-target';
import {
  endOfTask,
  submissionOf,
  type TaskAnswer,
  type TaskState,
  type TaskTerms,
  type TaskView,
} from '../domain/tasks/task';
import type { Background } from '../ports/config';
import type { LedgerDesk } from '../ports/ledger';
import type { TaskDesk } from '../ports/tasks';
import { type AnsweredCall, grow, type SettledCall } from './call';
import type { Hold } from './custody';
import type { Money } from './money';
import { readAll } from './pump';

/** What settling may do with the call that is held. */
export type SettleHold = Pick<Hold, 'arm' | 'armLater' | 'cancel'>;

/** Who is told what a task costs. */
export interface SettlePorts {
  readonly desk: LedgerDesk;
  readonly tasks: TaskDesk;
}

const unread = { tap: null, costMicros: null, taskState: null } as const;

/** Refuses: response_buffer_limit, downstream.error (the answer broke while it was read). */
export function settle(
  call: AnsweredCall,
  hold: SettleHold,
  ports: SettlePorts,
  background: Background,
): MaybePromise<Result<SettledCall, Refusal>> {
  const { money, task } = call;
  if (task !== null) return settleTask(call, task, { hold, ports, background });
  if (money === null) return ok(grow(call, unread));
  return settleMetered(call, money, hold);
}

function settleMetered(
  call: AnsweredCall,
  money: Money,
  hold: SettleHold,
): MaybePromise<Result<SettledCall, Refusal>> {
  const { answer, status } = call;
  const { headers } = answer;
  const header = (name: string): string | null => headers.get(name);
  const type = header('content-type') ?? '';
  const wantsUsage = money.plan.readings.length > 0;
  const isKeyed = money.recordId !== null;
  const isSuccess = status >= 200 && status < 300;
  const isStream = /^text\/event-stream\b/i.test(type);
  if (isSuccess && isStream && (wantsUsage || isKeyed) && answer.body !== null) {
    const tap = tapOf(money.plan, header('content-encoding'));
    money.seenSoFar(() => ({ status, header, usage: tap.usage() }));
    return ok(grow(call, { tap, costMicros: null, taskState: null }));
  }
  const wantsJson = wantsUsage || money.terms !== null;
  const isJson = jsonType.test(type);
  const isRead = answer.body !== null && ((wantsJson && isJson) || (isKeyed && isSuccess));
  money.seenSoFar(() => ({ status, header, usage: null }));
  const read = isRead && call.bytes === null ? wholeBody(call, hold) : ok(call.bytes);
  return whenOk(read, (bytes) => {
    const { terms } = money;
    if (terms !== null && isSuccess)
      return submitted(grow(call, { bytes }), money, {
        terms,
        json: isJson ? bytes : null,
        header,
      });
    // Read for a key or not: the same answer costs the same.
    const usage = bytes === null || !isJson ? null : usageIn(bytes, money, header);
    if (isKeyed && isUnseenAnswer(status)) money.unseen();
    else money.settle(money.chargeOf({ status, header, usage }), isSuccess);
    return ok(grow(call, { bytes, tap: null, costMicros: money.costMicros, taskState: null }));
  });
}

/** A stream that is coded is kept for its price; where nobody reads one it is not. */
function tapOf(plan: UsagePlan, coding: string | null): UsageTap {
  if (coding === null || plan.readings.length === 0 || codingsOf(coding).length === 0)
    return new SseUsageTap(plan);
  return new CodedUsageTap(plan, coding);
}

const jsonType = /^application\/(?:[\w.+-]+\+)?json\b/i;

interface Submitted {
  readonly terms: TaskTerms;
  /** The answer's JSON; `null`: it is none. */
  readonly json: Uint8Array | null;
  readonly header: TaskAnswer['header'];
}

/** An accepted submission leaves its hold to the task; any other is settled like a call. */
async function submitted(
  call: AnsweredCall,
  money: Money,
  { terms, json, header }: Submitted,
): Promise<Result<SettledCall, Refusal>> {
  const plain = json === null ? null : plainBytes(json, header);
  const answer: TaskAnswer = { status: call.status, header, bytes: plain };
  const made = submissionOf(terms, answer, money.heldMicros);
  if (made.kind === 'started') {
    const account = call.account ?? primaryAccount;
    const isOpen = await money.defer({ taskId: made.taskId, account });
    const taskState: TaskState = isOpen ? 'pending' : 'released';
    return ok(grow(call, { tap: null, costMicros: money.costMicros, taskState }));
  }
  money.settle(made.charge, true);
  return ok(grow(call, { tap: null, costMicros: money.costMicros, taskState: null }));
}

interface TaskWork {
  readonly hold: SettleHold;
  readonly ports: SettlePorts;
  readonly background: Background;
}

/** An answer about a task that is pending may say how it ended; then its submission's hold ends, and the answer has the price. */
async function settleTask(
  call: AnsweredCall,
  task: TaskView,
  { hold, ports, background }: TaskWork,
): Promise<Result<SettledCall, Refusal>> {
  const { answer, money, status } = call;
  money?.settle({ micros: 0, source: 'table' }, true);
  const { headers } = answer;
  const header = (name: string): string | null => headers.get(name);
  const isSuccess = status >= 200 && status < 300;
  const says = isSuccess && answer.body !== null && jsonType.test(header('content-type') ?? '');
  if (task.state !== 'pending' || !says)
    return ok(grow(call, { tap: null, costMicros: null, taskState: task.state }));
  const bytes = await wholeBody(call, hold);
  if (!bytes.ok) return bytes;
  const plain = bytes.value === null ? null : plainBytes(bytes.value, header);
  const end = endOfTask(task, { status, header, bytes: plain });
  const read = { bytes: bytes.value, tap: null } as const;
  if (end === null) return ok(grow(call, { ...read, costMicros: null, taskState: task.state }));
  ports.desk.end(call.tenant.ledger, end, background);
  ports.tasks.ended(task.holdId, background);
  const costMicros = end[0] === 'settle' ? end[2] : null;
  const taskState: TaskState = costMicros === null ? 'released' : 'settled';
  return ok(grow(call, { ...read, costMicros, taskState }));
}

async function wholeBody(
  { answer, endpoint }: AnsweredCall,
  hold: SettleHold,
): Promise<Result<Uint8Array | null, Refusal>> {
  if (answer.body === null) return ok(null);
  const declared = answerLength(answer.headers);
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

function usageIn(
  bytes: Uint8Array,
  money: Money,
  header: (name: string) => string | null,
): Usage | null {
  if (money.plan.readings.length === 0) return null;
  const plain = plainBytes(bytes, header);
  if (plain === null) return null;
  const json = readJson(plain);
  return json.ok ? usageOf(json.value, money.plan) : null;
}

/** We ask for no coding; an answer that has one all the same is decoded for the price alone. `null`: it cannot be. */
function plainBytes(bytes: Uint8Array, header: TaskAnswer['header']): Uint8Array | null {
  const coding = header('content-encoding');
  return coding === null ? bytes : decodeContent(bytes, coding, errorBodyDecodedBytesMax);
}
