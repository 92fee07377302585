/**
 * Explain: what an operator reads of a provider's capacity: how it stands as a whole, and why one call would be refused now or not.
 * Promises: the answer is the road's own (`standing.ts` over the same view), so that the two cannot disagree; every time in a text is UTC.
 * Pure. Called by `control-plane/capacity.ts`.
 */
import { probeIntervalMs, strikeWindowMs } from '../../base/limits-capacity';
import type { CapacityState, CapacityView, ProbeState } from './operations';
import { type Out, standingOf } from './standing';

/**
 * The worst that is known of a provider. `locked`: an account or an endpoint is, or an aggregator is left alone. `exhausted`: the sweep read an empty account. `struck`: a
 * first strike waits for a second. `stale`: its balance can be read, and was not for too long; it refuses nobody.
 */
export type Overall = 'open' | 'struck' | 'locked' | 'exhausted' | 'stale';

/** The state in one word. `isRead`: its balance can be read. */
export function overallOf(state: CapacityState, isRead: boolean): Overall {
  if (state.locks.length > 0 || state.marks.some(({ key }) => key === '')) return 'locked';
  if (isEmptyAt(state)) return 'exhausted';
  if (state.strikes.length > 0) return 'struck';
  return isRead && (state.reading === null || state.reading.isStale) ? 'stale' : 'open';
}

/** A call that is asked about. */
export interface ExplainQuestion {
  readonly provider: string;
  /** null: any paid call, whatever its endpoint. */
  readonly endpointId: string | null;
  /** Labels that may serve it. */
  readonly accounts: readonly string[];
  readonly spendsBalance: boolean;
  /** Whether a call may go through as a probe: of an aggregator none does. */
  readonly isProbed: boolean;
}

/** Why it is refused. Times are epoch milliseconds of the object. */
export interface Cause {
  readonly kind: 'balance' | 'quota' | 'reading' | 'mark';
  /** The account that opens first; null for a mark. */
  readonly account: string | null;
  /** What a reset names. */
  readonly key: string;
  readonly lockId: string | null;
  readonly firstStrikeAtMs: number | null;
  readonly sinceMs: number | null;
  /** null: nobody says. */
  readonly untilMs: number | null;
  /** Whether the vendor named the end; false: it is guessed. */
  readonly isStated: boolean;
  /** Who is the probe now. */
  readonly probe: ProbeState | null;
  /** From when on the next call goes through as the probe; null: none does. */
  readonly nextProbeAtMs: number | null;
}

/** Why a catalog row is refused now, or that it is not. */
export interface Explanation {
  /** null: it is not refused. */
  readonly cause: Cause | null;
  /** Accounts that may serve it now. */
  readonly open: readonly string[];
  readonly summary: string;
}

/** Whether that call would be refused now, and why. */
export function explain(state: CapacityState, question: ExplainQuestion): Explanation {
  const { open, out } = standingOf(viewOf(state), 0, {
    ...question,
    endpointId: question.endpointId ?? '',
  });
  const found = markOf(state, question) ?? (out === null ? null : causeOf(state, out));
  const cause = found === null || question.isProbed ? found : { ...found, nextProbeAtMs: null };
  const sentences = cause === null ? [notRefused(question, open)] : refusal(state, cause);
  const summary = [...sentences, ...asides(state, question, cause)].join(' ');
  return { cause, open: cause === null ? open : [], summary };
}

/** The state as an isolate would see it now. */
export function viewOf(state: CapacityState): CapacityView {
  const { nowMs, locks, strikes, reading, marks } = state;
  return {
    locks: locks.map(({ key, id, kind, sinceMs, untilMs, isStated, nextProbeAtMs }) => ({
      key,
      id,
      kind,
      sinceAgoMs: nowMs - sinceMs,
      endsInMs: untilMs - nowMs,
      nextProbeInMs: Math.max(0, nextProbeAtMs - nowMs),
      isStated,
    })),
    strikes: strikes.map(({ key, atMs }) => ({ key, agoMs: nowMs - atMs })),
    reading: reading === null ? null : readingViewOf(state, reading),
    marks: marks.map(({ key, reason, untilMs }) => ({ key, reason, endsInMs: untilMs - nowMs })),
  };
}

function readingViewOf(
  state: CapacityState,
  { observedAtMs, resetsAtMs, nextProbeAtMs }: NonNullable<CapacityState['reading']>,
): NonNullable<CapacityView['reading']> {
  const { nowMs } = state;
  return {
    observedAtMs,
    resetsAtMs,
    state: isEmptyAt(state) ? 'exhausted' : 'ok',
    endsInMs: resetsAtMs === null ? null : Math.max(0, resetsAtMs - nowMs),
    nextProbeInMs: Math.max(0, nextProbeAtMs - nowMs),
  };
}

/** Whether the sweep's reading refuses. */
function isEmptyAt({ reading, nowMs }: CapacityState): boolean {
  if (reading === null || reading.state !== 'exhausted') return false;
  if (reading.isLifted || reading.isStale) return false;
  return reading.resetsAtMs === null || nowMs < reading.resetsAtMs;
}

