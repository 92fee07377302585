/**
 * Envelope: a vendor's request as an aggregator wants it, and the vendor's answer out of what the aggregator gives.
 * Promises: the caller's JSON body and the vendor's JSON answer keep their bytes (no number is read and written again); a cost that is not
 * said is null, never zero, and zero only where nothing can have been charged; a failure names whom it is about (decisions section 5).
 * Must never: hold the operator's key, follow a link, throw on an answer. Pure. Called by the road's overflow branch and `jobs/overflow-verify.ts`.
 */
import { assertNever } from '../../base/assert';
import { decodeUtf8 } from '../../base/json';
import { memberOf, pathOf, readPath } from '../../base/json-path';
import { capacityBodyHeadBytesMax, overflowBodyBytesMax } from '../../base/limits-capacity';
import { err, ok, type Result } from '../../base/result';
import { percentDecoded } from '../../base/text-codings';
import { isAboveBytes } from '../../base/utf8';
import { type CapacitySignal, isExhausting } from '../capacity/signal';
import { ceilMicros, decimalOf } from '../pricing/decimal';
import { objectMembers } from '../pricing/json-spans';
import { queryPairs, queryPairValue, type RawQuery } from '../relay/query';
import type { Aggregator } from './aggregators';

/** A vendor's request that an aggregator is to make. */
export interface RelayedCall {
  /** The aggregator's spelling of the vendor and of the operation; `{name}` in the latter is a part of the path. */
  readonly vendor: string;
  readonly operation: string;
  readonly method: string;
  /** As it would be sent to the vendor: encoded, placeholders filled. */
  readonly path: string;
  readonly query: RawQuery;
  /** null or empty: no body. */
  readonly bodyText: string | null;
}

/** A request to an aggregator, without its key (`authHeader`). */
export interface EnvelopeRequest {
  readonly method: 'GET' | 'POST';
  readonly url: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: string | null;
}

/** Why a request cannot be relayed. Nothing was sent. */
export type EnvelopeRefusal = 'body_not_json' | 'body_too_large' | 'path';

/** What an aggregator answered, bytes decoded of any content coding. */
export interface EnvelopeAnswer {
  readonly status: number;
  readonly bytes: Uint8Array;
}

/**
 * Who failed. `aggregator_auth`, `aggregator_balance`: our account there. `malformed`: no envelope. `vendor_dry`: the aggregator's own account at
 * that vendor is out. `contract`: the aggregator does not take this request. `unreachable`: it, or the vendor behind it, gives no answer.
 */
export type OverflowFailure =
  | 'aggregator_auth'
  | 'aggregator_balance'
  | 'malformed'
  | 'vendor_dry'
  | 'contract'
  | 'unreachable';

/** What came of a run. `costMicros`: what the aggregator says that it charged, micro-USD; null: not known, the estimate stays spent. */
export type EnvelopeOutcome =
  /** The vendor's answer, whatever its status; a 5xx may have been charged too. */
  | {
      readonly kind: 'served';
      readonly status: number;
      readonly body: Uint8Array;
      readonly contentType: string | null;
      readonly costMicros: number | null;
    }
  /** It goes on; ask with {@link pollRequest}. */
  | { readonly kind: 'pending'; readonly runId: string }
  | {
      readonly kind: 'failed';
      readonly failure: OverflowFailure;
      readonly costMicros: number | null;
    };

/** What the signature table says of a relayed answer; headers do not come along. */
export type SignalOf = (answer: {
  readonly status: number;
  readonly bodyHead: string;
}) => CapacitySignal | null;

/** The request that runs `call`. */
export function build(
  aggregator: Pick<Aggregator, 'dialect' | 'baseUrl'>,
  call: RelayedCall,
): Result<EnvelopeRequest, EnvelopeRefusal> {
  const bodyJson = bodyOf(call.bodyText);
  if (!bodyJson.ok) return bodyJson;
  const text =
    aggregator.dialect === 'api_path'
      ? ok(apiPathRun(call, bodyJson.value))
      : endpointRun(call, bodyJson.value);
  if (!text.ok) return text;
  return ok({
    method: 'POST',
    url: `${aggregator.baseUrl}/run`,
    headers: [...readingHeaders, ['content-type', 'application/json']],
    body: text.value,
  });
}

