/**
 * Collecting a balance, the pure half: which accounts are asked, what is sent, what the answer says.
 * Promises: the credential goes to one of the provider's own base URLs or nowhere; a failure is a word of ours, never a text of the
 * vendor; a number that is not where the catalog says is a fault, never a zero. Pure. Called by `jobs/sweep.ts` and
 * `adapters/egress/balance-collector.ts`.
 */
import { pathOf, readPath } from '../../base/json-path';
import { err, ok, type Result } from '../../base/result';
import type { BalanceRequest } from '../catalog/balance';
import type { Provider } from '../catalog/provider';
import { type Rendered, renderOperators } from '../credentials/render';
import type { EgressPolicy } from '../egress/allowance';
import { parseTarget, type TargetUrl } from '../egress/target-url';
import { setQueryPair } from '../relay/query';
import { accountSetting } from './accounts';
import { storedNote } from './note';
import { primaryAccount } from './signal';

/** Whoever has accounts with a balance: a provider of the catalog, or an aggregator as `overflow:<name>`. */
export type SweptProvider = Pick<
  Provider,
  'slug' | 'baseUrls' | 'bindings' | 'requiredHeaders' | 'accounts' | 'balance'
>;

/** One account of one of them. `setting` names its credential. */
export interface SweptAccount {
  readonly provider: SweptProvider;
  readonly account: string;
  readonly setting: string;
}

/** Why a balance was not read. `not_reached`: the sweep's time was over. `no_id`: the look-up found none. */
export type CollectFault =
  | 'no_credential'
  | 'credential_unusable'
  | 'address_refused'
  | 'unreachable'
  | 'late'
  | 'redirected'
  | `status_${number}`
  | 'too_large'
  | 'no_json'
  | 'no_id'
  | 'wrong_shape'
  | 'not_reached';

/** A balance as it was read, in the unit of the balance call; times are epoch milliseconds. */
export interface Measured {
  readonly remaining: number;
  readonly total: number | null;
  readonly resetsAtMs: number | null;
  readonly note: string | null;
}

/** The accounts of a provider that have a credential: the primary, and the further ones by their labels. */
export function accountsOf(
  provider: SweptProvider,
  settings: ReadonlyMap<string, string>,
  labels: ReadonlyMap<string, readonly string[]>,
): readonly SweptAccount[] {
  const [primary] = provider.accounts;
  if (primary === undefined || !settings.has(primary.setting)) return [];
  const own = provider.balance?.kind === 'call' ? provider.balance.setting : null;
  const setting = own ?? primary.setting;
  const further = labels.get(provider.slug) ?? [];
  return [primaryAccount, ...further].map((label) => ({
    provider,
    account: label,
    setting: accountSetting({ provider: provider.slug, label, setting }),
  }));
}

/**
 * Further accounts (`provider/label`) that no call can use: their provider is not in the catalog, its own account has no credential here,
 * or they have no value for the setting that the catalog names.
 */
export function unusedAccounts(
  providers: readonly SweptProvider[],
  settings: ReadonlyMap<string, string>,
  labels: ReadonlyMap<string, readonly string[]>,
): readonly string[] {
  const settingOf = new Map(providers.map((one) => [one.slug, one.accounts[0]?.setting]));
  return [...labels].flatMap(([provider, further]) => {
    const setting = settingOf.get(provider);
    const isUsed = (label: string): boolean =>
      setting !== undefined &&
      settings.has(setting) &&
      settings.has(accountSetting({ provider, label, setting }));
    return further.filter((label) => !isUsed(label)).map((label) => `${provider}/${label}`);
  });
}

/** One request, ready to send. */
export interface CollectRequest {
  readonly target: TargetUrl;
  readonly url: string;
  readonly method: 'GET' | 'POST';
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: string | null;
  /** What was injected, for the note. */
  readonly secrets: readonly string[];
}

/** What is sent for one URL of a balance call. */
export function collectRequest(
  { provider }: SweptAccount,
  { url, method, credential }: { url: string; method: 'GET' | 'POST'; credential: string },
  policy: EgressPolicy,
): Result<CollectRequest, CollectFault> {
  const target = approvedTarget(provider, url, policy);
  if (target === null) return err('address_refused');
  const injected = renderOperators(provider, credential);
  const hasBody = method === 'POST';
  if (!injected.ok || (injected.value.json.length > 0 && !hasBody))
    return err('credential_unusable');
  const { header, query, json, secrets } = injected.value;
  const type: readonly Rendered[] = hasBody ? [['content-type', 'application/json']] : [];
  return ok({
    target,
    url: withPairs(target, query),
    method,
    headers: [['accept', 'application/json'], ['accept-encoding', 'identity'], ...type, ...header],
    body: hasBody ? JSON.stringify(Object.fromEntries(json)) : null,
    secrets,
  });
}

