/**
 * DoH resolver: the egress guard over DNS-over-HTTPS (JSON API, A and AAAA side by side).
 * Promises: every address of either answer is public, or the call is refused; what is not known (a family without an answer, a cut
 * or oversized body, a timeout) is a refusal and lives for seconds only. Warm: one Map read, no promise.
 * Must never: throw; await another request's promise or keep its I/O objects (workerd kills the waiter as hung), so an awaited look-up
 * belongs to its own request and only the background refresh is single-flight, by a flag that lapses with its request.
 * Residue: the runtime resolves once more when it connects; pinning is not possible with `fetch`. Made by `wiring.ts`.
 */
import { assertNever } from '../../base/assert';
import { readJson } from '../../base/json-path';
import {
  resolvedHostsMax,
  resolverAddressesMax,
  resolverAnswerBytesMax,
  resolverFailureTtlMs,
  resolverTimeoutMs,
  resolverTtlCeilingMs,
  resolverTtlFloorMs,
} from '../../base/limits';
import { readWithin } from '../../base/read-within';
import { err, ok, type Result } from '../../base/result';
import { addressVerdict } from '../../domain/egress/address';
import { type EgressAllowance, isAllowed } from '../../domain/egress/allowance';
import type { Refusal } from '../../domain/refusal';
import type { EgressGuard } from '../../ports/egress';
import { orLate, platformTime } from '../time';

/** The part of `fetch` that the resolver uses. */
export type ResolverFetch = (url: string, init: ResolverRequest) => Promise<Response>;

/** Redirects are not followed: a resolver that redirects is not the one that was configured. */
export interface ResolverRequest {
  readonly headers: Record<string, string>;
  readonly redirect: 'manual';
  readonly signal: AbortSignal;
  readonly cf: { readonly cacheTtl: number };
}

/** What {@link dohEgressGuard} needs: `resolverUrl` is absolute, `allow` is checked again for every allowed pair. */
export interface DohGuardNeeds {
  readonly fetch: ResolverFetch;
  readonly resolverUrl: string;
  readonly allow: EgressAllowance;
}

/** One answer that could be read: all addresses in it, and the shortest life among its records, milliseconds. */
export interface DohAnswer {
  readonly addresses: readonly string[];
  readonly ttlMs: number;
}

type Verdict = 'public' | 'blocked' | 'unresolved';

interface Finding {
  readonly verdict: Verdict;
  readonly lifeMs: number;
}

interface Entry {
  readonly result: Result<void, Refusal>;
  readonly failed: boolean;
  readonly bornMs: number;
  readonly refreshAtMs: number;
  readonly expiresAtMs: number;
  /** Until then a refresh is under way; it lapses, because the request that runs it may vanish. Unix milliseconds. */
  refreshingUntilMs: number;
}

const FAILED: Finding = { verdict: 'unresolved', lifeMs: resolverFailureTtlMs };
const RECORD_A = 1;
const RECORD_AAAA = 28;
const STATUS_NOERROR = 0;
const STATUS_NXDOMAIN = 3;

/** Makes the guard. Its cache belongs to the isolate and holds no I/O objects. */
export function dohEgressGuard(needs: DohGuardNeeds): EgressGuard {
  const cache = new Map<string, Entry>();

  const lookUp = async (host: string, nowMs: number): Promise<Result<void, Refusal>> => {
    const entry = toEntry(host, await resolve(needs, host), nowMs);
    remember(cache, host, entry, nowMs);
    return entry.result;
  };

  return {
    check(host, port, judged, nowMs, background) {
      switch (judged) {
        case 'allowed':
          return isAllowed(needs.allow, host, port) ? ok(undefined) : blocked(host);
        case 'address':
          return addressVerdict(host) === 'public' ? ok(undefined) : blocked(host);
        case 'name': {
          const entry = cache.get(host);
          if (entry === undefined || nowMs >= entry.expiresAtMs) return lookUp(host, nowMs);
          if (nowMs >= entry.refreshAtMs && nowMs >= entry.refreshingUntilMs) {
            entry.refreshingUntilMs = nowMs + resolverTimeoutMs * 2;
            background(lookUp(host, nowMs));
          }
          return entry.result;
        }
        default:
          return assertNever(judged);
      }
    },
  };
}

/**
 * Reads one JSON answer (Google's and Cloudflare's dns-json format), or null when it cannot be relied on: not NOERROR or NXDOMAIN,
 * truncated, malformed. NXDOMAIN and NOERROR without data are answers without addresses. CNAME records only bound the life.
 */
