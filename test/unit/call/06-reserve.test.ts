/**
 * 06 reserve: what is placed for which call, which price never sends, and what each answer of the
 * ledger becomes.
 */
import { afterEach, describe, expect, it, vi } from 'vitest';
import { holdRenewMs, recordKeyCharsMax } from '../../../src/base/limits-money';
import { err, ok } from '../../../src/base/result';
import { type Replayed, reserve } from '../../../src/call/06-reserve';
import type { AuthorizedCall, ReservedCall } from '../../../src/call/call';
import type { Money } from '../../../src/call/money';
import type { CatalogEndpoint } from '../../../src/domain/catalog/endpoint';
import type { PeekAnswer, RecordedAnswer } from '../../../src/domain/ledger/operations';
import type { Refusal } from '../../../src/domain/refusal';
import { chatCost, perCall, settled } from '../domain/pricing/prices';
import {
  authorized,
  backgroundOf,
  catalogCall,
  key,
  scan,
  startMs,
  tenant,
  token,
  upstream,
} from './calls';
import { capacityPorts, locked, NotedCapacity } from './capacity-ports';
import { NotedDesk, NotedTasks, placed } from './desk';

type Answer = ConstructorParameters<typeof NotedDesk>[0];

const opened: Money[] = [];
afterEach(() => {
  for (const money of opened.splice(0)) money.release('test');
});

/** Reserves for a call, at a desk that gives `answer`. */
async function run(
  parts: Partial<AuthorizedCall>,
  answer: Answer = placed,
  capacity = new NotedCapacity(),
) {
  const desk = new NotedDesk(answer);
  const background = backgroundOf();
  const call = authorized(parts);
  const ports = { ...capacityPorts(capacity), desk, replayBodies: null, tasks: new NotedTasks() };
  const result = await reserve(call, ports, background);
  const money = result.ok && 'money' in result.value ? result.value.money : null;
  if (money !== null) opened.push(money);
  return { call, desk, background, result, money, asked: capacity.asked };
}

const onPlatform = (row: Partial<CatalogEndpoint>, parts: Partial<AuthorizedCall> = {}) => ({
  catalog: catalogCall(row),
  ...parts,
});
const priced = (parts: Partial<AuthorizedCall> = {}) => onPlatform({ cost: perCall(70) }, parts);
const withKey = (idempotencyKey: string, parts: Partial<AuthorizedCall> = {}) =>
  priced({ headers: scan({ idempotencyKey }), ...parts });

describe('a call that was to be the probe of a lock', () => {
  const grant = { id: 'call_1', lockId: 'lock_1' };
  const due = () => new NotedCapacity({ view: locked('vendor', { nextProbeInMs: 0 }), grant });
  const back = ['giveBackProbe', 'vendor', grant];
  const poor = {
    outcome: 'refused',
    refusal: { code: 'insufficient_balance', availableMicros: 0, requiredMicros: 70 },
  } as const;

  it('gives it back when the ledger says no: a tenant without money keeps no account out', async () => {
    const { result, asked } = await run(priced(), poor, due());
    expect(result).toMatchObject({ error: { code: 'insufficient_balance' } });
    expect(asked.at(-1)).toEqual(back);
  });

  it('gives it back when its key had an answer before', async () => {
    const answer: RecordedAnswer = {
      status: 200,
      headers: [],
      body: new Uint8Array(),
      bodyRef: null,
      bodyBytes: 0,
      costMicros: 70,
    };
    const { asked } = await run(withKey('k'), { outcome: 'replay', answer }, due());
    expect(asked.at(-1)).toEqual(back);
  });

  it('keeps it when it goes on', async () => {
    const { result, asked } = await run(priced(), placed, due());
    expect(result).toMatchObject({ value: { capacity: { probe: grant } } });
    expect(asked).not.toContainEqual(back);
  });
});

const ulid = /^hld_[0-9A-HJKMNP-TV-Z]{26}$/;

describe('a call that owes nothing', () => {
  it.each([1, 2, 3] as const)('of tier %i passes without the ledger', async (tier) => {
    const catalog = catalogCall({ cost: perCall(70) }, { tier });
    const { result, desk, background, call } = await run({ catalog });
    expect(result.ok && result.value).toBe(call);
    expect([desk.places, background.work, call]).toMatchObject([[], [], { money: null }]);
  });

  it('of an own upstream passes without a promise', () => {
    const call = authorized();
    const ports = {
      ...capacityPorts(),
      desk: new NotedDesk(),
      replayBodies: null,
      tasks: new NotedTasks(),
    };
    expect(reserve(call, ports, backgroundOf())).toEqual(ok({ ...call, money: null }));
  });

  it('of a free row has no hold, unless its key or its number counts', async () => {
    expect((await run(onPlatform({}))).desk.places).toEqual([]);
    const keyed = await run(onPlatform({}, { headers: scan({ idempotencyKey: 'a' }) }));
    const capped = await run(onPlatform({}, { key: key({ callCap: 5 }) }));
    expect([keyed, capped].map(({ desk }) => desk.places[0]?.[2])).toEqual([0, 0]);
  });
});