/** The URL, judged as the road judges one, at one of the provider's base URLs. */
function approvedTarget(
  { baseUrls }: SweptProvider,
  url: string,
  policy: EgressPolicy,
): TargetUrl | null {
  const parsed = parseTarget(url, policy);
  if (!parsed.ok) return null;
  const { scheme, host, port } = parsed.value;
  const isOurs = baseUrls.some(
    (base) => base.scheme === scheme && base.host === host && base.port === port,
  );
  return isOurs ? parsed.value : null;
}

function withPairs(
  { scheme, authority, rest }: TargetUrl,
  pairs: readonly (readonly [string, string])[],
): string {
  const mark = rest.indexOf('?');
  const path = mark < 0 ? rest : rest.slice(0, mark);
  let query = mark < 0 ? null : rest.slice(mark + 1);
  for (const [name, value] of pairs) query = setQueryPair(query, name, value);
  return `${scheme}://${authority}${path}${query === null ? '' : `?${query}`}`;
}

/** The id that a look-up found, as one segment of a path. */
export function lookedUpId(document: unknown, at: string): Result<string, CollectFault> {
  const id = firstAt(document, at);
  const text = typeof id === 'number' ? String(id) : id;
  return typeof text === 'string' && /^[\w~-][\w.~-]{0,127}$/.test(text) ? ok(text) : err('no_id');
}

/** What a document says of the balance. */
export function measured(
  call: BalanceRequest,
  document: unknown,
  secrets: readonly string[],
): Result<Measured, CollectFault> {
  const number = (path: string | null): number | null | undefined =>
    path === null ? null : numberAt(document, path);
  const [left, minus, total] = [call.remaining, call.remainingMinus, call.total].map(number);
  if (typeof left !== 'number' || minus === undefined) return err('wrong_shape');
  const scaled = (value: number): number => value / call.divideBy;
  return ok({
    remaining: scaled(left - (minus ?? 0)),
    total: typeof total === 'number' ? scaled(total) : null,
    resetsAtMs: call.resetsAt === null ? null : timeOf(firstAt(document, call.resetsAt)),
    note: call.note === null ? null : noteOf(firstAt(document, call.note), secrets),
  });
}

/** The number at a path, or the sum of them; undefined where there is anything else. */
function numberAt(document: unknown, path: string): number | undefined {
  const found = readPath(document, pathOf(path));
  if (found.kind === 'missing') return undefined;
  if (found.kind === 'count') return found.count;
  let sum = 0;
  for (const value of found.values) {
    const number = numberOf(value);
    if (number === undefined) return undefined;
    sum += number;
  }
  return sum;
}

/** A number, or a text that is exactly one: vendors write amounts as texts to keep their decimals. */
function numberOf(value: unknown): number | undefined {
  const number =
    typeof value === 'string' && /^-?\d{1,15}(?:\.\d{1,15})?$/.test(value) ? Number(value) : value;
  return typeof number === 'number' && Number.isFinite(number) ? number : undefined;
}

function firstAt(document: unknown, path: string): unknown {
  const found = readPath(document, pathOf(path));
  return found.kind === 'values' ? found.values[0] : undefined;
}

/** Seconds of the year 5138, milliseconds of 1973: no vendor's reset is beyond either. */
const millisecondsFrom = 100_000_000_000;
/** The end of the year 9999, the last that RFC 3339 can write: microseconds, and what no `Date` holds, are no time. */
const yearMsMax = 253_402_300_799_999;
const rfc3339 = /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)$/;

/** Epoch milliseconds of epoch seconds, of milliseconds, or of an RFC 3339 text; null for anything else: what is not told is not known. */
export function timeOf(value: unknown): number | null {
  if (typeof value === 'string' && rfc3339.test(value)) {
    const ms = Date.parse(value.replace(' ', 'T'));
    return Number.isNaN(ms) ? null : ms;
  }
  const number = numberOf(value);
  if (number === undefined || number <= 0) return null;
  const ms = Math.trunc(number < millisecondsFrom ? number * 1000 : number);
  return ms <= yearMsMax ? ms : null;
}

function noteOf(value: unknown, secrets: readonly string[]): string | null {
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  return typeof value === 'string' ? storedNote(value, secrets) : null;
}
