/**
 * Test call: the cheap request of a catalog row, as the vendor would get it and as an aggregator relays it; both are the same request.
 * Promises: a credential goes to one of the provider's own base URLs, judged as the road judges one, or nowhere; faults are words of ours.
 * Pure. Called by `jobs/overflow-verify.ts` and `jobs/task-polls.ts`.
 */
import { type JsonField, setTopLevelFields } from '../../base/json';
import { jsonDepthMax } from '../../base/limits';
import { err, ok, type Result } from '../../base/result';
import type { CatalogEndpoint, TestRequest } from '../catalog/endpoint';
import { fillPath } from '../catalog/placeholders';
import { approvedBase, type BaseUrl, type Provider } from '../catalog/provider';
import { type Rendered, renderOperators } from '../credentials/render';
import type { EgressPolicy } from '../egress/allowance';
import { authorityOf } from '../egress/target-url';
import { mergeQuery, type RawQuery, setQueryPair } from '../relay/query';

/** The row's test request, filled. */
export interface TestCall {
  readonly base: BaseUrl;
  readonly method: string;
  /** With the base path. */
  readonly path: string;
  readonly query: RawQuery;
  readonly bodyText: string | null;
}

/** Why a row cannot be tested. */
export type TestFault = 'no_test_request' | 'test_request' | 'base_unapproved' | 'credential';

/** A request that is ready to send. */
export interface ReadyRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: string | null;
}

/** The test request of a row. */
export function testCall(
  endpoint: CatalogEndpoint,
  provider: Provider,
  policy: EgressPolicy,
): Result<TestCall, TestFault> {
  const { testRequest } = endpoint;
  if (testRequest === null) return err('no_test_request');
  return operatorCall(endpoint, provider, testRequest, policy);
}

/** A request of the operator's own to a row: its test request, or a poll of a task. */
export function operatorCall(
  endpoint: CatalogEndpoint,
  provider: Provider,
  { query, bodyText }: TestRequest,
  policy: EgressPolicy,
): Result<TestCall, TestFault> {
  const base = approvedBase(provider, endpoint, policy);
  if (!base.ok) return base;
  const filled = fillPath(endpoint.path, query);
  if (!filled.ok) return err('test_request');
  return ok({
    base: base.value,
    method: endpoint.method,
    path: `${base.value.basePath}${filled.value.path}`,
    query: mergeQuery(endpoint.query, filled.value.query),
    bodyText,
  });
}

/** The same, to the vendor itself, with the operator's credential. */
export function directRequest(
  call: TestCall,
  provider: Provider,
  credential: string,
): Result<ReadyRequest, TestFault> {
  const injected = renderOperators(provider, credential);
  if (!injected.ok) return err('credential');
  const { header, json } = injected.value;
  const type: readonly Rendered[] =
    call.bodyText === null ? [] : [['content-type', 'application/json']];
  const headers: readonly Rendered[] = [
    ['accept', 'application/json'],
    ['accept-encoding', 'identity'],
    ...type,
    ...header,
  ];
  let { query } = call;
  for (const [name, value] of injected.value.query) query = setQueryPair(query, name, value);
  const fields = json.map(([name, value]): JsonField => [name, JSON.stringify(value)]);
  const body = bodyWith(call.bodyText, fields);
  return body.ok
    ? ok({ method: call.method, url: urlOf(call, query), headers, body: body.value })
    : body;
}

function bodyWith(
  text: string | null,
  fields: readonly JsonField[],
): Result<string | null, TestFault> {
  if (fields.length === 0) return ok(text);
  const set = text === null ? null : setTopLevelFields(text, fields, { depthMax: jsonDepthMax });
  return set?.ok === true ? ok(set.value) : err('credential');
}

function urlOf({ base, path }: TestCall, query: RawQuery): string {
  const { scheme, host, port } = base;
  return `${scheme}://${authorityOf(scheme, host, port)}${path}${query === null ? '' : `?${query}`}`;
}
