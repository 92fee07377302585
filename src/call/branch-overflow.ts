/**
 * Branch overflow: the same vendor operation through an aggregator, after our own account failed the call or is known to be out
 * (digest A13). A child cycle: its own hold, its own row, the aggregator's price, nothing on top.
 * Promises: it starts only after the parent's hold was released, so that both are never charged; nothing is sent without a reservation in
 * the day's budget; a second aggregator is never tried; whatever goes wrong, the caller gets what it would have got, or the 503.
 * Once it runs, it runs to its end, whoever leaves. Must never: touch tiers 1 to 3. Called by run-call.
 */

import { newId } from '../base/ids';
import { maskText, prepareMask } from '../domain/credentials/masking';
import { readIdempotencyKey } from '../domain/idempotency/idempotency-key';
import type { PlaceOp } from '../domain/ledger/operations';
import { type Aggregator, aggregatorNamed, overflowProvider } from '../domain/overflow/aggregators';
import { budgetEnd } from '../domain/overflow/budget';
import { decideOverflow, type OverflowMode, type OverflowTrigger } from '../domain/overflow/child';
import {
  build,
  type EnvelopeAnswer,
  type EnvelopeOutcome,
  type EnvelopeRequest,
} from '../domain/overflow/envelope';
import { marksAfter, mayAsk } from '../domain/overflow/failure';
import { type OverflowRoute, routeEstimate, stillFits } from '../domain/overflow/routes';
import { runThrough } from '../domain/overflow/run';
import { shapeOf } from '../domain/overflow/shape';
import { resultsAsked } from '../domain/pricing/estimate';
import { shownAnswer } from '../domain/pricing/strip-charge';
import { weirHeaders } from '../http/header-names';
import type { LookupContext } from '../ports/catalog';
import type { Background } from '../ports/config';
import type { OverflowBudgets, OverflowRoutes } from '../ports/overflow';
import type { Report } from '../ports/report';
import { ceilingOf, claimOf, type ReservePorts, requestFacts } from './06-reserve';
import type { AuthorizedCall, CatalogCall } from './call';
import { signalOfRelayed } from './capacity';
import { Money } from './money';
import { recordedHeaders } from './stream-end';

/** What an operator has set up, and the way there. */
export interface Overflow {
  readonly mode: OverflowMode;
  readonly aggregators: readonly Aggregator[];
  /** Our key there; null: none, and its routes are not used. */
  readonly keyOf: (aggregator: Aggregator) => string | null;
  readonly routes: OverflowRoutes;
  readonly budgets: OverflowBudgets;
  /** One request; null: no answer that could be read whole. Never rejects. */
  readonly ask: (
    request: EnvelopeRequest,
    background: Background,
  ) => Promise<EnvelopeAnswer | null>;
}

/** What the child cycle asks. */
export interface OverflowPorts extends ReservePorts {
  readonly overflow: Overflow;
  readonly sleep: (ms: number) => Promise<void>;
  readonly report: Report;
}

/** The child's end, for its row. `response` is null when the caller gets something else. */
export interface Child {
  readonly response: Response | null;
  /** The vendor answered through the aggregator. */
  readonly isServed: boolean;
  /** The run failed for a reason that the vendor's own answer does not show: the caller gets the 503. */
  readonly isOut: boolean;
  readonly servedVia: string;
  readonly holdId: string | null;
  readonly host: string;
  readonly status: number;
  readonly code: string | null;
  readonly costMicros: number | null;
}

/** One run of one route. */
interface Run {
  readonly call: AuthorizedCall;
  readonly catalog: CatalogCall;
  readonly route: OverflowRoute;
  readonly aggregator: Aggregator;
  /** Ours at the aggregator. */
  readonly key: string;
  readonly envelope: EnvelopeRequest;
  /** What the run may cost by the route's list price, micro-USD: held of the caller, reserved of the day's budget. */
  readonly estimateMicros: number;
  /** The parent was placed, and so counted. */
  readonly isCounted: boolean;
  readonly ports: OverflowPorts;
  readonly background: Background;
}

/** Why our own account does not serve a call; `isCounted`: it was placed, and so counted; `onShadow` gets the end of a shadow. */
export interface Failed {
  readonly trigger: OverflowTrigger;
  readonly isCounted: boolean;
  readonly onShadow: (shadow: Child) => void;
}

