/**
 * 06 reserve: on the platform account, money is set aside before anything is sent; a key with a call cap is counted on every tier.
 * Promises: what the ledger did not confirm is never sent; an unknown price is refused, never zero; a repeat of a keyed call gets its
 * recorded answer before caps and balance are looked at. A ledger that does not answer refuses money (fails closed) and lets a mere count
 * pass (decisions section 5). From `placed` on the call's {@link Money} owns the hold. Called by run-call.
 */
import { newId } from '../base/ids';
import { err, type MaybePromise, ok, type Result } from '../base/result';
import { withCeiling } from '../domain/catalog/platform-request';
import {
  fingerprintChunks,
  fingerprintText,
  readIdempotencyKey,
  recordIdOf,
} from '../domain/idempotency/idempotency-key';
import type {
  Claim,
  LedgerBusy,
  PeekAnswer,
  PlaceAnswer,
  PlaceOp,
  RecordedAnswer,
} from '../domain/ledger/operations';
import { type Estimate, estimate, type FrozenPrice } from '../domain/pricing/estimate';
import type { RequestFacts } from '../domain/pricing/request-facts';
import type { Refusal } from '../domain/refusal';
import { queryPairs, queryPairValue } from '../domain/relay/query';
import { requestTarget } from '../domain/relay/request-target';
import type { TaskView } from '../domain/tasks/task';
import type { Background } from '../ports/config';
import type { FromLedger, LedgerAddress, LedgerDesk, LedgerUnavailable } from '../ports/ledger';
import type { FailOpen } from '../ports/metrics';
import type { ReplayBodies } from '../ports/replay-bodies';
import type { TaskDesk } from '../ports/tasks';
import {
  type AdmittedCall,
  type CapacityPass,
  type CatalogCall,
  grow,
  type ReservedCall,
} from './call';
import { admitCapacity, type CapacityPorts, giveBackProbe } from './capacity';
import { keyScopeOf } from './key-scope';
import { Money } from './money';

/** What reserving asks. */
export interface ReservePorts extends CapacityPorts {
  readonly desk: LedgerDesk;
  /** What a key would meet: for a call that may be answered again, and must not be sent. */
  readonly peek: (address: LedgerAddress, claim: Claim) => FromLedger<PeekAnswer>;
  readonly replayBodies: ReplayBodies | null;
  readonly tasks: TaskDesk;
  /** Counts a protection that let a call go on. */
  readonly failOpen: (what: FailOpen) => void;
}

/** A repeat of a keyed call: the first one's answer. */
export interface Replayed {
  readonly replay: RecordedAnswer;
}

/** The call that may go on, or the answer that it already has. */
export type Reserved = Result<ReservedCall | Replayed, Refusal>;

/** Refuses: catalog.task_not_owned, provider_capacity, platform_account_*, price.unknown, route_max_cost, insufficient_balance, caps, tag_*, idempotency.*, ledger_*. Owes nothing when it does. */
export function reserve(
  call: AdmittedCall,
  ports: ReservePorts,
  background: Background,
): MaybePromise<Reserved> {
  if (call.catalog?.tier === 4) return reservePriced(call, call.catalog, ports, background);
  if (call.key.callCap !== null)
    return countOnly(call, { capacity: null, task: null }, ports, background);
  return ok(grow(call, { money: null, capacity: null, task: null }));
}

async function reservePriced(
  call: AdmittedCall,
  catalog: CatalogCall,
  ports: ReservePorts,
  background: Background,
): Promise<Reserved> {
  const { endpoint } = catalog.entry;
  const ceilingMicros = ceilingOf(call.headers.maxCostMicro);
  if (ceilingMicros === 'malformed')
    return err({
      code: 'validation.error',
      issues: [{ path: 'X-Weir-Max-Cost-Micro', message: 'a whole number of micro-USD' }],
    });
  const facts = requestFacts(call, catalog, ceilingMicros);
  const estimated = estimate(endpoint.cost, endpoint.settlement, facts);
  const key = readIdempotencyKey(call.headers.idempotencyKey);
  if (!key.ok) return err({ code: 'idempotency.key_invalid', reason: key.error.reason });
  if (estimated.kind !== 'known')
    return replayedOr(priceRefusal(estimated), call, key.value, ports);
  if (endpoint.taskId !== null) return ofTask(call, catalog, endpoint.taskId, ports, background);
  const admitted = admitCapacity(call, catalog, { key: key.value, task: null }, ports, background);
  const pass = admitted instanceof Promise ? await admitted : admitted;
  if (!pass.ok) return replayedOr(pass.error, call, key.value, ports);
  const capacity = pass.value;
  const { micros, price } = estimated;
  if (price.kind === 'free' && key.value === null)
    return ofNoPrice(call, catalog, { capacity, task: null }, ports, background);
  const holdId = newId('hld', call.startedAtMs);
  const claim = key.value === null ? null : await claimOf(call, key.value, holdId);
  const money = moneyOf(call, { ports, background, holdId, micros, price, claim });
  const placing = { money, claim, micros, capacity, task: null };
  const placed = await place(call, placing, ports, background);
  if (!placed.ok || 'replay' in placed.value) {
    giveBackProbe(capacity, catalog, ports, background);
    return placed;
  }
  const { ceilingParam } = endpoint;
  if (ceilingParam === null) return placed;
  return ok(grow(placed.value, { query: withCeiling(call.query, ceilingParam, micros) }));
}

