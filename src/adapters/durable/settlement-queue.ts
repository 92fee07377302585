/**
 * SettlementQueue: settlements that an object did not take go to the queue `settlements`, whose
 * consumer (`src/jobs/settlements.ts`) repeats them until the object answers.
 * Promises: bounded in time and message size; gives back what is not in the queue; never throws.
 * Must never: take a renewal, which is worth nothing later. Called by `ledger-desk.ts`.
 */
import {
  settlementsMessageBytesMax,
  settlementsMessageOpsMax,
  settlementsSendTimeoutMs,
} from '../../base/limits-money';
import type { EndOp } from '../../domain/ledger/operations';
import type {
  DeskTime,
  LedgerAddress,
  SettlementKeeper,
  SettlementMessage,
} from '../../ports/ledger';
import { orLate } from '../time';
import { bodyBytes } from './ticket';

/** What an operation without a body takes at most, bytes: two ids, a reason, and the encoding. */
const plainOpBytes = 256;

/** Without a queue nothing is taken: it waits for the tenant's next claim. */
export const noSettlementQueue: SettlementKeeper = { keep: (_, ops) => Promise.resolve(ops) };

export class SettlementQueue implements SettlementKeeper {
  readonly #queue: Queue<unknown>;
  readonly #time: DeskTime;

  constructor(queue: Queue<unknown>, time: DeskTime) {
    this.#queue = queue;
    this.#time = time;
  }

  async keep(address: LedgerAddress, ops: readonly EndOp[]): Promise<readonly EndOp[]> {
    const { messages, left } = messagesOf(ops);
    for (const [at, part] of messages.entries()) {
      if (!(await this.#sent({ version: 1, address, ops: part }))) {
        return [...left, ...messages.slice(at).flat()];
      }
    }
    return left;
  }

  /** `v8` keeps bytes as bytes. */
  #sent(message: SettlementMessage): Promise<boolean> {
    const sent = this.#queue.send(message, { contentType: 'v8' }).then(
      () => true,
      () => false,
    );
    return orLate(sent, { time: this.#time, ms: settlementsSendTimeoutMs, late: false });
  }
}

/** Operations in messages that the queue can carry; `left`: what it cannot. */
function messagesOf(ops: readonly EndOp[]): {
  readonly messages: readonly (readonly EndOp[])[];
  readonly left: readonly EndOp[];
} {
  const messages: EndOp[][] = [];
  const left: EndOp[] = [];
  let room = 0;
  for (const op of ops) {
    const bytes = plainOpBytes + bodyBytes(op);
    if (op[0] === 'renew' || bytes > settlementsMessageBytesMax) {
      left.push(op);
      continue;
    }
    const last = messages.at(-1);
    if (last === undefined || room < bytes || last.length >= settlementsMessageOpsMax) {
      messages.push([op]);
      room = settlementsMessageBytesMax - bytes;
    } else {
      last.push(op);
      room -= bytes;
    }
  }
  return { messages, left };
}
