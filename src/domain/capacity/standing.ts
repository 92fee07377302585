/**
 * Standing: what a capacity view says of one call: which accounts may serve it, and if none may, what ends that soonest.
 * Promises: pure; the view's durations count down by its age, so a lock that has ended since refuses nobody; a reading that is stale,
 * lifted or `ok` refuses nobody; a free route knows only its own endpoint's quota lock (digest A12).
 * Called by the road before any hold, and by the proof breaker-model.
 */
import { readingId } from './breaker';
import type { CapacityView } from './operations';
import { lockKey, primaryAccount } from './signal';

/** What is asked. `endpointId` is the catalog id; `accounts` are the labels that may serve the call. */
export interface StandingQuestion {
  readonly provider: string;
  readonly endpointId: string;
  readonly accounts: readonly string[];
  readonly spendsBalance: boolean;
}

/** Why no account is open: of the account that may be probed soonest, the lock that may be. */
export interface Out {
  readonly account: string;
  readonly lockId: string;
  readonly kind: 'balance' | 'quota' | 'reading';
  /** Until that account is free of all that locks it, milliseconds; null: nobody says. */
  readonly resetsInMs: number | null;
  /** Until a call may ask to be its probe, milliseconds; 0: now. */
  readonly probeInMs: number;
}

/** `open`: the accounts that may be used now, in the order of the question; `out`: null as long as there is one. */
export interface AccountsStanding {
  readonly open: readonly string[];
  readonly out: Out | null;
}

/** What the view says. `ageMs`: how long ago it was read. */
export function standingOf(
  view: CapacityView,
  ageMs: number,
  question: StandingQuestion,
): AccountsStanding {
  if (view.locks.length === 0 && view.reading?.state !== 'exhausted') {
    return { open: question.accounts, out: null };
  }
  const open: string[] = [];
  let out: Out | null = null;
  for (const account of question.accounts) {
    const why = outOf(account, [
      ...locksOf(view, ageMs, { ...question, account }),
      ...readingOf(view, ageMs, { ...question, account }),
    ]);
    if (why === null) open.push(account);
    else if (out === null || isSooner(why, out)) out = why;
  }
  return open.length > 0 ? { open, out: null } : { open, out };
}

interface OneAccount extends StandingQuestion {
  readonly account: string;
}

function locksOf({ locks }: CapacityView, ageMs: number, one: OneAccount): Out[] {
  if (locks.length === 0) return [];
  const quotaKey = lockKey('quota', one);
  const balanceKey = one.spendsBalance ? lockKey('balance', one) : null;
  return locks
    .filter(({ key, endsInMs }) => endsInMs > ageMs && (key === quotaKey || key === balanceKey))
    .map(({ id, kind, endsInMs, nextProbeInMs }) => ({
      account: one.account,
      lockId: id,
      kind,
      resetsInMs: endsInMs - ageMs,
      probeInMs: Math.max(0, nextProbeInMs - ageMs),
    }));
}

/** The sweep reads the primary account only. */
function readingOf({ reading }: CapacityView, ageMs: number, one: OneAccount): Out[] {
  if (reading?.state !== 'exhausted' || !one.spendsBalance || one.account !== primaryAccount)
    return [];
  const { endsInMs, nextProbeInMs } = reading;
  if (endsInMs !== null && endsInMs <= ageMs) return [];
  return [
    {
      account: one.account,
      lockId: readingId(reading),
      kind: 'reading',
      resetsInMs: endsInMs === null ? null : endsInMs - ageMs,
      probeInMs: Math.max(0, nextProbeInMs - ageMs),
    },
  ];
}

/** All that locks one account as one answer: the lock to probe first, and the end of the last. */
function outOf(account: string, whys: readonly Out[]): Out | null {
  const [head, ...rest] = whys;
  if (head === undefined) return null;
  return rest.reduce<Out>(
    (soonest, why) => ({
      ...(isSooner(why, soonest) ? why : soonest),
      account,
      resetsInMs:
        why.resetsInMs === null || soonest.resetsInMs === null
          ? null
          : Math.max(why.resetsInMs, soonest.resetsInMs),
    }),
    head,
  );
}

const isSooner = (a: Out, b: Out): boolean =>
  a.probeInMs === b.probeInMs
    ? (a.resetsInMs ?? Number.POSITIVE_INFINITY) < (b.resetsInMs ?? Number.POSITIVE_INFINITY)
    : a.probeInMs < b.probeInMs;
