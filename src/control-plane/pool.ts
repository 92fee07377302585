/**
 * The endpoint pool of an upstream: judged hosts, the resolver's word on names, the alias.
 * Promises: nothing is registered that a call would be refused for; what can be derived as alias is
 * derived (digest B4). Called by upstreams.
 */
import * as z from 'zod/mini';
import { hostCharsMax, poolEndpointsMax } from '../base/limits';
import { err, ok, type Result } from '../base/result';
import type { Endpoint } from '../domain/catalog/upstream';
import { type AliasedPool, deriveAlias, nextAlias } from '../domain/egress/alias';
import type { EgressPolicy } from '../domain/egress/allowance';
import {
  defaultPortOf,
  type JudgedEndpoint,
  judgeEndpoint,
  type TargetScheme,
} from '../domain/egress/target-url';
import type { FieldIssue, Refusal, UrlFault } from '../domain/refusal';
import { invalid } from './body';
import { text, whole } from './fields';
import type { Call } from './operation';

/** The pool as it is sent; the port defaults to the scheme's. */
export const endpointsBody = z
  .array(z.strictObject({ host: text(hostCharsMax), port: z.optional(whole(1, 65_535)) }))
  .check(z.minLength(1), z.maxLength(poolEndpointsMax));

/** What a body says about its pool. */
export interface PoolBody {
  readonly scheme: TargetScheme;
  readonly endpoints: z.output<typeof endpointsBody>;
  readonly alias?: string | undefined;
}

/** A pool that may be stored. */
export interface Pool {
  readonly endpoints: readonly Endpoint[];
  readonly alias: string;
  /** Several hosts under a derived suffix: a call must name its host. */
  readonly needsTargetHost: boolean;
}

const faults: Readonly<Record<UrlFault, string>> = {
  scheme: 'must be https',
  userinfo: 'is not a host name',
  backslash: 'is not a host name',
  host: 'is not a host name',
  numeric_host: 'must be an address in its canonical form, or a name',
  private_address: 'is not a publicly routable address',
  reserved_name: 'is reserved: it never leads to a public API',
  port: 'must be 1 to 65535',
  whitespace: 'contains white space or control characters',
};

/** Judges a pool; `before` is the stored one of an update. Refuses with `validation.error`. */
export async function judgePool(
  call: Call,
  body: PoolBody,
  before: AliasedPool | undefined,
): Promise<Result<Pool, Refusal>> {
  const judged = judgeHosts(body, policyOf(call));
  if (!judged.ok) return err(invalid(...judged.error));
  const endpoints = judged.value.map(({ host, port }) => ({ host, port }));
  const { scheme, alias: explicit } = body;
  const alias = nextAlias({ before, endpoints, scheme, explicit });
  if (!alias.ok) return err(invalid(alias.error));
  const unsafe = await resolverIssues(call, judged.value);
  if (unsafe.length > 0) return err(invalid(...unsafe));
  const derived = deriveAlias(endpoints, scheme);
  const suffix = derived.ok && derived.value.kind === 'derived';
  const hosts = new Set(endpoints.map((endpoint) => endpoint.host)).size;
  return ok({ endpoints, alias: alias.value, needsTargetHost: suffix && hosts > 1 });
}

function policyOf(call: Call): EgressPolicy {
  const { env } = call.services;
  const gatewayHosts = [...env.gatewayHosts, call.facts.requestHost];
  return { allow: env.egressAllow, gatewayHosts, httpsOnly: true };
}

interface JudgedHostPort extends Endpoint {
  readonly kind: JudgedEndpoint['kind'];
}

/** Host rules without the network: every endpoint, each fault named. */
function judgeHosts(
  body: PoolBody,
  policy: EgressPolicy,
): Result<readonly JudgedHostPort[], readonly FieldIssue[]> {
  const { scheme } = body;
  const pool: JudgedHostPort[] = [];
  const issues: FieldIssue[] = [];
  const seen = new Set<string>();
  body.endpoints.forEach((endpoint, i) => {
    const port = endpoint.port ?? defaultPortOf(scheme);
    const judged = judgeEndpoint({ scheme, host: endpoint.host, port }, policy);
    const path = `endpoints.${i}.host`;
    if (!judged.ok) {
      const at = judged.error === 'scheme' ? 'scheme' : path;
      issues.push({ path: at, message: faults[judged.error] });
      return;
    }
    const { host, kind } = judged.value;
    if (seen.has(`${host} ${port}`)) issues.push({ path, message: 'is in the pool twice' });
    seen.add(`${host} ${port}`);
    pool.push({ host, port, kind });
  });
  return issues.length > 0 ? err(issues) : ok(pool);
}

/** The resolver's word: the same check that every call makes (digest A8). */
async function resolverIssues(
  call: Call,
  pool: readonly JudgedHostPort[],
): Promise<readonly FieldIssue[]> {
  const { services, nowMs, background } = call.facts;
  const checks = pool.map(({ host, port, kind }) =>
    services.egress.check(host, port, kind, nowMs, background),
  );
  const results = await Promise.all(checks);
  return results.flatMap((result, i) => {
    if (result.ok) return [];
    const blocked = result.error.code === 'egress.blocked';
    const message = blocked ? 'does not resolve to public addresses only' : 'cannot be resolved';
    return [{ path: `endpoints.${i}.host`, message }];
  });
}