export function dohAnswer(message: unknown): DohAnswer | null {
  if (!isRecord(message)) return null;
  const { Status: status, TC: truncated, Answer: answer } = message;
  if (truncated === true || (status !== STATUS_NOERROR && status !== STATUS_NXDOMAIN)) return null;
  const records = answer ?? [];
  if (!Array.isArray(records)) return null;
  const addresses: string[] = [];
  let ttlMs = resolverTtlCeilingMs;
  for (const record of records) {
    if (!isRecord(record)) return null;
    const { type, data, TTL } = record;
    ttlMs = typeof TTL === 'number' ? Math.min(ttlMs, TTL * 1_000) : 0;
    if (type !== RECORD_A && type !== RECORD_AAAA) continue;
    if (typeof data !== 'string') return null;
    addresses.push(data);
  }
  return { addresses, ttlMs };
}

/** Asks both families. One private address decides; otherwise both answers must be known: the missing one may be the private one. */
async function resolve(needs: DohGuardNeeds, host: string): Promise<Finding> {
  const abort = new AbortController();
  const { signal } = abort;
  const answers = await orLate<readonly (DohAnswer | null)[]>(
    Promise.all([ask(needs, host, 'A', signal), ask(needs, host, 'AAAA', signal)]),
    { time: platformTime, ms: resolverTimeoutMs, late: [], abort },
  );
  const known = answers.flatMap((answer) => answer ?? []);
  const addresses = known.flatMap((answer) => answer.addresses);
  if (addresses.length > resolverAddressesMax) return FAILED;
  const ttlMs = Math.min(...known.map((answer) => answer.ttlMs));
  const lifeMs = Math.min(Math.max(ttlMs, resolverTtlFloorMs), resolverTtlCeilingMs);
  if (addresses.some((address) => addressVerdict(address) === 'private'))
    return { verdict: 'blocked', lifeMs };
  return known.length === 2 && addresses.length > 0 ? { verdict: 'public', lifeMs } : FAILED;
}

/** One question. Never rejects; null is "not known". */
async function ask(
  needs: DohGuardNeeds,
  host: string,
  type: 'A' | 'AAAA',
  signal: AbortSignal,
): Promise<DohAnswer | null> {
  // Called without a receiver: workerd's own fetch throws when `this` is some object.
  const { fetch } = needs;
  try {
    const url = new URL(needs.resolverUrl);
    url.searchParams.set('name', host);
    url.searchParams.set('type', type);
    const headers = { accept: 'application/dns-json' };
    const response = await fetch(url.href, {
      headers,
      redirect: 'manual',
      signal,
      cf: { cacheTtl: -1 },
    });
    if (response.status !== 200) {
      await response.body?.cancel();
      return null;
    }
    const bytes = await readWithin(response.body, resolverAnswerBytesMax);
    const document = bytes === null ? null : readJson(bytes);
    return document?.ok === true ? dohAnswer(document.value) : null;
  } catch {
    return null;
  }
}

/** Life is counted from the moment of asking, so that a slow answer is not trusted longer. */
function toEntry(host: string, { verdict, lifeMs }: Finding, nowMs: number): Entry {
  const failed = verdict === 'unresolved';
  const expiresAtMs = nowMs + lifeMs;
  return {
    result:
      verdict === 'public'
        ? ok(undefined)
        : verdict === 'blocked'
          ? blocked(host)
          : unresolved(host),
    failed,
    bornMs: nowMs,
    refreshAtMs: failed ? expiresAtMs : nowMs + lifeMs / 2,
    expiresAtMs,
    refreshingUntilMs: 0,
  };
}

/**
 * Keeps the entry as the most recent one. A failure never replaces what is still known, and an older question never a newer answer.
 * A host in use is asked again at half-life and moves to the end, so the first ones of the Map are the least used: no write on a hit.
 */
function remember(cache: Map<string, Entry>, host: string, entry: Entry, nowMs: number): void {
  const current = cache.get(host);
  if (current !== undefined && current.bornMs > entry.bornMs) return;
  if (current !== undefined && entry.failed && !current.failed && nowMs < current.expiresAtMs)
    return;
  cache.delete(host);
  cache.set(host, entry);
  if (cache.size <= resolvedHostsMax) return;
  const oldest = cache.keys().next();
  if (!oldest.done) cache.delete(oldest.value);
}

function blocked(host: string): Result<void, Refusal> {
  return err({ code: 'egress.blocked', host });
}

function unresolved(host: string): Result<void, Refusal> {
  return err({ code: 'egress.unresolved', host });
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
