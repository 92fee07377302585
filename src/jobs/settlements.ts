/**
 * Settlements from the queue: what isolates could not deliver to a ledger, repeated until it takes
 * them. Promises: every operation carries an id, so a message that comes twice changes nothing; a
 * message is acknowledged only after its ledger has it on disk; one that nobody understands comes
 * again until the queue gives it up (dead letter queue). Called by worker.ts (queue).
 */
import { report } from '../adapters/telemetry/report';
import { ledgerBatchOpsMax, settlementsRetryMaxS, settlementsRetryS } from '../base/limits-money';
import type { Applied } from '../domain/ledger/operations';
import type { Ledgers, SettlementMessage } from '../ports/ledger';

/** Whether a batch is of this queue: its name ends so, whatever an operator puts before it. */
export const isSettlementQueue = (batch: { readonly queue: string }): boolean =>
  batch.queue.endsWith('settlements');

/** What was done with a batch, in messages; `lost`: settlements of holds that no ledger remembers. */
export interface DeliveredSettlements {
  readonly delivered: number;
  readonly retried: number;
  readonly unreadable: number;
  readonly lost: number;
}

/** Delivers a batch, message by message; messages of a ledger that does not answer wait together. */
export async function deliverSettlements(
  batch: MessageBatch<unknown>,
  ledgers: Ledgers,
): Promise<DeliveredSettlements> {
  const silent = new Set<string>();
  const done = { delivered: 0, retried: 0, unreadable: 0, lost: 0 };
  for (const message of batch.messages) {
    const read = parseMessage(message.body);
    const tenantId = read?.address.ledgerTenantId ?? '';
    const answer = read === null || silent.has(tenantId) ? null : await applied(ledgers, read);
    if (answer !== null) {
      done.delivered += 1;
      done.lost += lostOf(answer);
      message.ack();
      continue;
    }
    if (read === null) done.unreadable += 1;
    else done.retried += 1;
    silent.add(tenantId);
    message.retry({ delaySeconds: delayS(message.attempts) });
  }
  if (done.retried + done.unreadable + done.lost > 0) report('settlements.trouble', done);
  return done;
}

async function applied(
  ledgers: Ledgers,
  { address, ops }: SettlementMessage,
): Promise<Applied | null> {
  const answer = await ledgers.of(address).apply(ops, []);
  return answer.outcome === 'applied' ? answer : null;
}

const lostOf = ({ ends }: Applied): number =>
  ends.filter(({ outcome }) => outcome === 'unknown_hold' || outcome === 'invalid').length;

const delayS = (attempts: number): number =>
  Math.min(settlementsRetryMaxS, settlementsRetryS * 2 ** Math.max(0, attempts - 1));

/** Our own message; another shape is of a version that this one does not know. */
function parseMessage(body: unknown): SettlementMessage | null {
  if (typeof body !== 'object' || body === null) return null;
  const { version, address, ops } = body as Partial<SettlementMessage>;
  if (version !== 1 || typeof address?.ledgerTenantId !== 'string') return null;
  if (!Array.isArray(ops) || ops.length > ledgerBatchOpsMax) return null;
  return { version, address, ops };
}
