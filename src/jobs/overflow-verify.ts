/**
 * Overflow verify: one cheap call per route through its aggregator, and directly where the operator has a key, compared by shape.
 * Promises: what a verdict means is `domain/overflow/verdict.ts`'s; a passed route is stamped, a failed one is off at once, everything else
 * is left as it is; every run is reserved in the aggregator's daily budget before it is sent; bounded in routes and time; a sync follows the
 * last route. Must never: turn a route on. Called by `jobs/crons.ts` (weekly) and by hand through wiring.ts.
 */
import type { OverflowStore } from '../adapters/d1/overflow-store';
import { readJson } from '../base/json-path';
import {
  capacityBodyHeadBytesMax,
  overflowAnswerBytesMax,
  overflowLeaseMs,
  overflowVerifyMicrosMax,
  overflowVerifyMsMax,
  overflowVerifyRoutesMax,
  overflowVerifyStepMax,
  overflowVerifyTogetherMax,
} from '../base/limits-capacity';
import { err, ok, type Result } from '../base/result';
import { sideBySide } from '../base/side-by-side';
import { classify } from '../domain/capacity/classify';
import { type CapacitySignal, isExhausting } from '../domain/capacity/signal';
import type { CatalogEndpoint } from '../domain/catalog/endpoint';
import type { Provider } from '../domain/catalog/provider';
import type { EgressPolicy } from '../domain/egress/allowance';
import { type Aggregator, aggregatorNamed } from '../domain/overflow/aggregators';
import { budgetEnd } from '../domain/overflow/budget';
import { build, type EnvelopeOutcome, type EnvelopeRequest } from '../domain/overflow/envelope';
import { type RouteRow, routeEstimate } from '../domain/overflow/routes';
import { runThrough } from '../domain/overflow/run';
import { shapeOf } from '../domain/overflow/shape';
import { directRequest, type TestCall, testCall } from '../domain/overflow/test-call';
import { alarmOf, type DirectLeg, type RelayLeg, verdictOf } from '../domain/overflow/verdict';
import { resultsAsked } from '../domain/pricing/estimate';
import { queryPairs } from '../domain/relay/query';
import type { Background } from '../ports/config';
import type { OverflowBudgets } from '../ports/overflow';
import {
  routeCursor,
  type VerifyEntry,
  type VerifyOptions,
  type VerifyRun,
  type VerifySkip,
} from '../ports/overflow-jobs';
import type { Report } from '../ports/report';
import { leased } from './leased';
import { alone, derived, type OverflowSyncPorts } from './overflow-sync';

/** What a verification needs beside what a sync does. */
export interface OverflowVerifyPorts extends OverflowSyncPorts {
  readonly store: OverflowSyncPorts['store'] &
    Pick<OverflowStore, 'list' | 'oldest' | 'endpoint' | 'stamp' | 'disable'>;
  readonly budgets: Pick<OverflowBudgets, 'reserve' | 'close'>;
  readonly settings: ReadonlyMap<string, string>;
  readonly policy: EgressPolicy;
  readonly sleep: (ms: number) => Promise<unknown>;
  readonly report: Report;
}

/** A part of the routes, by hand; throws when the store does not answer. */
export async function overflowVerify(
  ports: OverflowVerifyPorts,
  { all, maxMicros, after }: VerifyOptions,
  background: Background,
): Promise<VerifyRun> {
  return alone(ports, async () => {
    const limit = overflowVerifyStepMax;
    const rows = await ports.store.list({ after, limit: limit + 1 }, !all);
    const part = rows.slice(0, limit);
    const last = rows.length > limit ? part.at(-1) : undefined;
    const entries = await visited(ports, { rows: part, maxMicros, background });
    return ended(ports, entries, last === undefined ? null : routeCursor(last), background);
  });
}

/** A firing of the schedule: the routes that waited longest. Rejects when somebody has to look, so that the event counts as failed. */
export async function overflowWeekly(
  ports: OverflowVerifyPorts,
  { scheduledAtMs, background }: { scheduledAtMs: number; background: Background },
): Promise<VerifyRun> {
  const isUsed = ports.aggregators.some((aggregator) => ports.keyOf(aggregator) !== null);
  if (!isUsed) return { outcome: 'skipped' };
  const firing = { job: 'overflow-weekly', scheduledAtMs };
  const lease = { nowMs: ports.nowMs(), leaseMs: overflowLeaseMs };
  return leased(ports.leases, firing, lease, async () => {
    const run = await alone(ports, async () => {
      const rows = await ports.store.oldest(overflowVerifyRoutesMax);
      const maxMicros = overflowVerifyMicrosMax;
      const entries = await visited(ports, { rows, maxMicros, background });
      return ended(ports, entries, null, background);
    });
    const alarm = run.outcome === 'done' ? run.alarm : 'skipped';
    if (alarm !== null) throw new Error(`overflow verification: ${alarm}`);
    return run;
  });
}