describe('what is placed', () => {
  it('is the estimate, for the key, its cap and its tags, at the ledger of the tenant', async () => {
    const ledger = { ledgerTenantId: 'ten_root', homeRegion: 'weur' };
    const tags = ['team', 'a'];
    const parts = { key: key({ callCap: 9 }), tags, tenant: { ...tenant(), ledger } };
    const { result, desk, money, call } = await run(priced(parts));
    expect(desk.addresses).toEqual([ledger]);
    const id = expect.stringMatching(ulid);
    expect(desk.places).toEqual([['place', id, 70, 'key_1', 9, tags, null]]);
    expect(result).toEqual(ok({ ...call, money }));
    expect([money?.holdId, money?.heldMicros, money?.recordId]).toEqual([
      desk.places[0]?.[1],
      70,
      null,
    ]);
  });

  it('is told by query and body: body bytes, asked units, the row of the table', async () => {
    const json = { model: 'small', max_tokens: 100, n: 2 };
    const sentBytes = new TextEncoder().encode(JSON.stringify(json));
    const { desk } = await run(onPlatform({ cost: chatCost }, { json, sentBytes }));
    const input = Math.ceil(sentBytes.length / 3);
    const micros = Math.ceil((input * 150_000 + 200 * 600_000) / 1_000_000);
    expect(desk.places[0]?.[2]).toBe(micros);
  });

  it('keeps the context before the ledger is asked, and until the money is closed', async () => {
    const { background, money } = await run(priced());
    expect(background.work.length).toBe(1);
    money?.release('test');
    await background.work[0];
  });

  it('costs no timer of its own: a call that is answered soon is not renewed', async () => {
    vi.useFakeTimers();
    const { desk } = await run(priced());
    expect(vi.getTimerCount()).toBe(0);
    vi.advanceTimersByTime(holdRenewMs);
    vi.useRealTimers();
    expect(desk.ends).toEqual([]);
  });

  it('is told to the vendor where its row has a ceiling parameter, over what the caller wrote', async () => {
    const row = { cost: perCall(70), ceilingParam: { name: 'max_usd', unit: 'usd' } } as const;
    const { result } = await run(onPlatform(row, { query: 'a=1&max_usd=9&b' }));
    expect(result.ok && (result.value as ReservedCall).query).toBe('a=1&b&max_usd=0.00007');
  });
});

