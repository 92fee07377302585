/**
 * Capacity on the road: whether one of the operator's accounts can serve a call, which one, when it may be sent, and what its answer says
 * of that account. Tier 4 only: a caller's own credential is never looked at (digest A12).
 * Promises: an account that is known to be out is refused before any hold; news that is missing refuses nobody; a healthy vendor without
 * a declared rate costs no object call; only an answer of the vendor's strikes, never a fault, a timeout or a client that left.
 * Called by stages 06 (admit), 07 (take a place), both of which give back a probe that they do not let go on, and by run-call (note what
 * was said; give back what a call took that was not sent).
 */
import { assert } from '../base/assert';
import {
  capacityBodyHeadBytesMax,
  capacityRequestCharsMax,
  probeIntervalMs,
  spacerWaitMsMax,
} from '../base/limits-capacity';
import { err, type MaybePromise, ok, type Result, whenHere } from '../base/result';
import { percentDecoded } from '../base/text-codings';
import { keyedAccount, ownerAccount } from '../domain/capacity/accounts';
import { classify } from '../domain/capacity/classify';
import type { DeclaredRate, ProbeGrant } from '../domain/capacity/operations';
import { type CapacitySignal, isExhausting, primaryAccount } from '../domain/capacity/signal';
import { type AccountsStanding, type Out, standingOf } from '../domain/capacity/standing';
import type { CatalogEndpoint } from '../domain/catalog/endpoint';
import type { OverflowTrigger } from '../domain/overflow/child';
import type { Refusal } from '../domain/refusal';
import type { TaskView } from '../domain/tasks/task';
import type { Capacity } from '../ports/capacity';
import type { Catalog, LookupContext } from '../ports/catalog';
import type { Background } from '../ports/config';
import type {
  AccountRung,
  AdmittedCall,
  AnsweredCall,
  CapacityPass,
  CatalogCall,
  GuardedCall,
  ReservedCall,
} from './call';

/** What is asked and told. */
export interface CapacityPorts {
  readonly capacity: Capacity;
  readonly catalog: Catalog;
  /** Buckets whose full window refuses. */
  readonly rateEnforced: ReadonlySet<string>;
  readonly nowMs: () => number;
}

/** A free route says nothing of the balance, and a balance nothing of it. */
export const spendsBalance = ({ cost }: CatalogEndpoint): boolean => cost.kind !== 'free';

/** The accounts that may serve this call now. Refuses: provider_capacity, platform_account_*. */
export function admitCapacity(
  call: AdmittedCall,
  catalog: CatalogCall,
  pins: Pins,
  ports: CapacityPorts,
  background: Background,
): MaybePromise<Result<CapacityPass, Refusal>> {
  const pinned = pinnedAccounts(call, catalog, pins);
  if (!pinned.ok) return pinned;
  const accounts = pinned.value;
  const context = { nowMs: ports.nowMs(), background };
  const { open, out } = standingNow(catalog, accounts, ports, context);
  if (out === null) return ok(narrowed(accounts, open));
  if (out.probeInMs > 0) return refused(catalog, out, ports, context);
  const op = { id: call.id, lockId: out.lockId };
  return ports.capacity.probe(catalog.entry.provider.slug, op, context).then((grant) => {
    if (grant !== null) return ok(probing(accounts, out.account, grant));
    // The no may have brought news: the lock can be gone.
    const again = standingNow(catalog, accounts, ports, context);
    return again.out === null
      ? ok(narrowed(accounts, again.open))
      : refused(catalog, again.out, ports, context);
  });
}

/** What is known now; nothing known is open. */
function standingNow(
  { entry: { endpoint, provider } }: CatalogCall,
  accounts: readonly AccountRung[],
  { capacity }: CapacityPorts,
  context: LookupContext,
): AccountsStanding {
  const labels = labelsOf(accounts);
  const standing = capacity.standing(provider.slug, context);
  if (standing === null) return { open: labels, out: null };
  return standingOf(standing.view, standing.ageMs, {
    provider: provider.slug,
    endpointId: endpoint.id,
    accounts: labels,
    spendsBalance: spendsBalance(endpoint),
  });
}

/** One list of labels per list of accounts, which live as long as their catalog version. */
const labels = new WeakMap<readonly AccountRung[], readonly string[]>();

function labelsOf(accounts: readonly AccountRung[]): readonly string[] {
  const known = labels.get(accounts) ?? accounts.map(({ label }) => label);
  labels.set(accounts, known);
  return known;
}

/** One pass per list of accounts, which live as long as their catalog version. */
const passes = new WeakMap<readonly AccountRung[], CapacityPass>();

function passOf(accounts: readonly AccountRung[]): CapacityPass {
  const known = passes.get(accounts) ?? { accounts, probe: null };
  passes.set(accounts, known);
  return known;
}

const narrowed = (accounts: readonly AccountRung[], open: readonly string[]): CapacityPass =>
  open.length === accounts.length
    ? passOf(accounts)
    : { accounts: accounts.filter(({ label }) => open.includes(label)), probe: null };