/** An aggregator that is left alone, or one vendor at it. */
function markOf({ marks }: CapacityState, question: ExplainQuestion): Cause | null {
  const mark = marks.find(({ key }) => key === '' || key === question.endpointId);
  if (mark === undefined) return null;
  return {
    kind: 'mark',
    account: null,
    key: mark.key,
    lockId: null,
    firstStrikeAtMs: null,
    sinceMs: null,
    untilMs: mark.untilMs,
    isStated: false,
    probe: null,
    nextProbeAtMs: null,
  };
}

function causeOf({ locks, reading }: CapacityState, out: Out): Cause | null {
  const { account, kind } = out;
  const lock = locks.find(({ id }) => id === out.lockId);
  if (lock !== undefined) return { ...lock, kind, account, lockId: lock.id };
  if (reading === null) return null;
  return {
    kind,
    account,
    key: 'reading',
    lockId: out.lockId,
    firstStrikeAtMs: null,
    sinceMs: reading.observedAtMs,
    untilMs: reading.resetsAtMs,
    isStated: reading.resetsAtMs !== null,
    probe: reading.probe,
    nextProbeAtMs: reading.nextProbeAtMs,
  };
}

// ── text ──

/** `2030-01-01 00:00:00Z` */
const at = (ms: number): string =>
  new Date(ms)
    .toISOString()
    .replace('T', ' ')
    .replace(/\.\d+Z$/, 'Z');

const named = ({ provider, endpointId }: ExplainQuestion): string =>
  endpointId === null ? `${provider}, any endpoint` : endpointId;

const notRefused = (question: ExplainQuestion, open: readonly string[]): string =>
  `${named(question)}: not refused. Calls go out on ${open.join(', ')}.`;

function refusal(state: CapacityState, cause: Cause): readonly string[] {
  if (cause.kind === 'mark') {
    const reason = state.marks.find(({ key }) => key === cause.key)?.reason ?? '';
    const whom = cause.key === '' ? 'everything here' : cause.key;
    return [
      `Refused until ${at(cause.untilMs ?? state.nowMs)}: ${whom} is left alone (${reason}). No probe goes through.`,
    ];
  }
  return [sinceText(cause), endText(cause), probeText(state, cause)];
}

function sinceText({ kind, account, key, sinceMs, firstStrikeAtMs }: Cause): string {
  const since = at(sinceMs ?? 0);
  if (kind === 'reading')
    return `Refused since ${since}: the sweep read an empty balance of account ${account}.`;
  const what = kind === 'balance' ? 'has no money left' : 'has used up its allowance';
  return `Refused since ${since}: the vendor said at ${at(firstStrikeAtMs ?? 0)} and again at ${since} that account ${account} ${what} (lock ${key}).`;
}

function endText({ untilMs, isStated }: Cause): string {
  if (untilMs === null) return 'It lasts until a sweep reads something else.';
  if (isStated) return `It ends at ${at(untilMs)}, as the vendor said.`;
  return `It ends at ${at(untilMs)}: a guess, the vendor named no time.`;
}

function probeText({ nowMs }: CapacityState, { probe, nextProbeAtMs }: Cause): string {
  if (nextProbeAtMs === null) return 'No probe goes through.';
  const next =
    nextProbeAtMs <= nowMs
      ? 'The next call goes through as the probe'
      : `The first call from ${at(nextProbeAtMs)} on goes through as the probe`;
  const rule = `one in ${probeIntervalMs / 1_000} s over all isolates; its 2xx reopens the account`;
  if (probe === null) return `${next} (${rule}).`;
  return `Call ${probe.callId} has been the probe since ${at(probe.grantedAtMs)} and has not come back. ${next} (${rule}).`;
}

/** What else a person should know, whether it is refused or not. */
function asides(
  state: CapacityState,
  question: ExplainQuestion,
  cause: Cause | null,
): readonly string[] {
  const also = cause === null ? 'Locked, but not for this call' : 'Locked as well';
  const others = state.locks.filter(({ id }) => id !== cause?.lockId).map(({ key }) => key);
  const waiting = state.strikes.map(
    ({ key, kind, atMs }) =>
      `One ${kind} strike on ${key} at ${at(atMs)} waits for a second one until ${at(atMs + strikeWindowMs)}.`,
  );
  return [
    ...(others.length === 0 ? [] : [`${also}: ${others.slice(0, 10).join(', ')}.`]),
    ...waiting.slice(0, 3),
    ...readingAside(state, question),
  ];
}

function readingAside(
  { reading }: CapacityState,
  { spendsBalance }: ExplainQuestion,
): readonly string[] {
  if (reading === null) return [];
  const when = at(reading.observedAtMs);
  if (reading.isStale) return [`The reading of ${when} is too old: it refuses nobody.`];
  if (reading.state === 'ok') return [];
  if (reading.isLifted)
    return [`The empty reading of ${when} was lifted: a call has succeeded since.`];
  return spendsBalance ? [] : ['A free endpoint is not refused for an empty balance.'];
}
