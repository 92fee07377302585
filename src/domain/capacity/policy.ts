/**
 * Capacity policy: how an account is filled and where its balance can be read; what a sweep's reading means.
 * Promises: code never guesses what kind of account a provider has; pure. Called by the sweep and the operator's views.
 */

/** What runs out. */
export type CapacityType = 'prepaid' | 'quota' | 'postpaid' | 'unlimited' | 'unknown';
/** How it is filled again. */
export type FundingMode = 'manual' | 'auto_topup' | 'subscription' | 'unknown';
/** Where a balance comes from. `dashboard`: the vendor publishes no meter (NO_BALANCE_API). */
export type BalanceSource = 'api' | 'dashboard' | 'unknown';
/** `stale`: no, failed or old reading; never refuses. `low`: below the policy's threshold, for people only. */
export type ReadingState = 'ok' | 'low' | 'exhausted' | 'stale';