const probing = (
  accounts: readonly AccountRung[],
  label: string,
  probe: ProbeGrant,
): CapacityPass => ({ accounts: accounts.filter((one) => one.label === label), probe });

/** A call that was to be the probe is not sent: somebody else may be it, or callers that are always refused would keep an account out. */
export function giveBackProbe(
  { probe }: CapacityPass,
  { entry: { provider } }: CatalogCall,
  { capacity }: CapacityPorts,
  background: Background,
): void {
  if (probe !== null) capacity.giveBackProbe(provider.slug, probe, background);
}

/** A call that refused itself behind its guards: its place is the next one's, and so is its probe. */
export function unsent(
  { id, catalog, capacity }: GuardedCall,
  ports: CapacityPorts,
  background: Background,
): void {
  if (catalog?.tier !== 4) return;
  const { endpoint, provider } = catalog.entry;
  const rate = endpoint.rate ?? provider.rate;
  if (rate !== null) ports.capacity.giveBack(provider.slug, id, background);
  if (capacity !== null) giveBackProbe(capacity, catalog, ports, background);
}

/** What makes a call meet one account: its Idempotency-Key, and the task that it names. */
export interface Pins {
  readonly key: string | null;
  readonly task: Pick<TaskView, 'account'> | null;
}

/** All accounts, or the one that this call must meet: of the object that it names, then of its key. */
function pinnedAccounts(
  call: AdmittedCall,
  { accounts }: CatalogCall,
  { key, task }: Pins,
): Result<readonly AccountRung[], Refusal> {
  if (accounts.length === 1 && key === null && task === null) return ok(accounts);
  const known = labelsOf(accounts);
  const owner = ownerAccount(task === null ? [] : [task.account], known);
  if (!owner.ok) return err({ code: `platform_account_${owner.error}` });
  const { tenantId } = call.key;
  const label =
    owner.value ?? (key === null ? null : keyedAccount(known, { scope: tenantId, key }));
  if (label === null || accounts.length === 1) return ok(accounts);
  return ok(accounts.filter((one) => one.label === label));
}

type OutRefusal = Extract<Refusal, { code: 'provider_capacity' }>;

/** What else does the same, per entry of one catalog version. */
const alternatives = new WeakMap<object, OutRefusal['alternatives']>();

/** The refusal, with what else does the same. */
function outRefusal(
  { entry }: CatalogCall,
  facts: Pick<OutRefusal, 'reason' | 'resetsAtMs' | 'retryAfterMs'>,
  ports: CapacityPorts,
  context: LookupContext,
): MaybePromise<OutRefusal> {
  const { endpoint, provider } = entry;
  const made = (others: OutRefusal['alternatives']): OutRefusal => ({
    code: 'provider_capacity',
    provider: provider.slug,
    endpointId: endpoint.id,
    ...facts,
    overflow: null,
    alternatives: others,
  });
  const known = alternatives.get(entry);
  if (known !== undefined) return made(known);
  return whenHere(ports.catalog.near(endpoint.id, context), (near) => {
    if (!near.ok) return made([]);
    alternatives.set(entry, near.value.alternatives);
    return made(near.value.alternatives);
  });
}

function refused(
  catalog: CatalogCall,
  { kind, resetsInMs, probeInMs }: Out,
  ports: CapacityPorts,
  context: LookupContext,
): MaybePromise<Result<never, Refusal>> {
  const resetsAtMs = resetsInMs === null ? null : context.nowMs + resetsInMs;
  const facts = { reason: kind, resetsAtMs, retryAfterMs: probeInMs };
  return whenHere(outRefusal(catalog, facts, ports, context), (refusal) => err(refusal));
}

/** Whether a refusal is about the operator's account, so that an aggregator may serve the call. */
export function triggerOf({ code }: Refusal): OverflowTrigger | null {
  if (code === 'provider_capacity') return { kind: 'skip_direct' };
  return code === 'provider_rate_limited' ? { kind: 'window' } : null;
}

/** What the caller gets when our account is out and the aggregator failed too; null for a burst: the vendor's own answer stands. */
export function refusalAfter(
  catalog: CatalogCall,
  { kind, waitMs }: CapacitySignal,
  ports: CapacityPorts,
  background: Background,
): MaybePromise<OutRefusal | null> {
  if (!isExhausting(kind)) return null;
  const context = { nowMs: ports.nowMs(), background };
  const resetsAtMs = waitMs === null ? null : context.nowMs + waitMs;
  const facts = { reason: kind, resetsAtMs, retryAfterMs: probeIntervalMs };
  return outRefusal(catalog, facts, ports, context);
}

/** The account that serves, and how long the call has to wait for its place. */
export interface TakenPlace {
  readonly account: AccountRung;
  readonly waitMs: number;
  /** The bucket's provider, when a place was taken that must be given back if it is not used. */
  readonly takenAt: string | null;
}