/** The child cycle; null: there is none, the caller gets what it would have got. Never throws. */
export async function overflow(
  call: AuthorizedCall,
  { trigger, isCounted, onShadow }: Failed,
  ports: OverflowPorts,
  background: Background,
): Promise<Child | null> {
  const { catalog, method } = call;
  const { mode, routes, aggregators } = ports.overflow;
  if (catalog === null || !catalog.hasRoute) return null;
  const facts = { mode, trigger, tier: catalog.tier, method, hasRoute: true };
  const decision = decideOverflow({ ...facts, tenantAllows: call.tenant.allowsOverflow });
  if (!decision.go) return null;
  const context = { nowMs: ports.nowMs(), background };
  const { endpoint } = catalog.entry;
  const mayUse = (one: OverflowRoute) => stillFits(one, endpoint) && isUsable(one, ports, context);
  const route = await routes.routeFor(endpoint.id, context, mayUse);
  const aggregator = route === null ? null : aggregatorNamed(aggregators, route.aggregator);
  if (route === null || aggregator === null) return null;
  const key = ports.overflow.keyOf(aggregator);
  const envelope = envelopeOf(call, route, aggregator);
  if (envelope === null || key === null) return null;
  const results = resultsAsked(endpoint.cost, requestFacts(call, catalog, null));
  const estimateMicros = routeEstimate(route, results);
  const terms = { route, aggregator, key, envelope, estimateMicros, isCounted };
  const run: Run = { call, catalog, ...terms, ports, background };
  if (!decision.isShadow && isTooDear(run)) return null;
  if (!decision.isShadow)
    return kept(
      background,
      safely(run, () => served(run)),
    );
  // The operator pays for the look; the caller does not wait for it.
  background(safely(run, () => shadowed(run, onShadow)));
  return null;
}

/** An aggregator may ask a multiple of our price: the caller's ceiling is about what the caller pays, whoever serves the call. */
function isTooDear({ call, estimateMicros }: Run): boolean {
  const ceilingMicros = ceilingOf(call.headers.maxCostMicro);
  return typeof ceilingMicros === 'number' && estimateMicros > ceilingMicros;
}

/** The context lives until the run has ended. */
function kept<T>(background: Background, work: Promise<T>): Promise<T> {
  background(work);
  return work;
}

/** A bug in here must not cost the caller the answer that it has. */
async function safely<T>(
  { call, aggregator, ports }: Run,
  work: () => Promise<T | null>,
): Promise<T | null> {
  try {
    return await work();
  } catch (bug) {
    const error = bug instanceof Error ? bug.name : typeof bug;
    ports.report('overflow.bug', { call_id: call.id, aggregator: aggregator.name, error });
    return null;
  }
}

function isUsable(route: OverflowRoute, ports: OverflowPorts, context: LookupContext): boolean {
  const aggregator = aggregatorNamed(ports.overflow.aggregators, route.aggregator);
  if (aggregator === null || ports.overflow.keyOf(aggregator) === null) return false;
  const standing = ports.capacity.standing(overflowProvider(route.aggregator), context);
  return standing === null || mayAsk(route.vendor, standing.view, standing.ageMs);
}

/** The caller's request in the aggregator's words; null: it cannot be said in them. */
function envelopeOf(
  { request, method, catalog, sentPath, sentBytes }: AuthorizedCall,
  { vendor, operation }: OverflowRoute,
  aggregator: Aggregator,
): EnvelopeRequest | null {
  // A body that was sent to the vendor without being kept is gone.
  if (sentBytes === null && request.body !== null) return null;
  const bodyText = sentBytes === null ? null : new TextDecoder().decode(sentBytes);
  // A ceiling for our own account is no part of what the caller asked.
  const query = catalog?.plainQuery ?? null;
  const built = build(aggregator, { vendor, operation, method, path: sentPath, query, bodyText });
  return built.ok ? built.value : null;
}

/** Hold, then reservation and run. */
async function served(run: Run): Promise<Child | null> {
  const money = await placed(run);
  if (money === null) return null;
  try {
    return await onHold(run, money);
  } finally {
    // What a bug left open; after the send nobody knows its outcome.
    money.abandon('overflow_failed', true);
  }
}

