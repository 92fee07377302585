/**
 * Capacity: what is known of the operator's accounts at a provider, as the road asks it and tells it.
 * Promises: `standing` never waits and never refuses for want of news: a view is at most `capacityViewMsMax` old, refreshed behind a call;
 * without one, or when the object does not answer, everything is open (fails open, counted). Only a due probe and a declared rate wait.
 * Implemented by `adapters/durable/capacity-desk.ts`. An aggregator is the provider `overflow:<name>`.
 */
import type {
  CapacityState,
  CapacityView,
  OkOp,
  ProbeGrant,
  ProbeOp,
  Reading,
  SlotAnswer,
  SlotOp,
  StrikeOp,
} from '../domain/capacity/operations';
import type { LookupContext } from './catalog';
import type { Background } from './config';

/** A view and how old it is. */
export interface Standing {
  readonly view: CapacityView;
  /** Milliseconds since it was read: its durations count from then. */
  readonly ageMs: number;
}

/** The road's side. */
export interface Capacity {
  /** What this isolate knows; null: nothing yet (it is being read), or too old. */
  standing(provider: string, context: LookupContext): Standing | null;
  /** Whether this call is the probe. One question at a time per lock and isolate; no answer is a no. */
  probe(provider: string, op: ProbeOp, context: LookupContext): Promise<ProbeGrant | null>;
  /** The call was not sent: somebody else may be the probe at once. Off the call's path. */
  giveBackProbe(provider: string, grant: ProbeGrant, background: Background): void;
  /** A place in the order of sends; null: the object does not answer, the call goes at once. */
  take(provider: string, op: SlotOp): Promise<SlotAnswer | null>;
  /** The place of that call was not used. */
  giveBack(provider: string, id: string, background: Background): void;
  /** Off the call's path; the answer becomes this isolate's view. */
  strike(
    provider: string,
    op: Omit<StrikeOp, 'agoMs' | 'lastOkAgoMs'>,
    background: Background,
  ): void;
  /** The same; costs nothing unless a strike, a lock or a reading is known that it can clear. */
  ok(provider: string, op: Omit<OkOp, 'agoMs'>, background: Background): void;
  /** Not to be asked until `forMs` are over: `''` everything at this provider, or one vendor at an aggregator. */
  mark(
    provider: string,
    mark: {
      readonly id: string;
      readonly key: string;
      readonly reason: string;
      readonly forMs: number;
    },
    background: Background,
  ): void;
}

/** The sweep's and the operator's side. Each gives null when the object does not answer. */
export interface CapacityObjects {
  observe(provider: string, reading: Reading): Promise<true | null>;
  state(provider: string): Promise<CapacityState | null>;
  /** Clears locks, strikes, marks and the reading; `key` names one. Gives how many were cleared. */
  reset(provider: string, key: string | null): Promise<number | null>;
}