/** The request that asks how a pending run stands. */
export const pollRequest = (
  aggregator: Pick<Aggregator, 'baseUrl'>,
  runId: string,
): EnvelopeRequest => ({
  method: 'GET',
  url: `${aggregator.baseUrl}/runs/${encodeURIComponent(runId)}`,
  headers: readingHeaders,
  body: null,
});

// Both are read here (decisions section 5, Accept-Encoding).
const readingHeaders = [
  ['accept', 'application/json'],
  ['accept-encoding', 'identity'],
] as const;

function bodyOf(text: string | null): Result<string | null, EnvelopeRefusal> {
  if (text === null || text === '') return ok(null);
  if (isAboveBytes(text, overflowBodyBytesMax)) return err('body_too_large');
  return parsed(text) === undefined ? err('body_not_json') : ok(text);
}

/** JSON text of an object whose values are JSON texts; members without one are left out. */
const objectText = (members: readonly (readonly [name: string, json: string | null])[]): string =>
  `{${members
    .filter(([, json]) => json !== null)
    .map(([name, json]) => `${JSON.stringify(name)}:${json}`)
    .join(',')}}`;

function apiPathRun(call: RelayedCall, bodyJson: string | null): string {
  const path = call.operation.includes('{') ? call.path : call.operation;
  return objectText([
    ['api', JSON.stringify(call.vendor)],
    ['path', JSON.stringify(path)],
    ['query', queryJson(call.query)],
    ['body', bodyJson],
  ]);
}

function endpointRun(call: RelayedCall, bodyJson: string | null): Result<string, EnvelopeRefusal> {
  const filled = pathParameters(call.operation, call.path);
  if (filled === null) return err('path');
  const input = objectText([
    ['pathParams', filled.size === 0 ? null : JSON.stringify(Object.fromEntries(filled))],
    ['queryParams', queryJson(call.query)],
    ['body', bodyJson],
  ]);
  return ok(
    objectText([
      ['provider', JSON.stringify(call.vendor)],
      ['endpoint', JSON.stringify(call.operation)],
      ['input', input],
    ]),
  );
}

/** Names and decoded values; a name that is there more than once has a list. */
function queryJson(query: RawQuery): string | null {
  const values = new Map<string, string[]>();
  for (const { name, raw } of queryPairs(query)) {
    const list = values.get(name) ?? [];
    list.push(queryPairValue(raw));
    values.set(name, list);
  }
  if (values.size === 0) return null;
  const members = [...values].map(([name, list]): [string, unknown] => [
    name,
    list.length === 1 ? list[0] : list,
  ]);
  return JSON.stringify(Object.fromEntries(members));
}

/** What fills `{name}` segments of the template, compared from its end: the base path may stand before it. null: it is another path. */
function pathParameters(template: string, path: string): ReadonlyMap<string, string> | null {
  const found = new Map<string, string>();
  if (!template.includes('{')) return found;
  const [names, values] = [template.split('/').reverse(), path.split('/').reverse()];
  if (names.length > values.length) return null;
  for (const [at, segment] of names.entries()) {
    const name = /^\{([^{}]+)\}$/.exec(segment)?.[1];
    const value = values[at] ?? '';
    if (name !== undefined) found.set(name, percentDecoded(value));
    else if (segment !== value && at < names.length - 1) return null;
  }
  return found;
}

// ── answers ──

/** What came of a run. */
export function parse(
  aggregator: Pick<Aggregator, 'dialect' | 'costs'>,
  answer: EnvelopeAnswer,
  signalOf: SignalOf,
): EnvelopeOutcome {
  const envelope = envelopeIn(aggregator, answer);
  if (envelope === null) return failed(refusalBare(answer.status), null);
  const outcome = outcomeOf(aggregator, envelope);
  return outcome.kind === 'served' ? withVerdict(outcome, signalOf) : outcome;
}

