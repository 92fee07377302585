/**
 * Every refusal on the wire: a problem document with the members that a client needs, texts without
 * holes, Retry-After where trying again is all there is to do.
 */
import { describe, expect, it } from 'vitest';
import type { InputFault } from '../../../src/domain/catalog/input-contract';
import type { Refusal, RefusalCode } from '../../../src/domain/refusal';
import { problemResponse } from '../../../src/http/problem';
import type { RefusalRow } from '../../../src/http/refusal-row';
import { refusalTable } from '../../../src/http/refusal-table';

const resetsAtMs = Date.UTC(2030, 0, 2);
const resetsAt = '2030-01-02T00:00:00.000Z';
const other = { id: 'b.search', access: 'account', guideMicros: 5 } as const;
const otherWire = { id: 'b.search', access: 'account', guide_micros: 5 };

/** The refusals of the catalog, of money and of idempotency, with the members that each must have. */
const examples: readonly (readonly [Refusal, number, Record<string, unknown>])[] = [
  [
    { code: 'catalog.not_found', didYouMean: ['a.b'], ownUpstream: null },
    404,
    { did_you_mean: ['a.b'], detail: 'The catalog has no such id. Did you mean a.b?' },
  ],
  [
    { code: 'catalog.not_found', didYouMean: ['a.b'], ownUpstream: 'c' },
    404,
    {
      did_you_mean: ['a.b', '/call/c/…'],
      detail: 'The catalog has no such id. Did you mean a.b or /call/c/…?',
    },
  ],
  [
    { code: 'catalog.not_found', didYouMean: [], ownUpstream: null },
    404,
    {
      did_you_mean: [],
      detail: 'The catalog has no such id. GET /api/v1/catalog searches it.',
    },
  ],
  [
    {
      code: 'catalog.retired',
      status: 'broken',
      note: 'The vendor ended it',
      supersededBy: 'a.c',
      alternatives: [other],
    },
    410,
    {
      tombstone: 'broken',
      note: 'The vendor ended it',
      superseded_by: 'a.c',
      alternatives: [otherWire],
      detail: 'The vendor ended it. Call a.c instead.',
    },
  ],
  [
    {
      code: 'catalog.no_credential',
      alternatives: [{ ...other, guideMicros: null }],
      ownUpstream: null,
    },
    404,
    { alternatives: [{ ...otherWire, guide_micros: null }], did_you_mean: [] },
  ],
  [
    { code: 'catalog.no_credential', alternatives: [], ownUpstream: 'c' },
    404,
    {
      did_you_mean: ['/call/c/…'],
      detail:
        'No account of this gateway serves it. Register the upstream, or store a secret named like the provider. Did you mean /call/c/…?',
    },
  ],
  [
    { code: 'catalog.path_not_allowed', parameters: [] },
    400,
    { parameters: [], detail: 'Call the id alone: nothing of its path is left to give.' },
  ],
  [
    { code: 'catalog.path_not_allowed', parameters: ['user', 'limit'] },
    400,
    {
      parameters: ['user', 'limit'],
      detail: 'Call the id alone and give its values in the query: ?user=…&limit=….',
    },
  ],
  [
    { code: 'catalog.placeholder_invalid', kind: 'unsafe', name: 'id' },
    400,
    { kind: 'unsafe', name: 'id' },
  ],
  [{ code: 'catalog.base_unapproved' }, 502, { blame: 'gateway' }],
  [{ code: 'catalog.websocket_not_metered' }, 400, {}],
  [{ code: 'catalog.task_not_owned' }, 403, {}],
  [{ code: 'meta.invalid', pair: 2, reason: 'at_sign' }, 422, { pair: 2, reason: 'at_sign' }],
  [{ code: 'meta.invalid', pair: 0, reason: 'too_many' }, 422, { pair: 0, reason: 'too_many' }],
  [{ code: 'price.unknown', reason: 'no_price' }, 422, { reason: 'no_price' }],
  [
    { code: 'route_max_cost', requiredMicros: 60, ceilingMicros: 0 },
    402,
    { required_micros: 60, ceiling_micros: 0 },
  ],
  [
    { code: 'insufficient_balance', availableMicros: -3, requiredMicros: 60 },
    402,
    { available_micros: -3, required_micros: 60 },
  ],
  [
    { code: 'platform_daily_cap_reached', capMicros: 5, resetsAtMs },
    429,
    { cap_micros: 5, resets_at: resetsAt },
  ],
  [
    { code: 'key_daily_call_cap_reached', cap: 0, resetsAtMs },
    429,
    { cap: 0, resets_at: resetsAt },
  ],
  [{ code: 'tag_blocked', dimension: 'team', value: 'a' }, 403, { dimension: 'team', value: 'a' }],
  [
    { code: 'tag_spend_cap_reached', dimension: 'team', value: 'a', resetsAtMs },
    429,
    { dimension: 'team', value: 'a', resets_at: resetsAt },
  ],
  [
    { code: 'tag_call_cap_reached', dimension: 'team', value: 'a', resetsAtMs: null },
    429,
    { dimension: 'team', value: 'a', resets_at: null },
  ],
  [{ code: 'tag_budget_unavailable', dimension: 'team' }, 429, { dimension: 'team' }],
  [{ code: 'response_buffer_limit', bytesMax: 8 }, 502, { bytes_max: 8, blame: 'gateway' }],
  [{ code: 'ledger_busy', retryAfterMs: 20 }, 503, { blame: 'gateway' }],
  [
    {
      code: 'provider_capacity',
      provider: 'b',
      endpointId: 'b.search',
      reason: 'balance',
      resetsAtMs: null,
      retryAfterMs: 20,
      overflow: null,
      alternatives: [other],
    },
    503,
    { endpoint_id: 'b.search', resets_at: null, alternatives: [otherWire], blame: 'gateway' },
  ],
  [
    {
      code: 'provider_capacity',
      provider: 'b',
      endpointId: 'b.search',
      reason: 'quota',
      resetsAtMs,
      retryAfterMs: 20,
      overflow: null,
      alternatives: [],
    },
    503,
    {
      reason: 'quota',
      resets_at: resetsAt,
      alternatives: [],
      detail: expect.stringMatching(/ Try again later, or use a key of your own\.$/),
    },
  ],
  [
    { code: 'provider_rate_limited', provider: 'b', retryAfterMs: 20 },
    429,
    { provider: 'b', blame: 'gateway' },
  ],
  [{ code: 'platform_account_retired' }, 410, { blame: 'gateway' }],
  [{ code: 'platform_account_unavailable' }, 503, { blame: 'gateway' }],
  [{ code: 'platform_account_split' }, 409, { blame: 'caller' }],
  [{ code: 'ledger_unavailable', retryAfterMs: 20 }, 503, { blame: 'gateway' }],
  [{ code: 'ledger.open_holds_max', holdsMax: 9 }, 429, { holds_max: 9 }],
  [{ code: 'ledger.id_conflict' }, 409, {}],
  [{ code: 'ledger.too_many_blocks', blocksMax: 9 }, 409, { blocks_max: 9 }],
  [{ code: 'ledger.holds_open' }, 409, {}],
  [
    { code: 'idempotency.key_invalid', reason: 'too_long' },
    400,
    { reason: 'too_long', chars_max: 200 },
  ],
  [{ code: 'idempotency.quota', bytesMax: 9 }, 429, { bytes_max: 9 }],
  [{ code: 'idempotency.mismatch' }, 422, {}],
  [{ code: 'idempotency.in_progress' }, 409, {}],
  [
    { code: 'idempotency.outcome_unknown', recordId: 'idm_1', resolved: false },
    409,
    { record_id: 'idm_1', resolved: false },
  ],
  [
    { code: 'idempotency.outcome_unknown', recordId: 'idm_1', resolved: true },
    409,
    { record_id: 'idm_1', resolved: true },
  ],
  [{ code: 'idempotency.not_unknown', state: 'claimed' }, 409, { state: 'claimed' }],
  [
    { code: 'payload.too_large', bytesMax: 8, what: 'keyed_body' },
    413,
    { bytes_max: 8, detail: expect.stringContaining('Idempotency-Key') },
  ],
  [
    { code: 'payload.too_large', bytesMax: 8, what: 'metered_body' },
    413,
    { bytes_max: 8, detail: expect.stringContaining('price') },
  ],
];