/**
 * A call about a task on the operator's account: the caller's own ledger has to know the task, and the account that works on it answers.
 * It costs nothing and claims no key: the next poll may see another state.
 */
async function ofTask(
  call: AdmittedCall,
  catalog: CatalogCall,
  parameter: string,
  ports: ReservePorts,
  background: Background,
): Promise<Reserved> {
  const pair = queryPairs(catalog.callersQuery).find(({ name }) => name === parameter);
  const taskId = pair === undefined ? '' : queryPairValue(pair.raw);
  const found = await ports.tasks.find(call.tenant.ledger, catalog.entry.provider.slug, taskId);
  if (found === null) return err({ code: 'catalog.task_not_owned' });
  if ('outcome' in found) return err({ code: found.outcome, retryAfterMs: found.retryAfterMs });
  const admitted = admitCapacity(call, catalog, { key: null, task: found }, ports, background);
  const pass = admitted instanceof Promise ? await admitted : admitted;
  if (!pass.ok) return pass;
  return ofNoPrice(call, catalog, { capacity: pass.value, task: found }, ports, background);
}

/** A call on the operator's account that costs nothing and claims no key: it is counted where its key has a cap. */
async function ofNoPrice(
  call: AdmittedCall,
  catalog: CatalogCall,
  about: { readonly capacity: CapacityPass; readonly task: TaskView | null },
  ports: ReservePorts,
  background: Background,
): Promise<Reserved> {
  if (call.key.callCap === null) return ok(grow(call, { money: null, ...about }));
  const counted = await countOnly(call, about, ports, background);
  if (!counted.ok) giveBackProbe(about.capacity, catalog, ports, background);
  return counted;
}

/** No amount can be held: the request has no price, or a higher one than its caller accepts. */
function priceRefusal(estimated: Exclude<Estimate, { kind: 'known' }>): Refusal {
  if (estimated.kind === 'unknown') return { code: 'price.unknown', reason: estimated.why };
  const { micros, ceilingMicros } = estimated;
  return { code: 'route_max_cost', requiredMicros: micros, ceilingMicros };
}

/**
 * An account that is out, and a price that has changed since, keep nobody from the answer that a key already has (decisions section 5):
 * whoever is refused believes that nothing was executed.
 */
async function replayedOr(
  refusal: Refusal,
  call: AdmittedCall,
  key: string | null,
  { peek }: ReservePorts,
): Promise<Reserved> {
  if (key === null) return err(refusal);
  const claim = await claimOf(call, key, newId('hld', call.startedAtMs));
  const known = await peek(call.tenant.ledger, claim);
  switch (known.outcome) {
    case 'replay':
      return ok({ replay: known.answer });
    case 'mismatch':
    case 'in_progress':
    case 'outcome_unknown':
      return err(refusalOf(known));
    default:
      return err(refusal);
  }
}

const bodyless = ({ request }: AdmittedCall): number | null => (request.body === null ? 0 : null);

/** What a price depends on. */
export const requestFacts = (
  call: AdmittedCall,
  catalog: CatalogCall,
  ceilingMicros: number | null,
): RequestFacts => ({
  query: queryPairs(catalog.callersQuery),
  body: call.json,
  bodyBytes: call.sentBytes?.byteLength ?? call.declaredBytes ?? bodyless(call),
  ceilingMicros,
});

/** The most that the caller wants to pay, micro-USD; null: not said. */
export function ceilingOf(header: string | null): number | null | 'malformed' {
  if (header === null) return null;
  return /^\d{1,15}$/.test(header) ? Number(header) : 'malformed';
}

const free: FrozenPrice = { kind: 'free' };

