/**
 * One catalog file: a provider and its endpoints. Promises: gives exactly the domain's {@link Provider} and {@link CatalogEndpoint};
 * base URLs are judged by the rule that the gateway itself uses. Called by read.ts.
 */
import * as z from 'zod';
import { catalogIdCharsMax } from '../../../src/base/limits-money.ts';
import { percentEncoded } from '../../../src/base/text-codings.ts';
import type { CatalogEndpoint, TestRequest } from '../../../src/domain/catalog/endpoint.ts';
import type { BaseUrl, Provider, ProviderBinding } from '../../../src/domain/catalog/provider.ts';
import type { EgressPolicy } from '../../../src/domain/egress/allowance.ts';
import { parseTarget } from '../../../src/domain/egress/target-url.ts';
import { isUntouchable } from '../../../src/domain/relay/header-policy.ts';
import type { TaskRule } from '../../../src/domain/tasks/rule.ts';
import { balanceSchema, balanceTarget, rateSchema, settingName } from './balance-schema.ts';
import { type EndpointRow, endpointSchema, grantMethod, providerSlug } from './endpoint-schema.ts';

/** What one file holds. */
export interface CatalogFile {
  readonly provider: Provider;
  readonly endpoints: readonly CatalogEndpoint[];
}

const token = z
  .string()
  .regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, 'is no header name')
  // The runtime sets these itself: a credential there would silently not be sent.
  .refine((name) => !isUntouchable(name.toLowerCase()), 'belongs to the gateway');
const headerName = token.transform((name) => name.toLowerCase());
const headerValue = z.string().regex(/^[\x20-\x7e]+$/, 'is no header value');

const binding = z
  .strictObject({
    in: z.enum(['header', 'query', 'json']),
    name: z.string().min(1).max(128),
    as: z.enum(['api_key', 'bearer', 'basic', 'custom']).default('api_key'),
    format: z.string().nullable().default(null),
    field: z.string().min(1).nullable().default(null),
  })
  .superRefine((row, ctx) => {
    const blame = (path: string, message: string) =>
      ctx.addIssue({ code: 'custom', path: [path], message });
    if ((row.as === 'custom') !== (row.format !== null))
      blame('as', 'is custom with a format only');
    if (row.format !== null && !row.format.includes('{secret}')) blame('format', 'lacks {secret}');
    if (row.in !== 'header') return;
    const [fault] = token.safeParse(row.name).error?.issues ?? [];
    if (fault !== undefined) blame('name', fault.message);
    if (row.format !== null && !headerValue.safeParse(row.format).success)
      blame('format', 'is no header value');
  })
  .transform(
    (row): ProviderBinding => ({
      location: row.in,
      name: row.in === 'header' ? row.name.toLowerCase() : row.name,
      injector: row.as,
      format: row.format,
      field: row.field,
    }),
  );