/** What the answer to a question says of its run; null: nothing that can be read, so the run may go on. */
export function parsePoll(
  aggregator: Pick<Aggregator, 'dialect' | 'costs'>,
  { runId, answer }: { readonly runId: string; readonly answer: EnvelopeAnswer },
  signalOf: SignalOf,
): EnvelopeOutcome | null {
  if (memberOf(envelopeIn(aggregator, answer)?.json, 'runId') !== runId) return null;
  const outcome = parse(aggregator, answer, signalOf);
  return outcome.kind === 'failed' && outcome.failure === 'malformed' ? null : outcome;
}

/** The transport broke, or the wait was over: whether the run was made is not known. */
export const unreached: EnvelopeOutcome = {
  kind: 'failed',
  failure: 'unreachable',
  costMicros: null,
};

interface Envelope {
  readonly httpStatus: number;
  readonly text: string;
  readonly json: object;
  readonly costMicros: number | null;
}

function envelopeIn(
  { costs }: Pick<Aggregator, 'costs'>,
  { status, bytes }: EnvelopeAnswer,
): Envelope | null {
  const text = decodeUtf8(bytes);
  if (!text.ok) return null;
  const json = parsed(text.value);
  if (typeof json !== 'object' || json === null || Array.isArray(json)) return null;
  return { httpStatus: status, text: text.value, json, costMicros: costIn(json, costs) };
}

function outcomeOf({ dialect }: Pick<Aggregator, 'dialect'>, envelope: Envelope): EnvelopeOutcome {
  switch (dialect) {
    case 'api_path':
      return apiPathOutcome(envelope);
    case 'provider_endpoint':
      return runOutcome(envelope);
    default:
      return assertNever(dialect);
  }
}

/** `{success, data, priceCents}`; without `data` no vendor has answered and `code` says why. */
function apiPathOutcome(envelope: Envelope): EnvelopeOutcome {
  const { json, httpStatus, costMicros } = envelope;
  const [success, code] = [memberOf(json, 'success'), memberOf(json, 'code')];
  const data = rawMember(envelope.text, 'data');
  if (data !== null && (success === true || (success === false && data !== 'null'))) {
    const status = success ? httpStatus : (statusIn(memberOf(json, 'status')) ?? httpStatus);
    if (isOk(status) === success) return served(status, data, costMicros);
    return failed('malformed', costMicros);
  }
  if (code === 'UNAUTHORIZED') return failed('aggregator_auth', 0);
  if (code === 'INSUFFICIENT_CREDITS') return failed('aggregator_balance', 0);
  if (code === 'RATE_LIMITED') return failed('unreachable', 0);
  if (code === 'NOT_FOUND') return failed('contract', 0);
  if (code === 'UPSTREAM_ERROR') return failed('unreachable', costMicros);
  return failed(refusalStated(httpStatus), refusedCost(refusalStated(httpStatus), costMicros));
}

const running: ReadonlySet<unknown> = new Set(['READY', 'RUNNING', 'STOPPING']);
const broken: ReadonlySet<unknown> = new Set(['FAILED', 'BLOCKED', 'STOPPED', 'TIMED_OUT']);

/** `{runId, status, providerResponse, output, cost}`; without a run the aggregator itself said no. */
function runOutcome(envelope: Envelope): EnvelopeOutcome {
  const { json, httpStatus, costMicros } = envelope;
  const [status, runId] = [memberOf(json, 'status'), memberOf(json, 'runId')];
  if (typeof runId !== 'string' || typeof status !== 'string') {
    const failure = isOk(httpStatus) ? 'malformed' : refusalStated(httpStatus);
    return failed(failure, refusedCost(failure, costMicros));
  }
  if (running.has(status)) {
    return runIdPattern.test(runId) ? { kind: 'pending', runId } : failed('malformed', costMicros);
  }
  if (broken.has(status)) return failed('unreachable', costMicros);
  const vendorStatus = statusIn(memberOf(memberOf(json, 'providerResponse'), 'httpStatus'));
  if (status !== 'COMPLETED' || vendorStatus === null) return failed('malformed', costMicros);
  return served(vendorStatus, rawMember(envelope.text, 'output') ?? 'null', costMicros);
}

