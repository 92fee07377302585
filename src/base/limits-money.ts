/**
 * Limits of the metered road: ledger, idempotency, catalog, prices, journal. The rules of limits.ts hold here too: a name, a unit, a reason,
 * a test. Called by whoever bounds something of money.
 */
// ── ledger ──

/** Life of a hold without a renewal, milliseconds; its owner renews every third of it (decisions section 4). */
export const ledgerLeaseMs = 120_000;
/** How long after its end a hold still gives its first answers, milliseconds: a queue retries for a day at most. */
export const ledgerRepeatMs = 24 * 3_600_000 + ledgerLeaseMs;
/** One amount, micro-USD: a million dollars; more is a vendor's typing error, not a price. */
export const ledgerAmountMicrosMax = 1_000_000_000_000;
/** Ids that callers make (holds, grants, records, keys), characters: a prefix and a ULID with room to spare. */
export const ledgerIdCharsMax = 64;
/** Reason of a release, characters (digest A9: `provider_failed_503`). */
export const ledgerReasonCharsMax = 64;
/** Tags of one call (digest A9). */
export const ledgerTagPairsMax = 5;
/** A tag's dimension or value, characters. */
export const ledgerTagCharsMax = 128;
/** Budget dimensions of one tenant (digest A9). */
export const ledgerBudgetsMax = 3;
/** Values of one dimension that have a rule of their own. */
export const ledgerBudgetRulesMax = 256;
/** Values of one dimension that are counted at a time: a tag that is different on every call would fill the memory. */
export const ledgerBudgetValuesMax = 10_000;
/** A vendor's id of an asynchronous task, characters: ids are UUIDs or short paths; a longer one is no id. */
export const taskIdCharsMax = 512;
/** What is kept of a task's price and rule, characters of JSON: meters and paths of one catalog row. */
export const taskTermsCharsMax = 64 * 1024;
/** The longest life of an asynchronous task, milliseconds: money must not be held for weeks. */
export const taskDeadlineMsMax = 7 * 24 * 3_600_000;
/** First poll of a task after its submission, milliseconds; each later one waits `taskPollStepMs` longer (digest A15). */
export const taskPollFirstMs = 30_000;
export const taskPollStepMs = 10_000;
/** Longest wait between two polls that were answered, milliseconds. */
export const taskPollPauseMsMax = 60_000;
/** Waits after polls that failed, one after the other, milliseconds; the last one repeats. */
export const taskPollRetryMs = [120_000, 240_000, 480_000, 900_000] as const;
/** Who polls a task keeps others from it so long, milliseconds. */
export const taskPollLeaseMs = 60_000;
/** One poll, milliseconds: a state is a small answer. */
export const taskPollWaitMs = 15_000;
/** Tasks of one firing, and how many of them at a time: a minute's worth of polls. */
export const taskPollsMax = 500;
export const taskPollsTogetherMax = 6;
/** Ended tasks are remembered so long, milliseconds: their owner may still fetch what they made. */
export const taskKeptMs = 30 * 24 * 3_600_000;
/** Open holds of one tenant: beyond it its owners do not end what they place. */
export const ledgerOpenHoldsMax = 20_000;
/** Credit blocks of one tenant that still have money in them: burning reads them in order. */
export const ledgerBlocksMax = 1_000;
/** Operations of one object call: the callers of one isolate that waited together, and their settlements. */
export const ledgerBatchOpsMax = 512;
/** Object calls whose commit is not confirmed yet: a second of work on a slow disk; beyond it the object is busy. */
export const ledgerInFlightMax = 1_000;
/** When to try a busy ledger again, milliseconds. */
export const ledgerBusyRetryMs = 1_000;
/** Logged operations between two snapshots, at least: a start replays so many in 10 ms; it grows with the size of the state. */
export const ledgerSnapshotOpsMin = 4_000;
/** One row of a snapshot, characters: a row of an object ends at 2 MB. */
export const ledgerSnapshotPartChars = 512 * 1024;
/** Ended holds in one row: small enough to be read for one of them, large enough to cost a fraction of a page each. */
export const ledgerEndedPartMax = 500;
/** Holds that one alarm run expires, records that it sweeps; the next run follows at once. */
export const ledgerSweepMax = 500;
/** Log rows that one turn deletes. */
export const ledgerPruneRowsMax = 5_000;
/** Log rows of one outbox answer: one D1 batch. */
export const ledgerOutboxRowsMax = 500;
/** Waiting tasks that come with an outbox answer: what one firing polls; a parameter of D1 carries them. */
export const ledgerOutboxTasksMax = 500;
/** Log rows that one audit call replays: about a tenth of a second. */
export const ledgerAuditRowsMax = 20_000;
/** Longest delay that is added to an alarm, milliseconds: tenants that started together must not wake together. */
export const ledgerAlarmJitterMs = 2_000;
/** How long a closed review row is kept, milliseconds. */
export const ledgerReviewKeepMs = 30 * 86_400_000;

// ── idempotency records ──