/** A base URL under the egress rules; the fault is the rule's own word. */
const baseUrl = (policy: EgressPolicy) =>
  z.string().transform((raw, ctx): BaseUrl => {
    const target = parseTarget(raw, policy);
    const rest = target.ok ? target.value.rest.replace(/\/$/, '') : '';
    if (target.ok && !/[?#{}%\\]|\/\.{1,2}(?:\/|$)/.test(rest)) {
      const { scheme, host, port } = target.value;
      return { scheme, host, port, basePath: rest };
    }
    const why = target.ok ? 'path' : target.error;
    ctx.addIssue({ code: 'custom', message: `is no exact https base URL (${why})` });
    return z.NEVER;
  });

/** The schema of a file, for one egress policy. */
export const fileSchema = (policy: EgressPolicy) =>
  z
    .strictObject({
      provider: providerSlug,
      name: z.string().min(1).max(128),
      base_urls: z.array(baseUrl(policy)).min(1),
      legacy_base_urls: z.array(baseUrl(policy)).default([]),
      auth: z.array(binding).default([]),
      required_headers: z.record(headerName, headerValue).default({}),
      grant_methods: z.array(grantMethod).min(1).default(['api_key']),
      client_header: headerName.nullable().default(null),
      accounts: z
        .array(
          z.strictObject({
            label: providerSlug,
            setting: settingName,
          }),
        )
        .default([]),
      anonymous: z.boolean().default(false),
      balance: balanceSchema(policy).nullable().default(null),
      rate: rateSchema.nullable().default(null),
      price_note: z.string().min(1),
      endpoints: z.array(endpointSchema).min(1),
    })
    .superRefine((file, ctx) => {
      // What has a fault is as the file has it, not as a rule between fields knows it.
      if (ctx.issues.length === 0) checkFile(file, policy, ctx);
    })
    .transform(toDomain);

/** A file as its schema reads it, before it becomes the domain's. */
interface FileRow {
  readonly provider: string;
  readonly name: string;
  readonly base_urls: readonly BaseUrl[];
  readonly legacy_base_urls: readonly BaseUrl[];
  readonly auth: readonly ProviderBinding[];
  readonly required_headers: Readonly<Record<string, string>>;
  readonly grant_methods: Provider['grantMethods'];
  readonly client_header: string | null;
  readonly accounts: Provider['accounts'];
  readonly anonymous: boolean;
  readonly balance: Provider['balance'];
  readonly rate: Provider['rate'];
  readonly price_note: string;
  readonly endpoints: readonly EndpointRow[];
}

function checkFile(file: FileRow, policy: EgressPolicy, ctx: z.core.$RefinementCtx): void {
  const blame = (path: (string | number)[], message: string): void => {
    ctx.issues.push({ code: 'custom', path, message, input: file });
  };
  const taken = new Set(Object.keys(file.required_headers).map((name) => `header ${name}`));
  file.auth.forEach(({ location, name }, i) => {
    if (taken.has(`${location} ${name}`)) blame(['auth', i, 'name'], 'is set twice');
    taken.add(`${location} ${name}`);
  });
  if (taken.has(`header ${file.client_header}`)) blame(['client_header'], 'is set twice');
  if (file.accounts.length > 1)
    blame(['accounts', 1], 'is a further account: those stand in PLATFORM_ACCOUNTS');
  repeated(file.endpoints.map(({ name }) => name)).forEach((i) => {
    blame(['endpoints', i, 'name'], 'is another endpoint already');
  });
  for (const [path, message] of balanceFaults(file, policy)) blame(['balance', ...path], message);
  file.endpoints.forEach((row, i) => {
    for (const [field, message] of faultsOf(row, file)) blame(['endpoints', i, field], message);
  });
}

function* faultsOf(row: EndpointRow, file: FileRow): Generator<readonly [string, string]> {
  if (row.host !== null && !file.base_urls.some(({ host }) => host === row.host))
    yield ['host', 'is in none of base_urls'];
  if (row.grant_method !== null && !file.grant_methods.includes(row.grant_method))
    yield ['grant_method', 'is none of grant_methods'];
  if (row.platform_auth === 'account' && file.accounts.length === 0)
    yield ['platform_auth', 'is account, and the provider has no accounts'];
  if (row.platform_auth === 'anonymous' && !file.anonymous)
    yield ['platform_auth', 'is anonymous, which the provider does not allow'];
  for (const message of pollFaults(row, file)) yield ['task', message];
  if (`${file.provider}.${row.name}`.length > catalogIdCharsMax)
    yield ['name', `makes an id of more than ${catalogIdCharsMax} characters`];
}

/** The row that polls a task has to get along with the id alone: the gateway itself polls too. */
function* pollFaults({ task }: EndpointRow, { endpoints }: FileRow): Generator<string> {
  if (task === null) return;
  const poll = endpoints.find(({ name }) => name === task.poll);
  if (poll === undefined) {
    yield 'names a poll that is no row of this file';
    return;
  }
  if (poll.method !== 'GET' || poll.task_id === null || poll.platform_auth !== 'account')
    yield 'names a poll that is no GET on the account with a task_id';
  if (poll.parameters.some(({ required, name }) => required && name !== poll.task_id))
    yield 'names a poll that needs more than the id';
}

/** A balance call sends the account's credential: to where the provider's other calls go, and nowhere else. */
function* balanceFaults(
  { balance, base_urls, accounts }: FileRow,
  policy: EgressPolicy,
): Generator<readonly [string[], string]> {
  if (balance?.kind !== 'call') return;
  if (accounts.length === 0) yield [[], 'needs accounts'];
  const isOurs = (raw: string): boolean => {
    const target = balanceTarget(raw, policy);
    return base_urls.some(
      ({ scheme, host, port }) =>
        scheme === target?.scheme && host === target.host && port === target.port,
    );
  };
  if (!isOurs(balance.url)) yield [['url'], 'is at the host of none of base_urls'];
  if (balance.lookup !== null && !isOurs(balance.lookup.url))
    yield [['lookup', 'url'], 'is at the host of none of base_urls'];
}

/** Places of the entries that occurred before. */
const repeated = (names: readonly string[]): number[] =>
  names.flatMap((name, i) => (names.indexOf(name) < i ? [i] : []));

function toDomain(file: FileRow): CatalogFile {
  const provider: Provider = {
    slug: file.provider,
    name: file.name,
    baseUrls: file.base_urls,
    legacyBaseUrls: file.legacy_base_urls,
    bindings: file.auth,
    requiredHeaders: Object.entries(file.required_headers),
    grantMethods: file.grant_methods,
    clientHeader: file.client_header,
    accounts: file.accounts,
    anonymous: file.anonymous,
    balance: file.balance,
    rate: file.rate,
  };
  return { provider, endpoints: file.endpoints.map((row) => endpointOf(row, file)) };
}

function endpointOf(row: EndpointRow, file: FileRow): CatalogEndpoint {
  const mark = row.path.indexOf('?');
  const { tombstone } = row;
  return {
    id: `${file.provider}.${row.name}`,
    provider: file.provider,
    capability: row.capability,
    summary: row.summary,
    method: row.method,
    host: row.host,
    path: mark < 0 ? row.path : row.path.slice(0, mark),
    query: mark < 0 ? null : row.path.slice(mark + 1),
    grantMethod: row.grant_method,
    parameters: row.parameters,
    strictQuery: row.strict_query,
    bodyAllowlist: row.body_allowlist,
    platformRequest: row.platform_request,
    ceilingParam: row.ceiling_param,
    onClientDisconnect: row.on_client_disconnect,
    platformAuth: row.platform_auth,
    cost: row.cost,
    settlement: row.settlement,
    stripReportedCharge: row.strip_reported_charge,
    task: row.task === null ? null : taskOf(row.task, file.provider),
    taskId: row.task_id,
    rate: row.rate,
    testRequest: row.test_request === null ? null : testRequestOf(row.test_request),
    priceNote: row.price_note ?? file.price_note,
    tombstone:
      tombstone === null
        ? null
        : { status: tombstone.status, note: tombstone.note, supersededBy: tombstone.superseded_by },
  };
}

const taskOf = (row: NonNullable<EndpointRow['task']>, provider: string): TaskRule => ({
  idAt: row.id,
  poll: `${provider}.${row.poll}`,
  stateAt: row.state,
  succeeded: row.succeeded,
  failed: row.failed,
  deadlineMs: row.deadline_s * 1000,
});

function testRequestOf({ query, body }: NonNullable<EndpointRow['test_request']>): TestRequest {
  const pairs = Object.entries(query).map(
    ([name, value]) => `${percentEncoded(name)}=${percentEncoded(String(value))}`,
  );
  return {
    query: pairs.length === 0 ? null : pairs.join('&'),
    bodyText: body === undefined ? null : JSON.stringify(body),
  };
}