const runIdPattern = /^[A-Za-z0-9_-]{1,128}$/;

/** Whom a refusal is about that is no envelope: a key and a balance are told by the status alone, a 403 may be a page of its CDN. */
function refusalBare(status: number): OverflowFailure {
  if (status === 401) return 'aggregator_auth';
  return status === 402 ? 'aggregator_balance' : 'malformed';
}

/** The same of an envelope that names no run and no vendor's answer. */
function refusalStated(status: number): OverflowFailure {
  if (status === 429) return 'unreachable';
  if (status === 403) return 'aggregator_auth';
  const isRequests = status >= 400 && status < 500 && status !== 408;
  const bare = refusalBare(status);
  return bare === 'malformed' && isRequests ? 'contract' : bare;
}

/** Refused before a run: nothing was charged, unless it says so. */
const refusedCost = (failure: OverflowFailure, costMicros: number | null): number | null =>
  failure === 'malformed' ? costMicros : (costMicros ?? 0);

function failed(failure: OverflowFailure, costMicros: number | null): EnvelopeOutcome {
  const isAccount = failure === 'aggregator_auth' || failure === 'aggregator_balance';
  return { kind: 'failed', failure, costMicros: isAccount ? (costMicros ?? 0) : costMicros };
}

/** A JSON value is the vendor's JSON, byte by byte; a string is the vendor's text. */
function served(status: number, json: string, costMicros: number | null): EnvelopeOutcome {
  const value = json.startsWith('"') ? parsed(json) : undefined;
  const isText = typeof value === 'string';
  const isEmpty = json === 'null';
  const contentType = isText ? 'text/plain; charset=utf-8' : 'application/json';
  return {
    kind: 'served',
    status,
    body: new TextEncoder().encode(isEmpty ? '' : isText ? value : json),
    contentType: isEmpty ? null : contentType,
    costMicros,
  };
}

/** A relayed refusal in the vendor's own words for "out" is the aggregator's account at that vendor. */
function withVerdict(
  outcome: Extract<EnvelopeOutcome, { kind: 'served' }>,
  signalOf: SignalOf,
): EnvelopeOutcome {
  if (outcome.status < 400) return outcome;
  const head = outcome.body.subarray(0, capacityBodyHeadBytesMax);
  const signal = signalOf({ status: outcome.status, bodyHead: new TextDecoder().decode(head) });
  if (signal === null || !isExhausting(signal.kind)) return outcome;
  return failed('vendor_dry', outcome.costMicros);
}

// ── leaves ──

const isOk = (status: number): boolean => status >= 200 && status < 300;

const statusIn = (value: unknown): number | null =>
  typeof value === 'number' && Number.isInteger(value) && value >= 200 && value <= 599
    ? value
    : null;

/** The text of a member as it was sent; of a repeated one the last, as `JSON.parse` has it. */
function rawMember(text: string, name: string): string | null {
  const found = objectMembers(text, { start: 0, end: text.length }).findLast(
    (each) => each.name === name,
  );
  return found === undefined ? null : text.slice(found.start, found.end);
}

/** The charge that the envelope states, rounded up to whole micro-USD; null: none that can be read. */
function costIn(json: unknown, costs: Aggregator['costs']): number | null {
  for (const { at, unitMicros } of costs) {
    const found = readPath(json, pathOf(at));
    const units = found.kind === 'values' ? decimalOf(found.values[0]) : null;
    if (units !== null) return ceilMicros([{ units, perMillionMicros: unitMicros * 1_000_000 }]);
  }
  return null;
}

/** undefined: no JSON. */
function parsed(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return value;
  } catch {
    return undefined;
  }
}