async function ended(
  ports: OverflowVerifyPorts,
  entries: readonly VerifyEntry[],
  next: string | null,
  background: Background,
): Promise<VerifyRun> {
  const alarm = alarmOf(
    entries.flatMap(({ verdict, failure }) => (verdict === null ? [] : [{ verdict, failure }])),
  );
  const count = (of: VerifyEntry['verdict']): number =>
    entries.filter(({ verdict }) => verdict === of).length;
  ports.report('overflow.verified', {
    passed: count('passed'),
    failed: count('failed'),
    aggregator_errors: count('aggregator'),
    inconclusive: count('inconclusive'),
    skipped: count(null),
    alarm,
  });
  const sync = next === null ? await derived(ports, false, background) : null;
  return { outcome: 'done', entries, alarm, next, sync };
}

interface Visit {
  readonly rows: readonly RouteRow[];
  readonly maxMicros: number;
  readonly background: Background;
}

/** A few at a time, until the run's time is over. */
async function visited(
  ports: OverflowVerifyPorts,
  { rows, maxMicros, background }: Visit,
): Promise<readonly VerifyEntry[]> {
  const endsAtMs = ports.nowMs() + overflowVerifyMsMax;
  const providers = new Map((await ports.store.providers()).map((each) => [each.slug, each]));
  const done = await sideBySide(rows, overflowVerifyTogetherMax, async (row) => {
    if (ports.nowMs() >= endsAtMs) return null;
    return visit(ports, { row, maxMicros, providers, background }).catch((fault: unknown) => {
      // A store that does not answer once keeps no other route from its verification: without one they all go off.
      const error = fault instanceof Error ? fault.name : typeof fault;
      const { endpointId, aggregator } = row;
      ports.report('overflow.not_verified', { endpoint_id: endpointId, aggregator, error });
      return skipped(row, 'store');
    });
  });
  return done.filter((entry) => entry !== null);
}

interface RouteVisit {
  readonly row: RouteRow;
  readonly maxMicros: number;
  readonly providers: ReadonlyMap<string, Provider>;
  readonly background: Background;
}

/** Everything that one route needs to be tested. */
interface Trial {
  readonly row: RouteRow;
  readonly aggregator: Aggregator;
  readonly key: string;
  /** What the run may cost by the route's list price, micro-USD. */
  readonly estimateMicros: number;
  readonly provider: Provider;
  readonly call: TestCall;
  readonly envelope: EnvelopeRequest;
  readonly background: Background;
}

async function visit(ports: OverflowVerifyPorts, about: RouteVisit): Promise<VerifyEntry> {
  const { row, background } = about;
  const trial = trialOf(ports, about, await ports.store.endpoint(row.endpointId));
  if (!trial.ok) return skipped(row, trial.error);
  const id = `verify:${row.endpointId}:${ports.nowMs()}`;
  const { name } = trial.value.aggregator;
  const reserved = await ports.budgets.reserve(name, id, trial.value.estimateMicros, background);
  if (reserved.outcome !== 'reserved') return skipped(row, 'budget');
  const outcome = await relayed(ports, trial.value);
  ports.budgets.close(name, id, budgetEnd(outcome), background);
  return judged(ports, trial.value, outcome);
}

function trialOf(
  ports: OverflowVerifyPorts,
  { row, maxMicros, providers, background }: RouteVisit,
  endpoint: CatalogEndpoint | null,
): Result<Trial, VerifySkip> {
  const aggregator = aggregatorNamed(ports.aggregators, row.aggregator);
  const key = aggregator === null ? null : ports.keyOf(aggregator);
  if (aggregator === null || key === null) return err('no_key');
  const provider = endpoint === null ? undefined : providers.get(endpoint.provider);
  if (endpoint === null || provider === undefined) return err('endpoint_gone');
  const { priceMicros, vendor, operation } = row;
  if (priceMicros === null) return err('no_price');
  const estimateMicros = routeEstimate({ ...row, priceMicros }, resultsOf(endpoint));
  if (estimateMicros > maxMicros) return err('too_dear');
  const call = testCall(endpoint, provider, ports.policy);
  if (!call.ok) return call;
  const envelope = build(aggregator, { vendor, operation, ...call.value });
  if (!envelope.ok) return err('not_relayable');
  const known = { row, aggregator, key, estimateMicros, provider, background };
  return ok({ ...known, call: call.value, envelope: envelope.value });
}