/** Caller's idempotency key, characters (digest A10; longer: 400). */
export const recordKeyCharsMax = 200;
/** Scope of a key (principal and primary tag), characters. */
export const recordScopeCharsMax = 512;
/** Life of a record from its claim, milliseconds (decisions section 5). */
export const recordTtlMs = 24 * 3_600_000;
/** Body that the ledger keeps itself, bytes; a larger one is in R2 under `bodyRef`. */
export const recordInlineBodyBytesMax = 256 * 1024;
/** How long R2 may take for such a body, milliseconds: its caller waits for the answer meanwhile. Then it is not kept, or not found. */
export const replayBodyWaitMs = 10_000;
/** A recorded answer, bytes, wherever its body is (decisions section 5). */
export const recordAnswerBytesMax = 8 * 1024 * 1024;
/** All recorded answers of one tenant, bytes (decisions section 5; beyond it a new key is refused before the send). */
export const recordTenantBytesMax = 256 * 1024 * 1024;
/** What a record counts besides its headers and body, bytes: bounds the number of empty ones. */
export const recordOverheadBytes = 512;
/** Header names and values of a recorded answer, characters. */
export const recordHeaderCharsMax = 128 * 1024;

// ── catalog ──

/** Rows of the catalog: every isolate that uses it holds their headings, about 200 bytes each. */
export const catalogEndpointsMax = 10_000;
/** Providers of the catalog: jobs read all of them, about 1 KB each, and an isolate has a view of each that it calls. */
export const catalogProvidersMax = 500;
/** Whole rows that an isolate keeps; the least recently used goes first. */
export const catalogEntriesMax = 1_000;
/** Catalog id, characters: in base 64 it fits into a cursor. */
export const catalogIdCharsMax = 96;
/** Ids that a diagnosis suggests (issue 3: at most five). */
export const nearIdsMax = 5;
/** Edits between a mistyped id and what it may have meant: more is another word. */
export const nearIdEditsMax = 3;
/** Name of a member or a parameter that a refusal repeats, characters: the caller made it up. */
export const faultNameCharsMax = 64;
/** Names that a refusal repeats: the first ones are enough to act on. */
export const faultNamesMax = 8;
/** Levels of nesting of a body that an input contract reads: vendors' schemas end far above it. */
export const contractJsonDepthMax = 64;
/** Text that the catalog is searched for, characters. */
export const catalogQueryCharsMax = 100;

// ── prices, meters, streams ──

/** Text of a JSON path of the catalog, characters: the longest known has under 60. */
export const jsonPathCharsMax = 256;
/** Steps of a JSON path: each is one walk over what was selected. */
export const jsonPathStepsMax = 16;
/** Parsed paths that an isolate keeps: a catalog of a thousand endpoints has so many. */
export const jsonPathsKeptMax = 4_096;
/** Text of one number of a vendor, characters: a price with 30 decimals is a mistake of theirs. */
export const decimalCharsMax = 64;
/** Power of ten of such a number, either way: that of a double and no more, since the sums are exact. */
export const decimalExponentMax = 330;
/** Rows of a price table: matching reads them in order. */
export const priceRowsMax = 64;
/** Meters of one usage cost; every event of a stream is looked through for each. */
export const metersMax = 16;
/** One event of a metered stream, bytes, that is held to be read; a larger one passes unread and is counted. */
export const sseEventBytesMax = 1024 * 1024;
/** Block that the tap of a stream keeps between events, bytes: most events are smaller, and a large one must not stay. */
export const byteBufferKeptMax = 64 * 1024;
/** Page size of a quota row where the vendor's is not declared, rows (digest A9). */
export const quotaPageDefault = 20;
/** Largest page of a quota row where the vendor's is not declared, rows (digest A9). */
export const quotaPageMax = 100;
/** Rows of all entities of one quota call (digest A9). */
export const quotaRowsMax = 10_000;
/** Body of a metered call with an idempotency key, bytes: its fingerprint needs all of it (decisions section 5; 413). */
export const keyedBodyBytesMax = 1024 * 1024;
/** `X-Weir-Meta`, characters: five pairs of the longest tags with separators and spaces. */
export const metaCharsMax = 2_048;

// ── ledger, the isolate's side ──

