/**
 * 07 guard: the last look before the send: the credential can be injected, the host is not ourselves and has only public addresses.
 * Promises: after this stage nothing but the network can say no. Called by run-call.
 */
import { err, type MaybePromise, ok, type Result, whenHere, whenOk } from '../base/result';
import type { Endpoint } from '../domain/catalog/upstream';
import type { EgressPolicy } from '../domain/egress/allowance';
import { hostInUrl, type JudgedEndpoint, judgeEndpoint } from '../domain/egress/target-url';
import { clientCodeInput, clientCodeText } from '../domain/idempotency/client-code';
import { vendorKeyInput, vendorKeyText } from '../domain/idempotency/vendor-key';
import type { Refusal } from '../domain/refusal';
import { idempotencyKey, platformUserAgent } from '../http/header-names';
import type { Background } from '../ports/config';
import type { Credentials } from '../ports/credentials';
import type { EgressGuard } from '../ports/egress';
import { type CatalogCall, type GuardedCall, grow, type ReservedCall } from './call';
import { type CapacityPorts, giveBackProbe, takePlace } from './capacity';
import { keyScopeOf } from './key-scope';

/** What the last look asks. */
export interface GuardPorts extends CapacityPorts {
  readonly egress: EgressGuard;
  readonly egressPolicy: EgressPolicy;
  readonly credentials: Credentials;
  /** HMAC-SHA256 under a secret of this deployment. */
  readonly sign: (input: Uint8Array) => Promise<Uint8Array>;
  readonly sleep: (ms: number) => Promise<void>;
}

/** Refuses: provider_rate_limited, egress.*, secret.not_found, credential.unavailable, auth.failed (secret denied), config.unavailable. */
export function guard(
  call: ReservedCall,
  ports: GuardPorts,
  background: Background,
): MaybePromise<Result<GuardedCall, Refusal>> {
  const guarded = judgedCall(call, ports, background);
  const { capacity, catalog } = call;
  if (capacity === null || capacity.probe === null || catalog === null) return guarded;
  return whenHere(guarded, (last) => {
    if (!last.ok) giveBackProbe(capacity, catalog, ports, background);
    return last;
  });
}

function judgedCall(
  call: ReservedCall,
  ports: GuardPorts,
  background: Background,
): MaybePromise<Result<GuardedCall, Refusal>> {
  const { host, port } = call.endpoint;
  if (isOwnHost(call.request.url, host, port)) return err({ code: 'egress.blocked', host });
  const judged = judge(call, ports.egressPolicy);
  if (judged === null) return err({ code: 'egress.blocked', host });
  const asked = ports.egress.check(host, port, judged, call.startedAtMs, background);
  return whenHere(asked, (verdict) => {
    if (!verdict.ok) return verdict;
    return call.catalog?.tier === 4
      ? onAccount(call, call.catalog, ports, background)
      : withCredentials(call, ports);
  });
}

function withCredentials(
  call: ReservedCall,
  ports: GuardPorts,
): MaybePromise<Result<GuardedCall, Refusal>> {
  const prepared = ports.credentials.prepare(call.upstream, call.tenant, call.startedAtMs);
  return whenHere(prepared, (credentials) => {
    if (!credentials.ok) return credentials;
    return ok(grow(call, { credentials: credentials.value, ...ofNoAccount }));
  });
}

const ofNoAccount = { platformHeaders: null, account: null, smoothed: null } as const;

/**
 * A call of the operator's account: which of them, in its turn (after the hold: a tenant without money uses up no place). From the taken
 * place on, whoever says no gives it back.
 */