/** How many results the test request may give: a price per result is one for each. */
function resultsOf({ cost, testRequest }: CatalogEndpoint): number {
  const text = testRequest?.bodyText ?? null;
  const bytes = text === null ? null : new TextEncoder().encode(text);
  const body = bytes === null ? null : readJson(bytes);
  return resultsAsked(cost, {
    query: queryPairs(testRequest?.query ?? null),
    body: body?.ok === true ? body.value : undefined,
    bodyBytes: bytes?.byteLength ?? 0,
    ceilingMicros: null,
  });
}

const skipped = ({ endpointId, aggregator }: RouteRow, reason: VerifySkip): VerifyEntry => ({
  endpointId,
  aggregator,
  verdict: null,
  reason,
  stamped: false,
  failure: null,
  costMicros: null,
});

async function judged(
  ports: OverflowVerifyPorts,
  trial: Trial,
  outcome: EnvelopeOutcome,
): Promise<VerifyEntry> {
  const { row } = trial;
  const relay = relayLeg(outcome);
  const direct = needsDirect(relay) ? await directLeg(ports, trial) : noDirect;
  const { verdict, stamps, reason } = verdictOf({ relay, direct });
  if (stamps) await ports.store.stamp(row, ports.nowMs());
  if (verdict === 'failed') await ports.store.disable(row, reason, ports.nowMs());
  return {
    endpointId: row.endpointId,
    aggregator: row.aggregator,
    verdict,
    reason,
    stamped: stamps,
    failure: outcome.kind === 'failed' ? outcome.failure : null,
    costMicros: outcome.kind === 'pending' ? null : outcome.costMicros,
  };
}

// ── the leg through the aggregator ──

function relayed(ports: OverflowVerifyPorts, trial: Trial): Promise<EnvelopeOutcome> {
  const { aggregator, key, background } = trial;
  return runThrough(trial.envelope, {
    aggregator,
    key,
    ask: (request) => ports.client.ask(request, { bytesMax: overflowAnswerBytesMax, background }),
    sleep: ports.sleep,
    // What an aggregator relays comes without headers.
    signalOf: ({ status, bodyHead }) =>
      signalOf(ports, trial, { status, header: () => null, bodyHead }),
  });
}

function relayLeg(outcome: EnvelopeOutcome): RelayLeg {
  if (outcome.kind !== 'served') return outcome;
  return { kind: 'served', status: outcome.status, shape: shapeOf(outcome.body) };
}

// ── the leg to the vendor ──

const noDirect: DirectLeg = { kind: 'none' };

/** What is the aggregator's fault, or has not ended, needs no second payment to be judged. */
const needsDirect = (relay: RelayLeg): boolean =>
  relay.kind === 'served' || (relay.kind === 'failed' && relay.failure === 'contract');

async function directLeg(ports: OverflowVerifyPorts, trial: Trial): Promise<DirectLeg> {
  const { provider, call, background } = trial;
  const [account] = provider.accounts;
  const credential = account === undefined ? undefined : ports.settings.get(account.setting);
  if (credential === undefined) return noDirect;
  const request = directRequest(call, provider, credential);
  if (!request.ok) return noDirect;
  const answer = await ports.client.ask(request.value, {
    bytesMax: overflowAnswerBytesMax,
    background,
  });
  if (answer === null) return { kind: 'unreachable' };
  const { status, header, bytes } = answer;
  const bodyHead = new TextDecoder().decode(bytes.subarray(0, capacityBodyHeadBytesMax));
  const signal = signalOf(ports, trial, { status, header, bodyHead });
  const isDry = signal !== null && isExhausting(signal.kind);
  return { kind: 'answered', status, shape: shapeOf(bytes), isDry };
}

function signalOf(
  { nowMs }: OverflowVerifyPorts,
  { provider, call }: Trial,
  answer: {
    readonly status: number;
    readonly header: (name: string) => string | null;
    readonly bodyHead: string;
  },
): CapacitySignal | null {
  const requestText = `${call.path}?${call.query ?? ''}\n${call.bodyText ?? ''}`;
  return classify({ ...answer, provider: provider.slug, requestText, nowMs: nowMs() });
}
