/**
 * Money that comes in: grants (promotional, earned) and top-ups (purchased), by the operator only.
 * Promises: the id is the maker's (an invoice, a payment); the same request again books nothing and
 * gives the same answer, the id with another amount or kind is a conflict. Operations read by
 * `operations.ts`.
 */
import * as z from 'zod/mini';
import { ledgerAmountMicrosMax } from '../base/limits-money';
import { err, ok, type Result } from '../base/result';
import type { CreditAnswer } from '../domain/ledger/views';
import type { Refusal } from '../domain/refusal';
import type { FromLedger, Ledger } from '../ports/ledger';
import { invalid } from './body';
import { whole } from './fields';
import { books } from './ledger-access';
import { ledgerId } from './ledger-pages';
import { fromLedger } from './ledger-refusals';
import { type Call, type Operation, writing } from './operation';

const credit = {
  id: z
    .string()
    .check(
      z.regex(ledgerId, 'must be 1 to 64 printable characters without a space'),
      z.describe('Made by the caller, e.g. the number of the payment; repeating it books nothing.'),
    ),
  micros: whole(1, ledgerAmountMicrosMax).check(z.describe('Micro-USD.')),
};

/** Body of a grant. */
const grantBody = z.strictObject({ ...credit, kind: z.enum(['promotional', 'earned']) });

/** Body of a top-up. */
const topUpBody = z.strictObject(credit);

/** A credit that is in the books. */
const creditAnswer = z.object({
  id: z.string(),
  ledger_tenant_id: z.string(),
  kind: z.enum(['promotional', 'earned', 'purchased']),
  micros: z.int(),
  seq: z.int().check(z.describe('Row of the log that it was booked in.')),
});

/** The operations that bring money in. */
export const creditOperations: readonly Operation[] = [
  writing({
    method: 'POST',
    path: '/ledger/grants',
    permission: 'operator',
    summary: 'Grant promotional or earned money, once per id',
    body: grantBody,
    status: 200,
    answer: creditAnswer,
    handle: (call, { id, micros, kind }) =>
      booked(call, { id, micros, kind }, (ledger) => ledger.grant(id, kind, micros)),
  }),
  writing({
    method: 'POST',
    path: '/ledger/topups',
    permission: 'operator',
    summary: 'Book purchased money, once per id',
    body: topUpBody,
    status: 200,
    answer: creditAnswer,
    handle: (call, { id, micros }) =>
      booked(call, { id, micros, kind: 'purchased' }, (ledger) => ledger.topUp(id, micros)),
  }),
];

type Credit = Pick<z.output<typeof creditAnswer>, 'id' | 'micros' | 'kind'>;

async function booked(
  call: Call,
  credit: Credit,
  book: (ledger: Ledger) => FromLedger<CreditAnswer>,
): Promise<Result<z.output<typeof creditAnswer>, Refusal>> {
  const found = await books(call);
  if (!found.ok) return found;
  const answer = await fromLedger(book(found.value.ledger));
  if (!answer.ok) return answer;
  const { ledgerTenantId } = found.value.address;
  switch (answer.value.outcome) {
    case 'credited':
      return ok({ ...credit, ledger_tenant_id: ledgerTenantId, seq: answer.value.seq });
    case 'id_conflict':
      return err({ code: 'ledger.id_conflict' });
    case 'too_many_blocks':
      return err({ code: 'ledger.too_many_blocks', blocksMax: answer.value.blocksMax });
    case 'invalid':
      return err(invalid({ path: answer.value.field, message: 'is not usable' }));
  }
}