const onAccount = (
  call: ReservedCall,
  catalog: CatalogCall,
  ports: GuardPorts,
  background: Background,
): MaybePromise<Result<GuardedCall, Refusal>> =>
  whenOk(takePlace(call, catalog, ports), (place) => {
    const { account, waitMs, takenAt } = place;
    const { upstream } = account;
    const unused = (): void => {
      if (takenAt !== null) ports.capacity.giveBack(takenAt, call.id, background);
    };
    const preparing = ports.credentials.prepare(upstream, call.tenant, call.startedAtMs);
    return whenHere(preparing, (credentials) => {
      if (!credentials.ok) {
        unused();
        return credentials;
      }
      const named = platformHeaders(call, catalog, ports.sign);
      const headers = waitMs === 0 ? named : inTurn(call, named, ports.sleep(waitMs), unused);
      const smoothed = waitMs === 0 ? null : { waitMs, resent: false };
      return whenHere(headers, (platform) =>
        ok(
          grow(call, {
            upstream,
            credentials: credentials.value,
            platformHeaders: platform,
            account: account.label,
            smoothed,
          }),
        ),
      );
    });
  });

/** Gives `value` when the turn has come; a caller that is gone by then gives its place back. */
async function inTurn<T>(
  { request }: ReservedCall,
  value: MaybePromise<T>,
  turn: Promise<void>,
  unused: () => void,
): Promise<T> {
  const [made, isThere] = await Promise.all([value, waited(request.signal, turn)]);
  if (!isThere) unused();
  return made;
}

/** Whether the client is still there when its turn comes; a place that is given back early serves somebody else. */
async function waited(client: AbortSignal, turn: Promise<void>): Promise<boolean> {
  const left = Promise.withResolvers<void>();
  client.addEventListener('abort', () => left.resolve(), { once: true });
  if (!client.aborted) await Promise.race([turn, left.promise]);
  return !client.aborted;
}

type PlatformHeaders = NonNullable<GuardedCall['platformHeaders']>;

/** All tenants share the account: its vendor sees neither their keys, nor their client, nor their names (digest A6). */
function platformHeaders(
  call: ReservedCall,
  catalog: CatalogCall,
  sign: GuardPorts['sign'],
): MaybePromise<PlatformHeaders> {
  const isSigned =
    call.headers.idempotencyKey !== null || catalog.entry.provider.clientHeader !== null;
  return isSigned ? signedHeaders(call, catalog, sign) : unsignedHeaders;
}

const unsignedHeaders: PlatformHeaders = [['user-agent', platformUserAgent]];

async function signedHeaders(
  call: ReservedCall,
  { entry: { provider } }: CatalogCall,
  sign: GuardPorts['sign'],
): Promise<PlatformHeaders> {
  const headers: [string, string | null][] = unsignedHeaders.map(([name, value]) => [name, value]);
  const key = call.headers.idempotencyKey;
  if (key !== null) {
    const scope = keyScopeOf(call);
    const input = vendorKeyInput({ tenantId: call.key.tenantId, scope, key, pins: [] });
    headers.push([idempotencyKey, vendorKeyText(await sign(input))]);
  }
  if (provider.clientHeader !== null) {
    const input = clientCodeInput(provider.slug, call.key.tenantId);
    headers.push([provider.clientHeader, clientCodeText(await sign(input))]);
  }
  return headers;
}

type Judged = JudgedEndpoint['kind'] | null;

/** What the address rules said of an endpoint; configuration objects live as long as their version, and so does this. */
const verdicts = new WeakMap<Endpoint, Judged>();

/** The literal rules once more: they, or the deployment's allowance, may have changed since the endpoint was registered. */
function judge(call: ReservedCall, policy: EgressPolicy): Judged {
  const known = verdicts.get(call.endpoint);
  if (known !== undefined) return known;
  const judged = judgeEndpoint({ scheme: call.upstream.scheme, ...call.endpoint }, policy);
  const verdict = judged.ok ? judged.value.kind : null;
  verdicts.set(call.endpoint, verdict);
  return verdict;
}

/** A call to the host that it came in on would be a loop. */
function isOwnHost(url: string, host: string, port: number): boolean {
  const start = url.indexOf('://') + 3;
  const authority = url.slice(start, url.indexOf('/', start)).toLowerCase();
  const named = hostInUrl(host);
  if (!authority.startsWith(named)) return false;
  // `gw.example.` is `gw.example` (RFC 1034 3.1): the root dot is no way around.
  const isRooted = authority.charAt(named.length) === '.';
  const rest = authority.slice(named.length + (isRooted ? 1 : 0));
  return rest === '' ? port === 443 || port === 80 : rest === `:${port}`;
}