describe('a price', () => {
  const models = { cost: chatCost };
  const small = { json: { model: 'small' }, sentBytes: new Uint8Array(30) };
  const ceiling = (maxCostMicro: string) => ({ headers: scan({ maxCostMicro }) });

  it.each<[string, Partial<CatalogEndpoint>, Partial<AuthorizedCall>, Refusal]>([
    [
      'that no row of the table has',
      models,
      { json: { model: 'other' }, sentBytes: new Uint8Array(9) },
      { code: 'price.unknown', reason: 'no_price' },
    ],
    [
      'by body size, of a body whose size nobody knows',
      models,
      {
        json: { model: 'small' },
        request: new Request('https://gw.test/x', { method: 'POST', body: 'x' }),
      },
      { code: 'price.unknown', reason: 'no_body_size' },
    ],
    [
      'that is unknown, under a ceiling of nothing',
      models,
      { json: { model: 'other' }, ...ceiling('0') },
      { code: 'price.unknown', reason: 'no_price' },
    ],
    [
      'above the caller’s ceiling',
      { cost: perCall(70) },
      ceiling('69'),
      { code: 'route_max_cost', requiredMicros: 70, ceilingMicros: 69 },
    ],
    ...['', '-1', '1.5', '1e3', ' 1', '0x1', '9'.repeat(16)].map(
      (text): [string, Partial<CatalogEndpoint>, Partial<AuthorizedCall>, Refusal] => [
        `under a ceiling that is no number: ${JSON.stringify(text)}`,
        { cost: perCall(70) },
        ceiling(text),
        {
          code: 'validation.error',
          issues: [{ path: 'X-Weir-Max-Cost-Micro', message: 'a whole number of micro-USD' }],
        },
      ],
    ),
  ])('%s is refused before the ledger is asked', async (_, row, parts, refusal) => {
    const { result, desk, background } = await run(onPlatform(row, parts));
    expect(result).toEqual(err(refusal));
    expect([desk.places, background.work]).toEqual([[], []]);
  });

  it('of exactly the ceiling passes; an unknown one holds the ceiling', async () => {
    expect((await run(priced(ceiling('70')))).desk.places[0]?.[2]).toBe(70);
    const unknown = { ...small, json: { model: 'other' }, ...ceiling('500') };
    expect((await run(onPlatform(models, unknown))).desk.places[0]?.[2]).toBe(500);
  });

  it.each([
    ['of a body-less call has no size to wonder about', {}, 0],
    ['of a body that is relayed unread is that of its declared length', { declaredBytes: 30 }, 10],
  ])('%s', async (_, parts, inputs) => {
    const json = { model: 'tiny', max_tokens: 1 };
    const request = new Request('https://gw.test/x', {
      method: 'POST',
      body: inputs > 0 ? 'x' : null,
    });
    const { desk } = await run(onPlatform({ cost: chatCost }, { json, request, ...parts }));
    expect(desk.places[0]?.[2]).toBe(Math.ceil(inputs * 0.15 + 0.6));
  });

  it('that a settlement reserves by itself is that', async () => {
    const row = { cost: perCall(70), settlement: settled({ reserveMicros: 200 }) };
    expect((await run(onPlatform(row))).desk.places[0]?.[2]).toBe(200);
  });
});

describe('the claim of a keyed call', () => {
  const url = 'https://gw.test/call/vendor.search?q=1';
  const post = (target: string, method = 'POST') => {
    const request = new Request(target, { method });
    const mark = target.indexOf('?');
    const callersQuery = mark < 0 ? null : target.slice(mark + 1);
    return { request, method, catalog: catalogCall({ cost: perCall(70) }, { callersQuery }) };
  };
  const claimed = async (parts: Partial<AuthorizedCall>) =>
    (await run({ ...post(url), headers: scan({ idempotencyKey: 'k1' }), ...parts })).desk
      .places[0]?.[6];

  it('names its record, its scope, its key and its request', async () => {
    const { desk, money } = await run({ ...post(url), headers: scan({ idempotencyKey: 'k1' }) });
    const place = desk.places[0];
    const recordId = `idm_${place?.[1].slice('hld_'.length)}`;
    expect(place?.[6]).toEqual([recordId, 'prn_1', 'k1', expect.stringMatching(/^[0-9a-f]{64}$/)]);
    expect(money?.recordId).toBe(recordId);
  });

  it('is of the principal and its primary tag, not of the access key', async () => {
    const view = { ...tenant(), primaryDimension: 'team' };
    const scopes = await Promise.all(
      [
        { key: key({ id: 'key_2' }) },
        { key: key({ principalId: 'prn_2' }) },
        { tenant: view, tags: ['env', 'x', 'team', 'a'] },
        { tenant: view, tags: ['team', 'b'] },
        { tenant: view },
      ].map(async (parts) => (await claimed(parts))?.[1]),
    );
    expect(scopes).toEqual(['prn_1', 'prn_2', 'prn_1\u001fa', 'prn_1\u001fb', 'prn_1']);
  });

  it('tells requests apart by method, path, query and body bytes, and by nothing else', async () => {
    const bytes = (text: string) => ({ sentBytes: new TextEncoder().encode(text) });
    const different = [
      {},
      post(url, 'PUT'),
      post('https://gw.test/catalog/call/vendor.search?q=1'),
      post('https://gw.test/call/vendor.search?q=2'),
      post('https://gw.test/call/vendor.search?'),
      post('https://gw.test/call/vendor.search'),
      post('https://gw.test/call/vendor.searcg'),
      bytes('undefined'),
      bytes('{"a":1}'),
      bytes('{"a": 1}'),
    ];
    const prints = await Promise.all(different.map(async (p) => (await claimed(p))?.[3]));
    expect(new Set(prints).size).toBe(different.length);
    const again = await claimed({
      startedAtMs: startMs + 1,
      upstream: upstream({ id: 'ups_2' }),
      tags: ['team', 'a'],
      ...post('https://other.test/call/vendor.search?q=1'),
    });
    expect(again?.[3]).toBe(prints[0]);
  });

  it('does not depend on where the Weir key stands: a repeat may show it in the query', async () => {
    const query = { ...post(`${url}&key=${token}`), catalog: post(url).catalog };
    expect((await claimed(query))?.[3]).toBe((await claimed({}))?.[3]);
  });

  it.each<[string, string, Refusal]>([
    ['an empty key', '', { code: 'idempotency.key_invalid', reason: 'empty' }],
    [
      'a key above recordKeyCharsMax',
      'k'.repeat(recordKeyCharsMax + 1),
      { code: 'idempotency.key_invalid', reason: 'too_long' },
    ],
  ])('%s is refused before the ledger is asked', async (_, text, refusal) => {
    const { result, desk } = await run(withKey(text));
    expect([result, desk.places]).toEqual([err(refusal), []]);
  });

  it('a key of recordKeyCharsMax is claimed', async () => {
    const text = 'k'.repeat(recordKeyCharsMax);
    expect((await run(withKey(text))).desk.places[0]?.[6]?.[2]).toBe(text);
  });
});

