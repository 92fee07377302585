/**
 * Every bound of the gateway: a name, a unit (last word of the name), a reason. A limit that is neither here nor in limits-money.ts does not exist.
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
/** How much larger a body that came encoded may become, times: beyond it is a bomb (decisions section 5). */
export const bodyExpansionMax = 100;
/** A body that a JSON binding has to hold in memory, bytes: an isolate has 128 MB for all its calls (413). */
export const jsonBindingBodyBytesMax = 8 * 1024 * 1024;
/** Wait for the whole of such a body, milliseconds: a caller that stalls must not hold the call for ever (400). */
export const jsonBindingBodyWaitMs = 60_000;
/** What the runtime takes of a body that nobody reads, bytes; beyond it it resets the connection of whoever is still sending. */
export const unreadBodyBytesMax = 64 * 1024;
/** Silence of a refused upload that is taken to its end, milliseconds: its sender may be waiting for the refusal. */
export const refusedBodyStallMs = 1_000;
/** Time that a refused upload may take, milliseconds: as long as servers linger for theirs; then it is refused in its middle. */
export const refusedBodyWaitMs = 30_000;
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
/** Shortest text that is looked for in the NAMES of headers, characters: keys are longer, and no word that a name is made of must take it away. */
export const maskableNameCharsMin = 16;
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
/** Slowest upload that a wait for an answer makes room for, bytes a second: a phone at the edge of its network. 100 MB get 13 minutes more. */
export const uploadBytesPerSecondMin = 128 * 1024;
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

/** Rows per batch. */
export const callLogBatchMax = 500;
/** Text of one JSON parameter that carries rows, characters of three bytes at most: a D1 value ends at 2 MB. */
export const callLogJsonCharsMax = 600_000;
/** The same of one message of the queue, which ends at 128 KB. A row has 90,000 at most, and those are ASCII. */
export const callLogMessageCharsMax = 40_000;
/** Messages in one send: together they end at 256 KB. */
export const callLogMessagesMax = 2;
/** Age of the oldest buffered row before a flush, milliseconds. */
export const callLogFlushMs = 1_000;
/** Rows that wait while the sink does not answer; beyond it the oldest are dropped and counted. */
export const callLogBufferMax = 5_000;
/** Paths and error texts of those rows, characters: a caller can make each of them 24 KB, and an isolate has 128 MB for everything. */
export const callLogBufferCharsMax = 8 * 1024 * 1024;
/** How long a call whose client left waits for its own row to be written, milliseconds: its upstream stays open as long. */
export const callLogHurryMs = 500;
/** Wait for one batch to be written, milliseconds; then it counts as not taken and is written again. */
export const callLogWriteTimeoutMs = 5_000;
/** A keeper that has not ticked for this long is gone with its context, milliseconds: the next call makes another. */
export const keeperLapseMs = 1_000;
/** Life of one keeper, milliseconds: `waitUntil` ends 30 s after the answer, so another request takes over before. */
export const keeperLifeMs = 15_000;
/** How much longer one stays for calls that died just before its end, milliseconds: they lapse within `callLapseMs`, give or take its ticks. */
export const keeperRestMs = 4_000;
/** A call that is still open after this gets its own `waitUntil` and watchdog, milliseconds. */
export const custodyArmMs = 100;
/** How often the keeper looks at open calls and at the age of buffered rows, milliseconds. */
export const keeperTickMs = 100;
/** Largest error of the latency of a call whose client left before it was armed, milliseconds. */
export const custodyLatencyErrorMs = custodyArmMs + keeperTickMs;
/** A call that has not armed itself this long after it was woken has no context left, milliseconds: far beyond any delay of an event loop. */
export const callLapseMs = 3_000;
/** Rows deleted by one run of a retention job: calls, or balance readings. */
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
/** Opaque cursor, characters: the longest names of a row in base 64, which are those of an overflow route, with room to spare. */
export const cursorCharsMax = 256;
/** Field path in a refusal, characters: it repeats names that the caller made up. */
export const issuePathCharsMax = 200;
/** Issues in one refusal: the first ones are enough to act on. */
export const issuesMax = 32;