async function onHold(run: Run, money: Money): Promise<Child | null> {
  const { call, aggregator, ports, background } = run;
  const { budgets } = ports.overflow;
  const { holdId, heldMicros } = money;
  const { outcome } = await budgets.reserve(aggregator.name, holdId, heldMicros, background);
  if (outcome !== 'reserved') {
    money.release(`overflow_budget_${outcome}`);
    const facts = { call_id: call.id, aggregator: aggregator.name, outcome };
    ports.report('overflow.budget', facts);
    return null;
  }
  money.sent();
  // A run that is asked about for long outlives a lease: from here it is renewed.
  money.lasts();
  const came = await ran(run);
  budgets.close(aggregator.name, holdId, budgetEnd(came), background);
  return settled(run, money, came);
}

/** The child's own hold, never under the parent's id. null: the ledger says no. */
async function placed(run: Run): Promise<Money | null> {
  const { call, catalog, estimateMicros, isCounted, ports, background } = run;
  const key = readIdempotencyKey(call.headers.idempotencyKey);
  const holdId = newId('hld', call.startedAtMs);
  const claim = !key.ok || key.value === null ? null : await claimOf(call, key.value, holdId);
  const money = new Money({
    desk: ports.desk,
    tasks: ports.tasks,
    bodies: ports.replayBodies,
    address: call.tenant.ledger,
    background,
    holdId,
    heldMicros: estimateMicros,
    recordId: claim === null ? null : claim[0],
    endpoint: catalog.entry.endpoint,
    price: { kind: 'free' },
  });
  const { key: caller, tags } = call;
  const op: PlaceOp = isCounted
    ? ['place', holdId, estimateMicros, caller.id, null, tags, claim, true]
    : ['place', holdId, estimateMicros, caller.id, caller.callCap, tags, claim];
  const answer = await ports.desk.place(call.tenant.ledger, op, background);
  if (answer.outcome === 'placed') return money;
  money.refused();
  return null;
}

const ran = ({ call, catalog, aggregator, key, envelope, ports, background }: Run) =>
  runThrough(envelope, {
    aggregator,
    key,
    ask: (request) => ports.overflow.ask(request, background),
    sleep: ports.sleep,
    signalOf: signalOfRelayed(call, catalog, ports.nowMs()),
  });

async function settled(run: Run, money: Money, outcome: EnvelopeOutcome): Promise<Child> {
  if (outcome.kind === 'pending')
    return failed(run, money, { code: 'overflow.pending', isOut: true, isUnknown: true });
  if (outcome.kind === 'failed') {
    marked(run, outcome.failure);
    const isOut = outcome.failure !== 'contract';
    const isUnknown = outcome.costMicros === null;
    return failed(run, money, { code: `overflow.${outcome.failure}`, isOut, isUnknown });
  }
  const { status, contentType } = outcome;
  const body = shownBody(run, outcome);
  if (status >= 500 || body === null)
    return failed(run, money, { code: 'overflow.vendor_failed', isOut: true, isUnknown: false });
  const isSuccess = status >= 200 && status < 300;
  // The aggregator's price and nothing on top; one that it does not say is its list price, which was held.
  const micros = outcome.costMicros ?? money.heldMicros;
  if (isSuccess) money.settle({ micros, source: 'reported' }, true);
  else money.release('not_billable');
  const { costMicros } = money;
  const answer = answerOf(run, { status, body, contentType, costMicros });
  if (!money.isClosed)
    await money.record({ status, headers: recordedHeaders(answer.headers), bytes: body });
  return {
    ...rowOf(run, money),
    response: answer,
    isServed: true,
    isOut: false,
    status,
    code: null,
    costMicros,
  };
}

/**
 * The vendor's body as a direct answer would show it: a success without the vendor's charge where the row says so, anything else without
 * our key, should somebody have repeated it (digest A5). null: it cannot be shown safely.
 */