/** Ledger tenants that an isolate has a desk for; beyond it, and when none of them is idle, a new one is told `ledger_busy`. */
export const ledgerDesksMax = 2_000;
/** Idle desks that one look for a free place passes, oldest first: the rest of a full isolate is busy too. */
export const ledgerDeskScanMax = 16;
/** Callers of one tenant that wait in one isolate: two batches, two or three object calls. */
export const ledgerWaitersMax = 1_000;
/** Callers of one object call; the rest of `ledgerBatchOpsMax` is for the settlements that ride along, so that neither starves the other. */
export const ledgerBatchCallersMax = 384;
/** Callers of one object call that have an idempotency claim: a replay answers up to 384 KiB, and an RPC message ends at 32 MiB. */
export const ledgerBatchClaimsMax = 64;
/** Recorded bodies and headers in one object call, bytes: the same message limit, in the other direction. */
export const ledgerBatchBytesMax = 8 * 1024 * 1024;
/** Callers, riders and last callers of a desk above which a leader gathers: four calls in flight make about so many, three do not. */
export const ledgerCrowdMin = 6;
/** How long a leader of a crowd gathers before it sends, milliseconds: the smallest timer (`../hot-path.md`). */
export const ledgerGatherMs = 1;
/** How long one caller carries the batches of others, milliseconds: its `waitUntil` ends 30 s after its answer. */
export const ledgerLeadMs = 1_000;
/** How long a follower waits before it looks whether somebody still leads, milliseconds; a leader that is silent for so long is gone. */
export const ledgerFollowMs = 2_000;
/** Looks of one follower; then its answer is `ledger_unavailable`. */
export const ledgerFollowLooksMax = 4;
/** How long a called heir has to take the lead, milliseconds: its context may have died with its client. */
export const ledgerHeirMs = 100;
/** Wait for one batch, both tries together, milliseconds: far beyond a start of the object on the other side of the world. */
export const ledgerCallTimeoutMs = 4_000;
/** Age of the oldest settlement that waits for company, milliseconds (decisions section 3). */
export const ledgerFlushMs = 250;
/** Settlements that are sent without waiting for company (decisions section 3). */
export const ledgerFlushOpsMin = 64;
/** Life of one flusher, milliseconds: another call takes over long before its `waitUntil` ends. */
export const ledgerFlusherLifeMs = 5_000;
/** A flusher that is so late is gone with its context, milliseconds: the next settlement makes another. */
export const ledgerFlusherLapseMs = 1_000;
/** How often a flusher looks for the end of somebody else's object call, milliseconds. */
export const ledgerFlusherTickMs = 10;
/** Settlements of one tenant that wait in one isolate while its object does not answer; beyond it the oldest go and are counted. */
export const ledgerEndsMax = 10_000;
/** Pause between two tries to deliver settlements that nobody took, milliseconds. */
export const ledgerEndsRetryMs = 1_000;
/** Wait for one message to the queue of settlements, milliseconds: a waiting `waitUntil` has other things to do. */
export const settlementsSendTimeoutMs = 3_000;
/** Operations of one message of the queue, and their estimated size, bytes: a message ends at 128 KB. */
export const settlementsMessageOpsMax = 100;
export const settlementsMessageBytesMax = 96 * 1024;
/** First delay before a queue message that the ledger did not take comes again, seconds; it doubles up to the longest one. */
export const settlementsRetryS = 30;
/** Longest such delay, seconds: 95 tries take 23 hours, and an object remembers an ended hold for a day. */
export const settlementsRetryMaxS = 900;

// ── journal: D1's copy of the ledgers' logs ──

/** Ledgers whose journal one run of the job copies; the rest come first in the next run. */
export const journalLedgersMax = 50;
/** Outboxes that one run reads of one ledger: a tenant with a backlog must not keep the others waiting. */
export const journalOutboxesMax = 20;
/** D1 batches of two statements that one run writes, give or take those of one outbox: an event of the platform may make a thousand queries. */
export const journalWritesMax = 400;
/** Ledgers in a row whose rows D1 did not take: then it is D1, and the run ends. */
export const journalFailuresMax = 3;
/** Text of one JSON parameter that carries journal rows, characters: a D1 value ends at 2 MB. */
export const journalJsonCharsMax = 700_000;
/** Text of the rows of one outbox answer, characters: an RPC message ends at 32 MiB. */
export const ledgerOutboxCharsMax = 4 * 1024 * 1024;

// ── ledger, seen from the management API ──

/** Entries of one page: whole rows of the log, of which one can hold a batch of 512. */
export const ledgerEntriesPageMax = 1_000;
/** Steps of one audit request: a million rows and some seconds of the object; the next request goes on. */
export const ledgerAuditStepsMax = 50;
/** Rows of D1's copy that one audit request replays: some seconds; a longer copy is audited offline. */
export const ledgerCopyRowsMax = 20_000;
/** Rows of one read of the copy: a row of a full batch has 50 KB. */
export const ledgerCopyPageRows = 200;

// ── the metered road ──

/** Bytes of a metered request body that a rule or a price reads: it is held whole in the isolate. */
export const meteredBodyBytesMax = 8 * 1024 * 1024;
/** Bytes of a metered answer that is read whole before its headers go out (digest A16). */
export const meteredAnswerBytesMax = 8 * 1024 * 1024;
/** How long a metered answer may take from its headers to its end, ms: the longest first-byte timeout. */
export const meteredAnswerWaitMs = 900_000;
/** How often the owner of an open hold renews its lease, ms: three times in a lease (decisions section 4). */
export const holdRenewMs = 40_000;
/** How long a vendor's answer is waited for when its client has left, ms: the platform keeps a context for 30 s. */
export const drainMs = 28_000;