const resetsAtMs = startMs + 1;
const tag = { dimension: 'team', value: 'a', resetsAtMs };
const refusedBy = (refusal: Extract<Answer, { outcome: 'refused' }>['refusal']) =>
  ({ outcome: 'refused', refusal }) as const;

const noes: readonly (readonly [Exclude<Answer, undefined>, Refusal])[] = [
  [
    refusedBy({ code: 'insufficient_balance', availableMicros: 5, requiredMicros: 70 }),
    { code: 'insufficient_balance', availableMicros: 5, requiredMicros: 70 },
  ],
  [
    refusedBy({ code: 'daily_cap', capMicros: 60, resetsAtMs }),
    { code: 'platform_daily_cap_reached', capMicros: 60, resetsAtMs },
  ],
  [
    refusedBy({ code: 'key_call_cap', cap: 3, resetsAtMs }),
    { code: 'key_daily_call_cap_reached', cap: 3, resetsAtMs },
  ],
  [
    refusedBy({ code: 'tag_blocked', dimension: 'team', value: 'a' }),
    { code: 'tag_blocked', dimension: 'team', value: 'a' },
  ],
  [refusedBy({ code: 'tag_spend_cap', ...tag }), { code: 'tag_spend_cap_reached', ...tag }],
  [
    refusedBy({ code: 'tag_call_cap', ...tag, resetsAtMs: null }),
    { code: 'tag_call_cap_reached', ...tag, resetsAtMs: null },
  ],
  [
    refusedBy({ code: 'tag_budget_unavailable', dimension: 'team' }),
    { code: 'tag_budget_unavailable', dimension: 'team' },
  ],
  [refusedBy({ code: 'record_quota', bytesMax: 8 }), { code: 'idempotency.quota', bytesMax: 8 }],
  [
    refusedBy({ code: 'open_holds_max', holdsMax: 2 }),
    { code: 'ledger.open_holds_max', holdsMax: 2 },
  ],
  [{ outcome: 'mismatch' }, { code: 'idempotency.mismatch' }],
  [{ outcome: 'in_progress' }, { code: 'idempotency.in_progress' }],
  [
    { outcome: 'outcome_unknown', recordId: 'idm_0', resolved: true },
    { code: 'idempotency.outcome_unknown', recordId: 'idm_0', resolved: true },
  ],
  [
    { outcome: 'ledger_busy', retryAfterMs: 7 },
    { code: 'ledger_busy', retryAfterMs: 7 },
  ],
  [
    { outcome: 'ledger_unavailable', retryAfterMs: 9 },
    { code: 'ledger_unavailable', retryAfterMs: 9 },
  ],
  [{ outcome: 'id_conflict' }, { code: 'internal.error' }],
  [{ outcome: 'invalid', field: 'amountMicros' }, { code: 'internal.error' }],
];

describe('the ledger’s no', () => {
  it.each(noes)('%j refuses, and nothing is owed', async (answer, refusal) => {
    const { result, desk, background } = await run(priced(), answer);
    expect([result, desk.ends]).toEqual([err(refusal), []]);
    await Promise.all(background.work);
  });
});

describe('a repeat', () => {
  it('gets the first answer, and nothing is owed', async () => {
    const first: RecordedAnswer = {
      status: 201,
      headers: [],
      body: new Uint8Array(),
      bodyRef: null,
      bodyBytes: 0,
      costMicros: 70,
    };
    const { result, desk, background } = await run(withKey('k1'), {
      outcome: 'replay',
      answer: first,
    });
    expect(result.ok && (result.value as Replayed).replay).toBe(first);
    expect(desk.ends).toEqual([]);
    await Promise.all(background.work);
  });
});