/** A key with a cap on calls that cost nothing here: one object call, and a ledger that does not answer lets it pass. */
async function countOnly(
  call: AdmittedCall,
  about: Pick<ReservedCall, 'capacity' | 'task'>,
  ports: ReservePorts,
  background: Background,
): Promise<Reserved> {
  const holdId = newId('hld', call.startedAtMs);
  const money = moneyOf(call, { ports, background, holdId, micros: 0, price: free, claim: null });
  const terms = { money, claim: null, micros: 0, ...about };
  const counted = await place(call, terms, ports, background);
  if (counted.ok) return counted;
  const isAbsent =
    counted.error.code === 'ledger_busy' || counted.error.code === 'ledger_unavailable';
  if (!isAbsent) return counted;
  ports.failOpen('call_cap');
  return ok(grow(call, { money: null, ...about }));
}

interface Terms {
  readonly ports: ReservePorts;
  readonly background: Background;
  readonly holdId: string;
  readonly micros: number;
  readonly price: FrozenPrice;
  readonly claim: Claim | null;
}

/** From here the money keeps the context: whoever leaves, the ledger's answer has somebody to come to. */
function moneyOf(call: AdmittedCall, terms: Terms): Money {
  const { ports, background, holdId, micros, price, claim } = terms;
  return new Money({
    desk: ports.desk,
    bodies: ports.replayBodies,
    tasks: ports.tasks,
    address: call.tenant.ledger,
    background,
    holdId,
    heldMicros: micros,
    recordId: claim === null ? null : claim[0],
    endpoint: call.catalog?.tier === 4 ? call.catalog.entry.endpoint : null,
    price,
  });
}

/** The claim of a key: whose, which, and the request that it stands for. */
export async function claimOf(call: AdmittedCall, key: string, holdId: string): Promise<Claim> {
  const { method, request, sentBytes } = call;
  const target = requestTarget(request.url);
  const mark = target.indexOf('?');
  const path = mark < 0 ? target : target.slice(0, mark);
  const query = call.catalog?.callersQuery ?? null;
  const body = sentBytes ?? new Uint8Array();
  const chunks = fingerprintChunks({ method, path, query, body });
  const hash = await crypto.subtle.digest('SHA-256', await new Blob([...chunks]).arrayBuffer());
  return [recordIdOf(holdId), keyScopeOf(call), key, fingerprintText(new Uint8Array(hash))];
}

interface Placing {
  readonly money: Money;
  readonly claim: Claim | null;
  readonly micros: number;
  readonly capacity: CapacityPass | null;
  readonly task: TaskView | null;
}

async function place(
  call: AdmittedCall,
  { money, claim, micros, capacity, task }: Placing,
  { desk }: ReservePorts,
  background: Background,
): Promise<Reserved> {
  const { key, tags } = call;
  const op: PlaceOp = ['place', money.holdId, micros, key.id, key.callCap, tags, claim];
  const answer = await desk.place(call.tenant.ledger, op, background);
  if (answer.outcome === 'placed') return ok(grow(call, { money, capacity, task }));
  money.refused();
  return answer.outcome === 'replay' ? ok({ replay: answer.answer }) : err(refusalOf(answer));
}

type No = Exclude<PlaceAnswer, { outcome: 'placed' | 'replay' }> | LedgerBusy | LedgerUnavailable;

/** The ledger's no, as a refusal. Two calls never have one hold id and operations are ours: those would be bugs. */
function refusalOf(answer: No): Refusal {
  switch (answer.outcome) {
    case 'refused':
      return limitRefusal(answer.refusal);
    case 'mismatch':
      return { code: 'idempotency.mismatch' };
    case 'in_progress':
      return { code: 'idempotency.in_progress' };
    case 'outcome_unknown':
      return {
        code: 'idempotency.outcome_unknown',
        recordId: answer.recordId,
        resolved: answer.resolved,
      };
    case 'ledger_busy':
    case 'ledger_unavailable':
      return { code: answer.outcome, retryAfterMs: answer.retryAfterMs };
    case 'id_conflict':
    case 'invalid':
      return { code: 'internal.error' };
  }
}

function limitRefusal(no: Extract<PlaceAnswer, { outcome: 'refused' }>['refusal']): Refusal {
  switch (no.code) {
    case 'daily_cap':
      return {
        code: 'platform_daily_cap_reached',
        capMicros: no.capMicros,
        resetsAtMs: no.resetsAtMs,
      };
    case 'key_call_cap':
      return { code: 'key_daily_call_cap_reached', cap: no.cap, resetsAtMs: no.resetsAtMs };
    case 'tag_spend_cap':
      return { ...no, code: 'tag_spend_cap_reached' };
    case 'tag_call_cap':
      return { ...no, code: 'tag_call_cap_reached' };
    case 'record_quota':
      return { code: 'idempotency.quota', bytesMax: no.bytesMax };
    case 'open_holds_max':
      return { code: 'ledger.open_holds_max', holdsMax: no.holdsMax };
    case 'insufficient_balance':
    case 'tag_blocked':
    case 'tag_budget_unavailable':
      return no;
  }
}