/** Refuses: provider_rate_limited. No rate is declared: no object is asked, accounts take turns. */
export function takePlace(
  call: ReservedCall,
  catalog: CatalogCall,
  ports: CapacityPorts,
): MaybePromise<Result<TakenPlace, Refusal>> {
  const accounts = call.capacity?.accounts ?? catalog.accounts;
  const { endpoint, provider } = catalog.entry;
  const rate = endpoint.rate ?? provider.rate;
  if (rate === null) return ok({ account: inTurn(accounts), waitMs: 0, takenAt: null });
  return askPlace(call, { catalog, accounts, rate, isSpaced: true }, ports).then((answer) => {
    if (answer === null) return ok({ account: inTurn(accounts), waitMs: 0, takenAt: null });
    if (answer.outcome === 'refused')
      return err({
        code: 'provider_rate_limited',
        provider: provider.slug,
        retryAfterMs: answer.retryAfterMs,
      } as const);
    const account = accounts.find(({ label }) => label === answer.account) ?? inTurn(accounts);
    return ok({ account, waitMs: answer.waitMs, takenAt: provider.slug });
  });
}

/** Before a re-send: whether the declared window has room. Nothing is declared, or nobody answers: it has. */
export function mayResend(
  call: AnsweredCall,
  catalog: CatalogCall,
  ports: CapacityPorts,
): MaybePromise<boolean> {
  const { endpoint, provider } = catalog.entry;
  const rate = endpoint.rate ?? provider.rate;
  if (rate === null) return true;
  const accounts = catalog.accounts.filter(({ label }) => label === call.account);
  return askPlace(call, { catalog, accounts, rate, isSpaced: false }, ports).then(
    (answer) => answer?.outcome !== 'refused',
  );
}

interface Asked {
  readonly catalog: CatalogCall;
  readonly accounts: readonly AccountRung[];
  readonly rate: DeclaredRate;
  readonly isSpaced: boolean;
}

function askPlace(
  { id }: { readonly id: string },
  { catalog, accounts, rate, isSpaced }: Asked,
  ports: CapacityPorts,
): ReturnType<Capacity['take']> {
  const { endpoint, provider } = catalog.entry;
  const scope = endpoint.rate === null ? provider.slug : endpoint.id;
  const op = {
    id: isSpaced ? id : `${id}:again`,
    candidates: accounts.map(({ label }) => ({
      account: label,
      bucket: label === primaryAccount ? scope : `${scope}#${label}`,
    })),
    rate,
    waitMsMax: spacerWaitMsMax,
    isEnforced: ports.rateEnforced.has(scope),
    isSpaced,
  };
  return ports.capacity.take(provider.slug, op);
}

let turn = 0;

/** Accounts without a declared rate share the calls evenly. */
function inTurn(accounts: readonly AccountRung[]): AccountRung {
  turn = (turn + 1) % Number.MAX_SAFE_INTEGER;
  const account = accounts.length === 1 ? accounts[0] : accounts[turn % accounts.length];
  assert(account !== undefined, 'a call of tier 4 has an account');
  return account;
}

/** What an answer says of the account; null: nothing. `text` is what its body says, null when that is not known. */
export function signalOf(
  call: AnsweredCall,
  catalog: CatalogCall,
  text: string | null,
  nowMs: number,
): CapacitySignal | null {
  const { headers } = call.answer;
  return classify({
    provider: catalog.entry.provider.slug,
    status: call.status,
    header: (name) => headers.get(name),
    bodyHead: text === null ? null : text.slice(0, capacityBodyHeadBytesMax),
    requestText: requestText(call),
    nowMs,
  });
}

/** The same of an answer that an aggregator relayed: its headers did not come along. */
export const signalOfRelayed =
  (call: Said, { entry }: CatalogCall, nowMs: number) =>
  (answer: { readonly status: number; readonly bodyHead: string }): CapacitySignal | null =>
    classify({
      ...answer,
      provider: entry.provider.slug,
      header: () => null,
      requestText: requestText(call),
      nowMs,
    });

type Said = Pick<AdmittedCall, 'query' | 'sentPath' | 'sentBytes'>;

/** What the caller said, as far as it is at hand: errors echo it. */
function requestText({ query, sentPath, sentBytes }: Said): string {
  const raw = query === null ? sentPath : `${sentPath}?${query}`;
  const said =
    sentBytes === null
      ? ''
      : new TextDecoder().decode(sentBytes.subarray(0, capacityRequestCharsMax));
  return `${percentDecoded(raw)}\n${said}`;
}

/** Tells the object what matters of an answer: a strike, or a success while something is locked. Off the call's path. */
export function noteAnswer(
  call: AnsweredCall,
  catalog: CatalogCall,
  signal: CapacitySignal | null,
  ports: CapacityPorts,
  background: Background,
): void {
  const { endpoint, provider } = catalog.entry;
  const { id, status } = call;
  const account = call.account ?? primaryAccount;
  const place = { id, account, endpointId: endpoint.id };
  if (status >= 200 && status < 300) {
    const probe = call.capacity?.probe ?? null;
    ports.capacity.ok(
      provider.slug,
      { ...place, spendsBalance: spendsBalance(endpoint), probe },
      background,
    );
    return;
  }
  if (signal === null || !isExhausting(signal.kind)) return;
  const { kind, waitMs } = signal;
  ports.capacity.strike(provider.slug, { ...place, kind, resetsInMs: waitMs }, background);
}