describe('a repeat whose price has changed since', () => {
  const first: RecordedAnswer = {
    status: 201,
    headers: [],
    body: new Uint8Array(),
    bodyRef: null,
    bodyBytes: 0,
    costMicros: 70,
  };
  const retry = async (known: PeekAnswer, row: Partial<CatalogEndpoint>) => {
    const desk = new NotedDesk();
    const capacity = new NotedCapacity();
    const ports = {
      ...capacityPorts(capacity, known),
      desk,
      replayBodies: null,
      tasks: new NotedTasks(),
    };
    const headers = scan({ idempotencyKey: 'k1', maxCostMicro: '69' });
    const call = authorized({ ...onPlatform(row), headers });
    return { result: await reserve(call, ports, backgroundOf()), desk };
  };
  const dearer = { cost: perCall(70) };
  const overCeiling = { code: 'route_max_cost', requiredMicros: 70, ceilingMicros: 69 };

  it('above its ceiling gets the first answer', async () => {
    const { result } = await retry({ outcome: 'replay', answer: first }, dearer);
    expect(result).toEqual(ok({ replay: first }));
  });

  it('above its ceiling is told what became of its key', async () => {
    const unknown = { outcome: 'outcome_unknown', recordId: 'idm_0', resolved: false } as const;
    const { result } = await retry(unknown, dearer);
    expect(result).toMatchObject(err({ code: 'idempotency.outcome_unknown', recordId: 'idm_0' }));
  });

  it('is refused for its price where the key is fresh, and nothing is claimed', async () => {
    const { result, desk } = await retry({ outcome: 'fresh' }, dearer);
    expect([result, desk.places]).toEqual([err(overCeiling), []]);
  });
});

describe('a key with a call cap', () => {
  const capped = { key: key({ callCap: 3 }) };

  it.each([
    ['an own upstream', {}],
    ['an own secret', { catalog: catalogCall({ cost: perCall(70) }, { tier: 2 as const }) }],
  ])('is counted on %s, and nothing is held', async (_, parts) => {
    const { desk, money } = await run({ ...capped, ...parts });
    const id = expect.stringMatching(ulid);
    expect(desk.places).toEqual([['place', id, 0, 'key_1', 3, null, null]]);
    expect([money?.heldMicros, money?.plan.readings]).toEqual([0, []]);
  });

  it('claims nothing there: its Idempotency-Key is the vendor’s', async () => {
    const { desk } = await run({ ...capped, headers: scan({ idempotencyKey: 'k1' }) });
    expect(desk.places[0]?.[6]).toBeNull();
  });

  it('that is used up refuses', async () => {
    const answer = refusedBy({ code: 'key_call_cap', cap: 3, resetsAtMs });
    const refusal = { code: 'key_daily_call_cap_reached', cap: 3, resetsAtMs };
    expect((await run(capped, answer)).result).toEqual(err(refusal));
  });

  it.each(['ledger_busy', 'ledger_unavailable'] as const)(
    'passes where the ledger says %s, which is counted',
    async (outcome) => {
      const { result, call, background, asked } = await run(capped, { outcome, retryAfterMs: 1 });
      expect(asked).toEqual([['failOpen', 'call_cap']]);
      expect(result).toEqual(ok({ ...call, money: null }));
      await Promise.all(background.work);
    },
  );

  it.each(['ledger_busy', 'ledger_unavailable'] as const)(
    'passes on a free row of the platform account too where the ledger says %s: nothing is owed',
    async (outcome) => {
      const answer = { outcome, retryAfterMs: 1 };
      const { result, call, asked } = await run(onPlatform({}, capped), answer);
      expect(asked.at(-1)).toEqual(['failOpen', 'call_cap']);
      expect(result).toEqual(ok({ ...call, money: null }));
    },
  );

  it('with an Idempotency-Key does not pass without the ledger: its first call may have been executed', async () => {
    const headers = scan({ idempotencyKey: 'k1' });
    const answer = { outcome: 'ledger_busy', retryAfterMs: 1 } as const;
    const { result } = await run(onPlatform({}, { ...capped, headers }), answer);
    expect(result).toEqual(err({ code: 'ledger_busy', retryAfterMs: 1 }));
  });

  it('on the platform account does not pass without the ledger', async () => {
    const { result } = await run(priced(capped), { outcome: 'ledger_busy', retryAfterMs: 1 });
    expect(result).toEqual(err({ code: 'ledger_busy', retryAfterMs: 1 }));
  });
});
