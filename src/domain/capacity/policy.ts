/**
 * Capacity policy: how an account is filled and where its balance can be read; what a sweep's reading means.
 * Promises: code never guesses what kind of account a provider has; pure. Called by the sweep and the operator's views.
 */
import { readingStaleMs } from '../../base/limits-capacity';
import type { BalanceCall } from '../catalog/balance';

/** What runs out. */
export type CapacityType = 'prepaid' | 'quota' | 'postpaid' | 'unlimited' | 'unknown';
/** How it is filled again. */
export type FundingMode = 'manual' | 'auto_topup' | 'subscription' | 'unknown';
/** Where a balance comes from. `dashboard`: the vendor publishes no meter (NO_BALANCE_API). */
export type BalanceSource = 'api' | 'dashboard' | 'unknown';
/** `stale`: no, failed or old reading; never refuses. `low`: below the policy's threshold, for people only. */
export type ReadingState = 'ok' | 'low' | 'exhausted' | 'stale';

/** What is known of an account; people may edit the stored one, code never does. */
export interface CapacityPolicy {
  readonly provider: string;
  readonly capacityType: CapacityType;
  readonly fundingMode: FundingMode;
  readonly source: BalanceSource;
  /** Micro-USD of one unit; null: no dollar figure is ever invented. */
  readonly usdPerUnitMicros: number | null;
  /** Units below which a person should act; null: nobody set it. */
  readonly lowRemaining: number | null;
  readonly overflowAllowed: boolean;
}

/** How the vendor sells; whether an account is topped up by itself is the operator's own setting there, so that it stays unknown. */
const known: Readonly<Record<string, readonly [CapacityType, FundingMode]>> = {
  anthropic: ['prepaid', 'unknown'],
  apify: ['quota', 'subscription'],
  brave: ['quota', 'subscription'],
  deepgram: ['prepaid', 'unknown'],
  elevenlabs: ['quota', 'subscription'],
  gemini: ['postpaid', 'unknown'],
  openai: ['prepaid', 'unknown'],
  openrouter: ['prepaid', 'unknown'],
  resend: ['quota', 'subscription'],
  scrapecreators: ['prepaid', 'unknown'],
  tikhub: ['prepaid', 'unknown'],
  'overflow:monid': ['prepaid', 'manual'],
  'overflow:orthogonal': ['prepaid', 'manual'],
};

/** Vendors whose calls no aggregator may serve (digest A13). */
const overflowBarred: ReadonlySet<string> = new Set(['scrapecreators', 'tikhub']);

/** The policy of an account that has none yet; null: a person must say what it is, code never guesses. */
export function defaultPolicy(
  provider: string,
  balance: BalanceCall | null,
): CapacityPolicy | null {
  const entry = Object.hasOwn(known, provider) ? known[provider] : undefined;
  if (entry === undefined) return null;
  const [capacityType, fundingMode] = entry;
  return {
    provider,
    capacityType,
    fundingMode,
    source: sourceOf(balance),
    usdPerUnitMicros: balance?.kind === 'call' && balance.unit === 'usd' ? 1_000_000 : null,
    lowRemaining: null,
    overflowAllowed: !overflowBarred.has(provider),
  };
}

/** Where the catalog says that a balance comes from. */
export function sourceOf(balance: BalanceCall | null): BalanceSource {
  if (balance === null) return 'unknown';
  return balance.kind === 'call' ? 'api' : 'dashboard';
}

/** What the meaning of a snapshot depends on. Times are epoch milliseconds. */
export interface SnapshotFacts {
  readonly observedAtMs: number;
  /** null: it was not read. */
  readonly remaining: number | null;
  readonly resetsAtMs: number | null;
  readonly confidence: 'exact' | 'estimated' | 'none';
  readonly error: string | null;
}

/**
 * What a snapshot says now (digest A12). Only an exact reading exhausts, until the vendor's reset or the next reading; without a
 * threshold of the policy nothing is low but what is used up by an estimate.
 */
export function readingOf(
  snapshot: SnapshotFacts | null,
  lowRemaining: number | null,
  nowMs: number,
): ReadingState {
  if (snapshot === null || snapshot.error !== null || snapshot.remaining === null) return 'stale';
  if (nowMs - snapshot.observedAtMs > readingStaleMs) return 'stale';
  const { remaining, resetsAtMs, confidence } = snapshot;
  if (remaining > 0) return lowRemaining !== null && remaining < lowRemaining ? 'low' : 'ok';
  if (confidence !== 'exact') return 'low';
  // What was empty has been filled since: nobody knows how far.
  return resetsAtMs !== null && resetsAtMs <= nowMs ? 'stale' : 'exhausted';
}
