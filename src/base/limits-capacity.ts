/**
 * Limits of capacity: signatures, breaker, spacer, accounts, sweep, overflow. The rules of limits.ts hold here too: a name, a unit, a
 * reason, a test. Called by whoever bounds something of a vendor account.
 */
// ── signatures ──

/** Head of an answer's body that is looked at, bytes: every recorded dialect is shorter; longer ones are pages. */
export const capacityBodyHeadBytesMax = 16 * 1024;
/** A vendor's own error text, characters: what comes later in a field, or in a longer plain text, is an echo or a page. */
export const capacityErrorCharsMax = 1_000;
/** What is looked through of a request for a phrase that its answer may only repeat, characters. */
export const capacityRequestCharsMax = 64 * 1024;
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
/** Operations of one provider that are remembered for a repeat; beyond it the oldest goes. */
export const capacityRepeatsMax = 4_000;
/** Longest delay that is added to an object's alarm, milliseconds. */
export const capacityAlarmJitterMs = 2_000;
/** How long an object may take for what no call waits for, milliseconds: its start on the other side of the world. */
export const capacityTellWaitMs = 4_000;
/** After a question without an answer none is asked for so long, milliseconds. */
export const capacityAskAgainMs = 5_000;
/** Lock keys of which an isolate remembers the last 2xx. */
export const capacityOksMax = 2_000;

// ── smoothing ──

/** Longest wait for a place in the order of sends, milliseconds; then the call proceeds (digest A12). */
export const spacerWaitMsMax = 2_000;
/** Added to a window so that sends whose journeys differ by so much still fit into it, milliseconds. */
export const spacerJitterMs = 250;
/** Largest declared limit: the window remembers that many sends. */
export const rateLimitMax = 10_000;
/** Longest declared window, milliseconds. */
export const rateWindowMsMax = 3_600_000;
/** Shortest enforced window whose sends are written, milliseconds: a shorter one has passed before a quiet object is evicted. */
export const keptWindowMsMin = 5_000;
/** Buckets of one provider: its endpoints with their accounts. */
export const rateBucketsMax = 2_000;
/** Places of one provider that are remembered for a repeat or to be given back; beyond it the oldest goes. */
export const ratePlacesMax = 20_000;
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
/** How long a balance reading is kept, milliseconds: a year can be compared with the one before it, by the month. */
export const snapshotRetentionMs = 400 * 86_400_000;
/** How long a sweep starts new balance calls, milliseconds: the platform ends an hourly Cron after 15 minutes. */
export const sweepMsMax = 600_000;
/** A sweep that did not end by then has died, milliseconds; a second one may start. */
export const sweepLeaseMs = 900_000;
/** Providers that a sweep by hand may be asked for by name. */
export const sweepOnlyMax = 50;

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
/** Refused or returned reservations that are remembered, so that a repeat gives the same answer. */
export const overflowRepeatsMax = 1_000;
/** Days of totals that an aggregator's budget keeps. */
export const overflowDaysMax = 40;
/** Largest daily budget of one aggregator, USD: a typing error must not be a blank cheque. */
export const overflowBudgetUsdMax = 100_000;
/** How long a budget object may take, milliseconds; then nothing is sent through its aggregator. */
export const overflowBudgetWaitMs = 2_000;
/** Paths of a body's shape, and how deep it is looked into: two answers of one operation differ earlier. */
export const overflowShapePathsMax = 2_000;
export const overflowShapeDepthMax = 32;
/** Enabled routes that an isolate keeps: as many as the catalog may have operations worth it. */
export const overflowRoutesMax = 10_000;
/** Oldest list of routes that a call uses without asking, and the age from which it is read again behind one, milliseconds (digest A13). */
export const overflowRoutesMsMax = 60_000;
export const overflowRoutesRefreshMs = 30_000;

// ── metrics ──

/** Objects that hold the totals: an isolate writes to one, a scrape reads all. */
export const metricsShardsMax = 4;
/** Least time between two reports of an isolate, milliseconds: many calls are one report (decisions section 3: every 10 s at most). */
export const metricsReportMs = 5_000;
/** Wait for an object to take a report or to give its totals, milliseconds; a report that is not taken is dropped and counted. */
export const metricsAnswerWaitMs = 2_000;
/** How long totals stay in an object's memory before they are written, milliseconds: one row for many reports. */
export const metricsWriteMs = 5_000;
/** Isolates of which an object knows the last report: what is repeated by one of them counts once. */
export const metricsReportersMax = 2_000;
/** Names of vendors and aggregators that have a label of their own; the rest is `other`. */
export const metricsNamesMax = 500;
/** Series of one object: more than all labels with all names can make, so that nothing grows without end. */
export const metricsSeriesMax = 10_000;
/** Rows of one D1 read or write of the overflow jobs. */
export const overflowStoreRowsMax = 500;
/** Largest catalog of an aggregator that is read, bytes: it is parsed in an isolate of 128 MB. */
export const overflowCatalogBytesMax = 16 * 1024 * 1024;
/** Routes that one firing of the weekly verification visits: each asks D1 three times, and an event of the platform may ask a thousand times. */
export const overflowVerifyRoutesMax = 300;
/** The same of one request by hand. */
export const overflowVerifyStepMax = 20;
/** Routes that are verified at a time: the platform allows six connections, and some are for its objects. */
export const overflowVerifyTogetherMax = 4;
/** After so long a verification begins no further route, milliseconds: a scheduled event has fifteen minutes. */
export const overflowVerifyMsMax = 600_000;
/** Lease of an overflow job, milliseconds: the longest event, so that the next one never waits for a dead one. */
export const overflowLeaseMs = 900_000;
/** Operations of an aggregator's catalog that one sync reads. */
export const overflowOffersMax = 50_000;
/** How long an aggregator may take for one answer, milliseconds; the hold of a run is renewed meanwhile. */
export const overflowAnswerWaitMs = 30_000;
