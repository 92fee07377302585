/**
 * Operations and answers of a provider's capacity object, as they travel between isolate and object.
 * Promises: ids are made by the caller, repeating an operation changes nothing and gives what holds now; times are durations in
 * milliseconds (isolate and object have two clocks), but for those that the vendor or the sweep said.
 * Must never: carry a secret, a body or a URL. Read by the road, the sweep and `durable-objects/provider-capacity.ts`.
 */

/** Whose operation an answer was. `endpointId` is the catalog id. */
export interface CapacityPlace {
  readonly account: string;
  readonly endpointId: string;
}

/** An answer said that the account is out. */
export interface StrikeOp extends CapacityPlace {
  /** The call's id: one call strikes once. */
  readonly id: string;
  readonly kind: 'balance' | 'quota';
  /** Until the vendor's own reset, when it says one. */
  readonly resetsInMs: number | null;
  /** How long ago the answer came. */
  readonly agoMs: number;
  /** How long ago this isolate saw a 2xx of the same lock key; null: never, or longer than a strike lives. */
  readonly lastOkAgoMs: number | null;
}

/** A 2xx that matters, because a strike or a lock is known. */
export interface OkOp extends CapacityPlace {
  readonly id: string;
  /** A free route's 2xx says nothing of the balance: it clears only its own endpoint's quota (digest A12). */
  readonly spendsBalance: boolean;
  readonly agoMs: number;
  /** The probe that it was; null: an ordinary call, which clears strikes and never locks. */
  readonly probe: ProbeGrant | null;
}

/** Not to be asked for `forMs`, at most `capacityVendorHoldMsMax`: `''` everything at this provider, or one vendor at an aggregator. */
export interface MarkOp {
  readonly id: string;
  readonly key: string;
  readonly reason: string;
  readonly forMs: number;
}

/** Asks to be the one call that goes through a lock (or through a sweep's reading: `reading:<observedAtMs>`). */
export interface ProbeOp {
  /** The call's id. */
  readonly id: string;
  readonly lockId: string;
}

/** One call may go through. Its lease ends by itself. */
export interface ProbeGrant {
  readonly id: string;
  readonly lockId: string;
}

/** Asks for a place in the order of sends: the candidate that waits least, taken in the same step. */
export interface SlotOp {
  /** The call's id. */
  readonly id: string;
  /** At least one. `bucket` is what the rate is counted by: provider or endpoint, with `#label` as a lock key has. */
  readonly candidates: readonly { readonly account: string; readonly bucket: string }[];
  readonly rate: DeclaredRate;
  /** Longest wait; what would wait longer goes at once, without a place. */
  readonly waitMsMax: number;
  /** Whether a full window refuses. */
  readonly isEnforced: boolean;
  /** False: no spacing, only the window is asked (before a re-send). */
  readonly isSpaced: boolean;
}

/** A vendor's declared rate: at most `limit` sends in any `windowMs`. */
export interface DeclaredRate {
  readonly limit: number;
  readonly windowMs: number;
}

/** Answer to a {@link SlotOp}. */
export type SlotAnswer =
  | { readonly outcome: 'go'; readonly account: string; readonly waitMs: number }
  /** The window of every candidate is full and the bucket is enforced. */
  | { readonly outcome: 'refused'; readonly retryAfterMs: number };

/** An open lock. */
export interface LockView {
  readonly key: string;
  readonly id: string;
  readonly kind: 'balance' | 'quota';
  readonly sinceAgoMs: number;
  readonly endsInMs: number;
  /** 0: a probe may be asked for now. */
  readonly nextProbeInMs: number;
  /** Whether the vendor said when it ends. */
  readonly isStated: boolean;
}

/** The sweep's last reading of the primary account. */
export interface Reading {
  /** Epoch milliseconds; names the reading. */
  readonly observedAtMs: number;
  /** `stale`: the account could not be read; it refuses nobody, whatever was read before. */
  readonly state: 'ok' | 'exhausted' | 'stale';
  /** Epoch milliseconds of the vendor; null: until the next sweep proves otherwise. */
  readonly resetsAtMs: number | null;
}

/** A reading as an isolate sees it. Only one that is neither stale nor lifted is shown as exhausted. */
export interface ReadingView extends Reading {
  /** Until the vendor's reset, by the object's clock; null: it names none. */
  readonly endsInMs: number | null;
  readonly nextProbeInMs: number;
}

/** Somebody not to be asked for a while: an aggregator (`''`), or one vendor at it (its slug). */
export interface MarkView {
  readonly key: string;
  readonly reason: string;
  readonly endsInMs: number;
}

/** All that an isolate needs to decide without asking. */
export interface CapacityView {
  readonly locks: readonly LockView[];
  /** First strikes that wait for a second. */
  readonly strikes: readonly { readonly key: string; readonly agoMs: number }[];
  readonly reading: ReadingView | null;
  readonly marks: readonly MarkView[];
}

/** Answer to a {@link ProbeOp}: the view has the next time when it is a no. */
export interface ProbeAnswer {
  readonly granted: boolean;
  readonly view: CapacityView;
}

/** Who holds a probe. Times are epoch milliseconds of the object. */
export interface ProbeState {
  readonly callId: string;
  readonly grantedAtMs: number;
  readonly leaseUntilMs: number;
}

/** What an operator sees: the view, and who holds a probe. Times are epoch milliseconds of the object. */
export interface CapacityState {
  readonly nowMs: number;
  readonly locks: readonly {
    readonly key: string;
    readonly id: string;
    readonly kind: 'balance' | 'quota';
    readonly firstStrikeAtMs: number;
    readonly sinceMs: number;
    readonly untilMs: number;
    readonly isStated: boolean;
    readonly probe: ProbeState | null;
    readonly nextProbeAtMs: number;
  }[];
  readonly strikes: readonly {
    readonly key: string;
    readonly kind: 'balance' | 'quota';
    readonly atMs: number;
  }[];
  readonly reading:
    | (Reading & {
        readonly isLifted: boolean;
        readonly isStale: boolean;
        readonly probe: ProbeState | null;
        /** Only where the reading refuses. */
        readonly nextProbeAtMs: number;
      })
    | null;
  readonly marks: readonly {
    readonly key: string;
    readonly reason: string;
    readonly untilMs: number;
  }[];
  readonly buckets: readonly {
    readonly bucket: string;
    readonly queuedMs: number;
    readonly inWindow: number;
  }[];
}