const bodyOf = async (refusal: Refusal): Promise<Record<string, unknown>> =>
  await problemResponse(refusal).json();

/** Seconds to wait, where they are not those of every 503 here. */
const otherWaits: Readonly<Record<string, string>> = {
  provider_rate_limited: '1',
  platform_account_unavailable: '60',
};

describe('a refusal', () => {
  it.each(examples.map((example) => [example[0].code, ...example] as const))(
    '%s is a problem document with its members',
    async (code, refusal, status, members) => {
      const answer = problemResponse(refusal);
      expect(answer.status).toBe(status);
      const body: Record<string, unknown> = await answer.json();
      expect(body).toMatchObject({ type: `urn:weir:problem:${code}`, status, ...members });
      const text = `${body.title} ${body.detail}`;
      expect(text).not.toMatch(/undefined|null|NaN|\[object/);
      expect(text).toMatch(/\.$|\?$/);
      expect(Object.keys(body).filter((name) => /[A-Z]/.test(name))).toEqual([]);
      const wait = otherWaits[code] ?? (status === 503 ? '1' : null);
      expect(answer.headers.get('retry-after')).toBe(wait);
      expect(body.retry_after_seconds).toBe(wait === null ? undefined : Number(wait));
    },
  );

  it.each(examples.map(([refusal]) => [refusal.code, refusal] as const))(
    '%s says its detail also where SDKs of vendors look for it',
    async (code, refusal) => {
      const body = await bodyOf(refusal);
      expect(body.error).toEqual({ message: body.detail, code });
      expect(body.message).toBe(body.detail);
    },
  );

  /** The text as JSON.stringify writes it. */
  const written = (refusal: Refusal): string => {
    const row = refusalTable[refusal.code] as RefusalRow;
    const wait = row.retryAfterS?.(refusal as never);
    return JSON.stringify({
      type: `urn:weir:problem:${refusal.code}`,
      title: row.title,
      status: row.status,
      detail: row.detail(refusal as never),
      instance: '/api/v1/calls/call_1',
      blame: row.blame,
      message: row.detail(refusal as never),
      error: { message: row.detail(refusal as never), code: refusal.code },
      ...row.members?.(refusal as never),
      ...(wait === undefined ? {} : { retry_after_seconds: wait }),
    });
  };
  const textOf = (refusal: Refusal): Promise<string> =>
    problemResponse(refusal, { callId: 'call_1' }).text();

  it.each(examples.map(([refusal]) => [refusal.code, refusal] as const))(
    '%s is written as JSON.stringify writes it, each member once',
    async (_, refusal) => {
      expect(await textOf(refusal)).toBe(written(refusal));
    },
  );

  const open = {
    code: 'provider_capacity',
    provider: 'b',
    endpointId: 'b.search',
    reason: 'balance',
    resetsAtMs,
    retryAfterMs: 20,
    overflow: null,
    alternatives: [other],
  } as const;
  it.each<readonly [string, Extract<Refusal, { code: 'provider_capacity' }>]>([
    ['nothing', open],
    ['the call', { ...open }],
    ['the provider', { ...open, provider: 'c' }],
    ['the endpoint', { ...open, endpointId: 'b.find' }],
    ['the reason', { ...open, reason: 'quota' }],
    ['the reset', { ...open, resetsAtMs: resetsAtMs + 1 }],
    ['a reset that nobody knows', { ...open, resetsAtMs: null }],
    ['what an aggregator said', { ...open, overflow: 'overflow.contract' }],
    ['the alternatives', { ...open, alternatives: [] }],
  ])('of an open breaker says its own document when %s differs from the last', async (_, next) => {
    await textOf(open);
    expect(await textOf(next)).toBe(written(next));
  });

  it('of an open breaker has its own call and its own Retry-After, whatever the last had', async () => {
    const last = problemResponse({ ...open, retryAfterMs: 60_000 }, { callId: 'call_2' });
    expect(await last.json()).toMatchObject({ retry_after_seconds: 60 });
    const answer = problemResponse(open, { callId: 'call_1' });
    expect(answer.headers.get('retry-after')).toBe('1');
    expect(answer.headers.get('x-weir-call-id')).toBe('call_1');
    const text = await answer.text();
    expect(text).toContain('"instance":"/api/v1/calls/call_1","blame"');
    expect(JSON.parse(text)).toMatchObject({ retry_after_seconds: 1 });
    expect(await problemResponse(open).text()).not.toContain('instance');
  });

  it('has the headers of its own call only', () => {
    const busy = { code: 'ledger_busy', retryAfterMs: 20 } as const;
    expect([...problemResponse(busy, { callId: 'call_1' }).headers]).toEqual([
      ['cache-control', 'no-store'],
      ['content-type', 'application/problem+json'],
      ['retry-after', '1'],
      ['x-content-type-options', 'nosniff'],
      ['x-weir-call-id', 'call_1'],
      ['x-weir-error', '1'],
      ['x-weir-error-source', 'gateway'],
    ]);
    const plain = problemResponse({ code: 'ledger.holds_open' }).headers;
    expect([plain.has('retry-after'), plain.has('x-weir-call-id')]).toEqual([false, false]);
  });

  it.each([
    ['missing', 'Bearer realm="weir"'],
    ['malformed', 'Bearer realm="weir", error="invalid_token"'],
    ['unknown', 'Bearer realm="weir", error="invalid_token"'],
    ['expired', 'Bearer realm="weir", error="invalid_token"'],
    ['revoked', 'Bearer realm="weir", error="invalid_token"'],
    ['secret_denied', 'Bearer realm="weir"'],
  ] as const)('of a key that is %s challenges: %s', (reason, challenge) => {
    const { headers } = problemResponse({ code: 'auth.failed', reason });
    expect(headers.get('www-authenticate')).toBe(challenge);
  });

  it('is a 401 for one code only, and no other one challenges', () => {
    const codes = Object.keys(refusalTable) as RefusalCode[];
    expect(codes.filter((code) => refusalTable[code].status === 401)).toEqual(['auth.failed']);
    const challenging = examples.filter(([r]) =>
      problemResponse(r).headers.has('www-authenticate'),
    );
    expect(challenging).toEqual([]);
  });

  it('of the catalog, of money or of idempotency has an example here', () => {
    const shown = new Set<RefusalCode>(examples.map(([refusal]) => refusal.code));
    const ours = Object.keys(refusalTable).filter((code) =>
      /^(catalog|ledger|idempotency|provider|platform|tag|meta|price|route_max|insufficient|key_daily)/.test(
        code,
      ),
    );
    expect(ours.filter((code) => !shown.has(code as RefusalCode))).toEqual([
      'catalog.parameter_invalid',
    ]);
  });
});

describe('a call that does not fit its catalog row', () => {
  const at = { in: 'query', name: 'q' } as const;
  const value = (expected: Extract<InputFault, { kind: 'value' }>['expected']): InputFault => ({
    kind: 'value',
    ...at,
    expected,
  });
  it.each<readonly [InputFault, string]>([
    [{ kind: 'body_not_allowed' }, 'This call takes no body.'],
    [
      { kind: 'body_unreadable', reason: 'duplicate_key' },
      'The body must be one plain JSON object without repeated members.',
    ],
    [
      { kind: 'undeclared', in: 'body', names: ['a', 'b'] },
      'Not declared in the body: a, b. Remove them.',
    ],
    [
      { kind: 'repeated', in: 'query', names: ['a'] },
      'Given twice in the query: a. Give each once.',
    ],
    [{ kind: 'missing', in: 'path', names: ['a'] }, 'Missing in the path: a.'],
    [{ kind: 'separator' }, 'The query has a semicolon; write it as %3B.'],
    [{ kind: 'option_refused', ...at }, 'q in the query cannot be used on a platform account.'],
    [value({ type: 'boolean' }), 'q in the query must be true or false.'],
    [value({ type: 'object' }), 'q in the query must be an object.'],
    [
      value({ type: 'string', oneOf: ['x', 'y'], charsMax: null }),
      'q in the query must be one of x, y.',
    ],
    [value({ type: 'string', oneOf: null, charsMax: null }), 'q in the query must be a text.'],
    [
      value({ type: 'string', oneOf: null, charsMax: 3 }),
      'q in the query must be a text of at most 3 characters.',
    ],
    [
      value({ type: 'integer', oneOf: [1, 2, 3, 4, 5, 6, 7, 8, 9], min: null, max: null }),
      'q in the query must be one of 1, 2, 3, 4, 5, 6, 7, 8, ….',
    ],
    [
      value({ type: 'integer', oneOf: null, min: 1, max: 9 }),
      'q in the query must be an integer from 1 up to 9.',
    ],
    [
      value({ type: 'number', oneOf: null, min: null, max: 0.5 }),
      'q in the query must be a number up to 0.5.',
    ],
    [
      value({ type: 'array', itemsMin: 1, itemsMax: null }),
      'q in the query must be an array with a length from 1.',
    ],
    [value({ type: 'items', oneOf: ['x'] }), 'q in the query must be an array of x.'],
    [
      value({ type: 'item_fields', need: 'any', names: ['a', 'b'] }),
      'q in the query must be an array of objects with any of a, b.',
    ],
    [
      value({ type: 'count', min: 1, max: 10 }),
      'q in the query must be a number, or an array with a length, from 1 up to 10.',
    ],
    [value({ type: 'exactly', value: 'fast' }), 'q in the query must be exactly "fast".'],
  ])('%j: %s', async (fault, detail) => {
    const body = await bodyOf({ code: 'catalog.parameter_invalid', fault });
    expect(body).toMatchObject({ status: 400, blame: 'caller', detail });
    expect(JSON.stringify(body.fault)).not.toMatch(/"[a-z]+[A-Z]\w*":/);
  });

  it('names what was expected in words of the wire', async () => {
    const fault = value({ type: 'string', oneOf: null, charsMax: 3 });
    expect((await bodyOf({ code: 'catalog.parameter_invalid', fault })).fault).toEqual({
      kind: 'value',
      in: 'query',
      name: 'q',
      expected: { type: 'string', one_of: null, chars_max: 3 },
    });
  });
});
