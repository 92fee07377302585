/**
 * Every bound of the gateway: a name, a unit (last word of the name), a reason. A limit that is not here does not exist.
 * Must never: be read from input. Called by the stage, adapter or schema that enforces it.
 */

// ── the wire, request side ──

/** Request target, bytes. The deployed edge stops at 16 KB; a longer one cannot reach us there, so it is refused here too (414). */
export const urlBytesMax = 16 * 1024;
/** Sum of header names and values, bytes. Half of what the deployed edge accepts (128 KB), twice what vendors accept (431). */
export const headerBytesMax = 64 * 1024;
/** Distinct header names. Real clients send under 60; a scan costs time per header (431). */
export const headerCountMax = 256;
/** Declared or streamed request body, bytes: the platform's own limit on the common plans (413). */
export const requestBodyBytesMax = 100 * 1000 * 1000;
/** A body that a JSON binding has to hold in memory, bytes: an isolate has 128 MB for all its calls (413). */
export const jsonBindingBodyBytesMax = 8 * 1024 * 1024;
/** Wait for the whole of such a body, milliseconds: a caller that stalls must not hold the call for ever (400). */
export const jsonBindingBodyWaitMs = 60_000;
/** Nesting of a JSON body that we parse: deeper ones only exist to exhaust a stack (400). */
export const jsonDepthMax = 128;

// ── the wire, answer side ──

/** An error answer that is read whole so that masking sees every byte, bytes; a larger one is replaced (digest A5). */
export const errorBodyBytesMax = 8 * 1024 * 1024;
/** The same after decoding, bytes: a decompression bomb stops here. */
export const errorBodyDecodedBytesMax = 16 * 1024 * 1024;
/** What a call's evidence row keeps of a masked error body, bytes (digest A5: response head). */
export const evidenceBodyBytesMax = 8 * 1024;
/** Chunk of a tracked body, bytes: larger buffers cost memory, smaller ones cost a wake-up each. */
export const pumpChunkBytes = 64 * 1024;

// ── masking ──

/** Shortest secret that is masked, characters: three occur by chance in any text, so masking them would garble it and hide nothing. */
export const maskableSecretCharsMin = 4;
/** Encodings of one another that the re-check undoes (percent in JSON in base64 …): an echo has one or two. */
export const unwrapDepthMax = 4;
/** Characters that one re-check decodes, all views together: it bounds CPU and memory; beyond it the body counts as unsafe. */
export const unwrapCharsMax = 8 * 1024 * 1024;
/** Rounds of undoing every escape once: an echo is seldom escaped twice. */
export const normaliseRoundsMax = 3;

// ── waiting ──

/** Default wait for the first byte of an answer, milliseconds: long enough for a reasoning model, short enough to end. */
export const firstByteTimeoutDefaultMs = 120_000;
/** Longest configurable wait for the first byte, milliseconds. */
export const firstByteTimeoutMaxMs = 900_000;
/** Default silence of a tracked body before it counts as dead, milliseconds (digest B12: SSE idle). */
export const idleTimeoutDefaultMs = 300_000;
/** Longest configurable silence of a tracked body, milliseconds. */
export const idleTimeoutMaxMs = 900_000;

// ── isolate memory ──

/** Tenants whose configuration an isolate keeps; the least recently used goes first. */
export const tenantViewsMax = 500;
/** Cached look-ups (names, aliases, hosts; hits and misses) of one tenant: its share, so that one tenant cannot evict others. */
export const tenantLookupsMax = 2_000;
/** Access keys of one tenant that its view holds: its share. */
export const tenantKeysMax = 1_000;
/** Access keys recognised without hashing. */
export const keyCacheMax = 5_000;
/** Unknown keys remembered, in a cache of their own, so that guesses cannot evict real keys. */
export const unknownKeysMax = 2_000;
/** How long an unknown key is remembered, milliseconds. */
export const unknownKeyTtlMs = 10_000;
/** Pause between two sweeps of the recognised keys, milliseconds: a sweep reads them all. */
export const purgePauseMs = 1_000;
/** Opened secrets that an isolate holds. */
export const openedSecretsMax = 2_000;
/** How long the last good configuration serves while D1 does not answer, milliseconds (decisions section 3). */
export const staleConfigMaxMs = 300_000;
/** Pause between two tries of a failed configuration refresh, milliseconds. */
export const configRetryMs = 1_000;

// ── egress resolver ──

/** Resolved names that an isolate keeps. */
export const resolvedHostsMax = 2_000;
/** Shortest life of a resolver answer, milliseconds (issue 1: floor 30 s). */
export const resolverTtlFloorMs = 30_000;
/** Longest life of a resolver answer, milliseconds: a rebinding is noticed within it whatever TTL was declared. */
export const resolverTtlCeilingMs = 300_000;
/** Wait for the resolver, milliseconds; then the call is refused. */
export const resolverTimeoutMs = 3_000;
/** Addresses of one answer that are judged; more is a refusal, no vendor has so many. */
export const resolverAddressesMax = 64;
/** Bytes of a resolver answer that are read. */
export const resolverAnswerBytesMax = 64 * 1024;
/** Life of a failed look-up, milliseconds: long enough to absorb a burst, short enough that a recovered name works again. */
export const resolverFailureTtlMs = 5_000;
/** Host name without its root dot, characters (RFC 1035 section 2.3.4, RFC 1123 section 2.1). */
export const hostnameCharsMax = 253;
/** One label of a host name, characters (RFC 1035 section 2.3.4). */
export const hostnameLabelCharsMax = 63;
/** Text of an IP address, characters: eight groups, the last two spelled as IPv4. */
export const addressCharsMax = 45;
/** Alias of an upstream, characters: it is a host name most of the time (digest B4). */
export const aliasCharsMax = 253;
/** Exact host:port pairs of EGRESS_ALLOW: a development machine has a handful. */
export const egressAllowMax = 64;

