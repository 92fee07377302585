/**
 * Authentication: who sends a management request, and in which tenant it acts. Promises: the
 * operator key is compared by digest in constant time against every configured one; a foreign,
 * unknown or malformed tenant is one answer, `resource.not_found`. Must never: log or return a
 * presented key. Called by `api.ts` and `metrics.ts`.
 */
import { isId } from '../base/ids';
import { err, ok, type Result } from '../base/result';
import type { Refusal } from '../domain/refusal';
import { may } from '../domain/tenancy/access';
import { isToken } from '../domain/tenancy/token';
import { weirHeaders } from '../http/header-names';
import type { Background } from '../ports/config';
import { invalid } from './body';
import type { Actor, Operation } from './operation';
import type { ManagementServices } from './services';

/** An actor and its own tenant chain, leaf first; the operator has none. */
export interface Identified {
  readonly actor: Actor;
  readonly chain: readonly string[];
}

const encoder = new TextEncoder();
const notFound: Refusal = { code: 'resource.not_found' };

/** Who sends the request. Refuses with `auth.failed`, `auth.key_conflict`, `config.unavailable`. */
export async function authenticate(
  request: Request,
  services: ManagementServices,
  background: Background,
): Promise<Result<Identified, Refusal>> {
  const presented = presentedKeys(request.headers);
  const operators = services.env.operatorKeys;
  const judged = presented.map(async (key) => ({
    key,
    isOperators: await isOperator(key, operators),
  }));
  // What is no key of ours is somebody else's: a proxy in front may use the other header.
  const [ours, other] = (await Promise.all(judged)).filter(
    ({ key, isOperators }) => isOperators || isToken(key),
  );
  if (other !== undefined) return err({ code: 'auth.key_conflict' });
  if (ours === undefined)
    return err({ code: 'auth.failed', reason: presented.length === 0 ? 'missing' : 'malformed' });
  if (ours.isOperators) return ok({ actor: { kind: 'operator' }, chain: [] });
  const identity = await services.config.identify(ours.key, services.clock(), background);
  if (!identity.ok) return identity;
  const actor: Actor = { kind: 'key', key: identity.value.key };
  return ok({ actor, chain: identity.value.tenant.chain });
}

/** Whether the actor may run the operation at all. Refuses with `authz.forbidden`. */
export function permitted(actor: Actor, needs: Operation['permission']): Result<void, Refusal> {
  if (actor.kind === 'operator') return ok(undefined);
  const granted = needs !== 'operator' && may(actor.key, needs);
  return granted ? ok(undefined) : err({ code: 'authz.forbidden', needs });
}

/**
 * The chain of the tenant that the request acts in: the key's own, or the one that `?tenant=`
 * names, which must be below it. The operator names any; only on the tree and the gateway itself
 * may it name none.
 */
export async function actingChain(
  identified: Identified,
  operation: Operation,
  named: string | undefined,
  services: ManagementServices,
): Promise<Result<readonly string[], Refusal>> {
  const { actor, chain: own } = identified;
  if (named === undefined) {
    if (actor.kind === 'key' || operation.scope !== 'tenant') return ok(own);
    return err(invalid({ path: 'tenant', message: 'the operator has to name a tenant' }));
  }
  if (actor.kind === 'key' && named === actor.key.tenantId) return ok(own);
  if (!isId('ten', named)) return err(notFound);
  const chain = await services.store.tenants.chain(named);
  if (!chain.ok) return chain;
  const reachable = actor.kind === 'operator' || chain.value.includes(actor.key.tenantId);
  return reachable && chain.value.length > 0 ? chain : err(notFound);
}

/** What stands where a key may stand, each text once. */
function presentedKeys(headers: Headers): readonly string[] {
  const direct = headers.get(weirHeaders.key)?.trim() ?? '';
  const bearer = /^bearer +(\S+) *$/i.exec(headers.get('authorization') ?? '')?.[1] ?? '';
  return [...new Set([direct, bearer])].filter((key) => key !== '');
}

/**
 * Digests have one length, and every configured key is compared: time tells nothing about either.
 */
async function isOperator(presented: string, configured: readonly string[]): Promise<boolean> {
  const digest = await sha256(presented);
  let matches = 0;
  for (const key of configured) {
    matches |= Number(crypto.subtle.timingSafeEqual(digest, await sha256(key)));
  }
  return matches === 1;
}

const sha256 = (text: string): Promise<ArrayBuffer> =>
  crypto.subtle.digest('SHA-256', encoder.encode(text));
