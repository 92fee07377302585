/**
 * Limits of capacity: signatures, breaker, spacer, accounts, sweep, overflow. The rules of limits.ts hold here too: a name, a unit, a
 * reason, a test. Called by whoever bounds something of a vendor account.
 */
// ── signatures ──

/** Head of an answer's body that is looked at, bytes: every recorded dialect is shorter; longer ones are pages. */
export const capacityBodyHeadBytesMax = 16 * 1024;
/** A 429 that says to wait no longer than this is a burst, milliseconds (digest A12). */
export const capacityBurstWaitMsMax = 60_000;

// ── breaker ──

/** A second strike counts from here on, milliseconds: a burst of concurrent calls is one strike (digest A12). */
export const strikeSpacingMs = 15_000;
/** Until here a second strike finds the first, milliseconds (digest A12). */
export const strikeWindowMs = 600_000;
/** How long a lock holds when the vendor says nothing, milliseconds (digest A12). */
export const guessedHoldMs = 3_600_000;
/** Longest hold, whatever the vendor says, milliseconds (digest A12). */
export const capacityVendorHoldMsMax = 6 * 3_600_000;
/** One probe in so many milliseconds, over all isolates; the lease of a probe is as long (decisions section 5). */
export const probeIntervalMs = 60_000;
/** Oldest view that an isolate decides by, milliseconds (decisions section 3). */
export const capacityViewMsMax = 60_000;
/** From this age on a view is read again behind a call, milliseconds. */
export const capacityViewRefreshMs = 30_000;
/** Providers of which an isolate keeps a view: as many as a catalog may have, and the aggregators. */
export const capacityViewsMax = 600;
/** Locks, strikes and marks of one provider: all endpoints of a catalog with all accounts are fewer; beyond it the oldest strike goes. */
export const capacityKeysMax = 2_000;
/** How long an object may take for an answer that a call waits for, milliseconds; then the call goes on without it. */
export const capacityAnswerWaitMs = 500;
/** A repeated operation finds its first one for so long, milliseconds. */
export const capacityRepeatMs = 120_000;

// ── smoothing ──

/** Longest wait for a place in the order of sends, milliseconds; then the call proceeds (digest A12). */
export const spacerWaitMsMax = 2_000;
/** Added to a window so that sends whose journeys differ by so much still fit into it, milliseconds. */
export const spacerJitterMs = 100;
/** Largest declared limit: the window remembers that many sends. */
export const rateLimitMax = 10_000;
/** Longest declared window, milliseconds. */
export const rateWindowMsMax = 3_600_000;
/** Buckets of one provider: its endpoints with their accounts. */
export const rateBucketsMax = 2_000;
/** A burst is sent again once when it says to wait no longer, milliseconds (digest A12). */
export const resendWaitMsMax = 5_000;

// ── accounts ──

/** Accounts of one provider beside the primary. */
export const accountsMax = 16;

// ── sweep ──

/** A reading older than this says nothing, milliseconds (digest A12). */
export const readingStaleMs = 6 * 3_600_000;
/** How long one vendor's balance call may take, milliseconds: the next one is not behind it. */
export const collectorWaitMs = 10_000;
/** Largest answer of a balance call, bytes. */
export const collectorBodyBytesMax = 256 * 1024;
/** Balance calls of one sweep that are open at a time: the platform allows six connections, and some are for its objects. */
export const collectorsTogetherMax = 4;
/** A vendor's note, characters. */
export const snapshotNoteCharsMax = 200;

// ── overflow ──

/** Most that an aggregator's price may be, as a multiple of ours (digest A13). */
export const overflowRatioMax = 4;
/** Highest price of a route for an endpoint that is free here, micro-USD (digest A13). */
export const overflowFreeMicrosMax = 10_000;
/** A route that was not verified for so long is off, milliseconds (digest A13). */
export const overflowVerifiedMsMax = 7 * 24 * 3_600_000;
/** How long a failed aggregator, or a vendor at it, is left alone, milliseconds (digest A13). */
export const overflowMarkMs = 15 * 60_000;
/** Vendors whose envelopes were malformed within the mark's time that make it the aggregator's fault (decisions section 5). */
export const overflowMalformedVendorsMax = 3;
/** Questions after an asynchronous run (digest A13), and the wait between them, milliseconds. */
export const overflowPollsMax = 10;
export const overflowPollMs = 1_500;
/** Largest request body that is relayed in an envelope, bytes: it is text inside of JSON. */
export const overflowBodyBytesMax = 1024 * 1024;
/** Largest envelope that is read, bytes. */
export const overflowAnswerBytesMax = 8 * 1024 * 1024;
/** Dearest route that a verification pays for unless told otherwise, micro-USD (digest A13). */
export const overflowVerifyMicrosMax = 20_000;
/** Open reservations of one aggregator and day: the budget of 20 USD is fewer calls than that. */
export const overflowReservationsMax = 20_000;
