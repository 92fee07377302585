/**
 * Holds that ended by their lease, without a settlement: each was released in the caller's favour,
 * and an operator may look whether something is owed after all. Promises: an open review stays
 * until a late settlement or an operator closes it. Operations read by `operations.ts`.
 */
import * as z from 'zod/mini';
import { err, ok } from '../base/result';
import type { Review } from '../domain/ledger/views';
import { time, timeOrNull, timeText } from './fields';
import { books } from './ledger-access';
import { ledgerId, listedFromLedger } from './ledger-pages';
import { fromLedger } from './ledger-refusals';
import { answering, type Call, type Operation } from './operation';
import { pageOf, pageQuery } from './pagination';

/** An expired hold. */
const reviewAnswer = z.object({
  id: z.string().check(z.describe('Of the hold.')),
  micros: z.int().check(z.describe('What was held and then given back.')),
  expired_at: time,
  closed_at: z.nullable(time),
  closed_by: z.nullable(z.string()).check(z.describe('operator or late_settle.')),
});

const closedAnswer = z.object({ id: z.string(), closed: z.literal(true) });

/** The operations on reviews. */
export const reviewOperations: readonly Operation[] = [
  answering({
    method: 'GET',
    path: '/ledger/reviews',
    permission: 'call:read',
    summary: 'List holds that expired without a settlement',
    query: pageQuery,
    answer: pageOf(reviewAnswer),
    handle: (call) =>
      listedFromLedger(call, {
        name: 'review',
        read: (ledger, after) => ledger.reviews(after),
        idOf: (review) => review.holdId,
        toWire: reviewWire,
      }),
  }),
  answering({
    method: 'POST',
    path: '/ledger/reviews/{id}/close',
    id: ledgerId,
    permission: 'operator',
    summary: 'Close the open review of a hold; 404 when there is none',
    answer: closedAnswer,
    handle: close,
  }),
];

async function close(call: Call) {
  const found = await books(call);
  if (!found.ok) return found;
  const { id } = call.facts;
  const closed = await fromLedger(found.value.ledger.closeReview(id));
  if (!closed.ok) return closed;
  return closed.value
    ? ok({ id, closed: true as const })
    : err({ code: 'resource.not_found' } as const);
}

const reviewWire = (review: Review): z.output<typeof reviewAnswer> => ({
  id: review.holdId,
  micros: review.micros,
  expired_at: timeText(review.atMs),
  closed_at: timeOrNull(review.closedAtMs),
  closed_by: review.closedBy,
});