function shownBody(
  { call, catalog, key }: Run,
  { status, body }: Extract<EnvelopeOutcome, { kind: 'served' }>,
): Uint8Array<ArrayBuffer> | null {
  const { endpoint } = catalog.entry;
  if (status < 300)
    return Uint8Array.from(shownAnswer(body, endpoint, call.headers.keepsReportedCharge));
  const masking = maskText(new TextDecoder().decode(body), [prepareMask(key)]);
  if (masking.kind === 'unsafe') return null;
  return Uint8Array.from(
    masking.kind === 'unchanged' ? body : new TextEncoder().encode(masking.text),
  );
}

/** Nothing is charged. A run whose outcome nobody knows leaves the caller's key unknown. */
function failed(
  run: Run,
  money: Money,
  {
    code,
    isOut,
    isUnknown,
  }: { readonly code: string; readonly isOut: boolean; readonly isUnknown: boolean },
): Child {
  if (isUnknown) money.abandon(code, true);
  else money.release(code);
  const { call, aggregator, ports } = run;
  ports.report('overflow.failed', { call_id: call.id, aggregator: aggregator.name, code });
  const nothing = { response: null, isServed: false, costMicros: null };
  return { ...rowOf(run, money), ...nothing, isOut, status: 502, code };
}

const rowOf = (
  { aggregator }: Run,
  money: Pick<Money, 'holdId'> | null,
): Pick<Child, 'servedVia' | 'holdId' | 'host'> => ({
  servedVia: overflowProvider(aggregator.name),
  holdId: money?.holdId ?? null,
  host: new URL(aggregator.baseUrl).hostname,
});

function marked(
  { call, route, ports, background }: Run,
  failure: Parameters<typeof marksAfter>[0],
): void {
  const provider = overflowProvider(route.aggregator);
  const standing = ports.capacity.standing(provider, { nowMs: ports.nowMs(), background });
  const marks = standing?.view.marks ?? [];
  for (const mark of marksAfter(failure, route.vendor, marks))
    ports.capacity.mark(provider, { id: `${call.id}:${mark.key}`, ...mark }, background);
}

interface Answered {
  readonly status: number;
  readonly body: Uint8Array<ArrayBuffer>;
  readonly contentType: string | null;
  readonly costMicros: number | null;
}

/** The vendor's answer, with the disclosure. */
function answerOf(
  { call, aggregator }: Run,
  { status, body, contentType, costMicros }: Answered,
): Response {
  const headers = new Headers();
  if (contentType !== null) headers.set('content-type', contentType);
  headers.set(weirHeaders.callId, call.id);
  headers.set(weirHeaders.errorSource, 'upstream');
  headers.set(weirHeaders.servedVia, overflowProvider(aggregator.name));
  headers.set(weirHeaders.costMicro, String(costMicros ?? 0));
  headers.set('x-content-type-options', 'nosniff');
  headers.set('content-security-policy', 'sandbox');
  const isEmpty = status === 204 || status === 205 || status === 304 || call.method === 'HEAD';
  return new Response(isEmpty ? null : body, { status, headers });
}

/** What an aggregator would have answered, for the operator's log and a row: the call went through somebody else's hands. */
async function shadowed(run: Run, onShadow: Failed['onShadow']): Promise<null> {
  const { call, catalog, aggregator, estimateMicros, ports, background } = run;
  const { budgets } = ports.overflow;
  const id = `${call.id}:shadow`;
  const reservation = await budgets.reserve(aggregator.name, id, estimateMicros, background);
  if (reservation.outcome !== 'reserved') return null;
  const outcome = await ran(run);
  budgets.close(aggregator.name, id, budgetEnd(outcome), background);
  if (outcome.kind === 'failed') marked(run, outcome.failure);
  const isServed = outcome.kind === 'served';
  ports.report('overflow.shadow', {
    call_id: call.id,
    endpoint: catalog.entry.endpoint.id,
    aggregator: aggregator.name,
    outcome: outcome.kind === 'failed' ? outcome.failure : outcome.kind,
    status: isServed ? outcome.status : null,
    shape: isServed ? shapeOf(outcome.body) : null,
    cost_micros: outcome.kind === 'pending' ? null : outcome.costMicros,
  });
  const nobodys = { response: null, isOut: false, code: 'overflow.shadow', costMicros: null };
  onShadow({ ...rowOf(run, null), ...nobodys, isServed, status: isServed ? outcome.status : 502 });
  return null;
}