// ── call log ──

/** Rows per batch; one D1 statement carries them as one JSON parameter. */
export const callLogBatchMax = 500;
/** Age of the oldest buffered row before a flush, milliseconds. */
export const callLogFlushMs = 1_000;
/** Rows that wait while the sink does not answer; beyond it the oldest are dropped and counted. */
export const callLogBufferMax = 5_000;
/** How long a call whose client left waits for its own row to be written, milliseconds: its upstream stays open as long. */
export const callLogHurryMs = 500;
/** Wait for one batch to be written, milliseconds; then it counts as not taken and is written again. */
export const callLogWriteTimeoutMs = 5_000;
/** A keeper that has not ticked for this long is gone with its context, milliseconds: the next call makes another. */
export const keeperLapseMs = 1_000;
/** Life of one keeper, milliseconds: `waitUntil` ends 30 s after the answer, so another request takes over before. */
export const keeperLifeMs = 15_000;
/** A call that is still open after this gets its own `waitUntil` and watchdog, milliseconds. */
export const custodyArmMs = 100;
/** How often the keeper looks at open calls and at the age of buffered rows, milliseconds. */
export const keeperTickMs = 100;
/** Largest error of the latency of a call whose client left before it was armed, milliseconds. */
export const custodyLatencyErrorMs = custodyArmMs + keeperTickMs;
/** A call that has not armed itself this long after it was woken has no context left, milliseconds: far beyond any delay of an event loop. */
export const callLapseMs = 3_000;
/** Calls deleted by one run of the retention job. */
export const retentionDeleteMax = 5_000;

// ── management ──

/** Depth of the tenant tree, root included (decisions section 1). */
export const tenantDepthMax = 16;
/** Rows of one page. */
export const pageSizeMax = 100;
/** Rows of one page when the caller does not say. */
export const pageSizeDefault = 50;
/** Body of a management request, bytes. */
export const managementBodyBytesMax = 256 * 1024;
/** Endpoints in one pool. */
export const poolEndpointsMax = 32;
/** Bindings of one upstream. */
export const bindingsMax = 16;
/** Routes of one upstream: matching reads them in order. */
export const routesPerUpstreamMax = 256;
/** Deny rules of one tenant: every call reads them. */
export const denyRulesPerTenantMax = 256;
/** Bytes of one secret value. */
export const secretBytesMax = 16 * 1024;
/** Names in one access list of a key. */
export const accessListMax = 256;
/** Re-wrapped data keys in one step of a master key rotation. */
export const rotationStepMax = 100;
/** Stacked content codings of an error body that are undone; more only exist to waste CPU. */
export const contentCodingsMax = 3;
/** Wait for the whole of an error body, milliseconds; then it is replaced. */
export const errorBodyWaitMs = 30_000;
/** Wait for one configuration read, milliseconds; then the store counts as not answering. */
export const configReadTimeoutMs = 3_000;
/** Unwrapped data keys that an isolate holds; one tenant has one or two. */
export const dataKeysHeldMax = 1_000;
/** Nesting of a management body: the deepest document of ours has five levels. */
export const managementJsonDepthMax = 16;
/** Names that people read (tenant, project, principal, key), characters. */
export const nameCharsMax = 128;
/** Names that stand in a path or a reference (upstream, secret), characters. */
export const slugCharsMax = 64;
/** Note of a deny rule, characters. */
export const noteCharsMax = 512;
/** Base path, route path, deny rule path, characters. */
export const pathCharsMax = 1_024;
/** Host as it is written in a registration, characters: a name, an address with brackets, a root dot. */
export const hostCharsMax = 256;
/** Header or field name, query name of a binding or list, characters. */
export const fieldNameCharsMax = 128;
/** Value of a header rule, format or constant of a binding, characters. */
export const fieldValueCharsMax = 4_096;
/** Edits of one kind in one direction of a header rule set: every call applies them. */
export const headerEditsMax = 32;
/** Names in one query allow-list. */
export const queryAllowlistMax = 64;
/** Tags of one upstream. */
export const tagsMax = 32;
/** Highest route priority; the lowest is its negative. */
export const routePriorityMax = 1_000_000;
/** Opaque cursor, characters: an id in base 64 with room to spare. */
export const cursorCharsMax = 128;
/** Field path in a refusal, characters: it repeats names that the caller made up. */
export const issuePathCharsMax = 200;
/** Issues in one refusal: the first ones are enough to act on. */
export const issuesMax = 32;

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
export const catalogEndpointsMax = 5_000;
/** Providers of the catalog: every isolate that uses it holds them whole, about 1 KB each. */
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
