/**
 * 09 settle: what the call really cost is booked here. Tiers 1 to 3 owe nothing, so there is nothing to book.
 * Promises today: the answer passes unchanged. Must never: read a body that nobody has to meter. Called by run-call.
 */
import type { AnsweredCall } from './call';

/** Cannot refuse: work already done is authoritative. */
export function settle(call: AnsweredCall): AnsweredCall {
  return call;
}
