/** strict_query, body_allowlist, platform_request, ceiling_param: tables of what passes and what each fault says. */
import { describe, expect, it } from 'vitest';
import { faultNameCharsMax, faultNamesMax } from '../../../../src/base/limits-money';
import type { PlatformRule, ValueRule } from '../../../../src/domain/catalog/endpoint';
import {
  contractFault,
  type InputFault,
  type JudgedBody,
  readBody,
} from '../../../../src/domain/catalog/input-contract';
import {
  judgesBody,
  platformFault,
  withCeiling,
} from '../../../../src/domain/catalog/platform-request';
import { endpoint, parameter } from './rows';

const none: JudgedBody = { kind: 'none' };
const json = (value: unknown): JudgedBody => ({ kind: 'json', value });
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const integer: ValueRule = { type: 'integer', enum: null, min: 1, max: 20 };
const kinds: ValueRule = { type: 'string', enum: ['off', 'strict'], charsMax: null };

describe('strict_query', () => {
  const row = endpoint({
    strictQuery: true,
    path: '/{zone}/search',
    parameters: [
      parameter('path', 'zone', { required: true }),
      parameter('query', 'q', {
        required: true,
        rule: { type: 'string', enum: null, charsMax: 10 },
      }),
      parameter('query', 'count', { rule: integer }),
      parameter('query', 'safe', { rule: kinds }),
      parameter('query', 'flag', { rule: { type: 'boolean' } }),
      parameter('query', 'ratio', { rule: { type: 'number', enum: null, min: 0, max: 1 } }),
    ],
  });
  const judge = (query: string | null, body: JudgedBody = none) =>
    contractFault(row, { query, body });
  const value = (name: string) => expect.objectContaining({ kind: 'value', in: 'query', name });

  it.each([
    'zone=a&q=x',
    'q=x&zone=a&count=20&safe=strict&flag=true&ratio=0.5',
    '&zone=a&&q=a%3Bb',
    'zone=a&q=',
    'zone=a&q=x&count=1',
  ])('passes %j', (query) => {
    expect(judge(query)).toBeNull();
  });

  it.each<[string | null, unknown]>([
    [null, { kind: 'missing', in: 'query', names: ['zone', 'q'] }],
    ['zone=a', { kind: 'missing', in: 'query', names: ['q'] }],
    ['zone=a&q=x&x=1', { kind: 'undeclared', in: 'query', names: ['x'] }],
    ['zone=a&q=x&Q=1', { kind: 'undeclared', in: 'query', names: ['Q'] }],
    ['zone=a&q=x&=1', { kind: 'undeclared', in: 'query', names: [''] }],
    ['zone=a&q=x&%71=y', { kind: 'repeated', in: 'query', names: ['q'] }],
    ['zone=a&q=x&zone=b', { kind: 'repeated', in: 'query', names: ['zone'] }],
    ['zone=a&q=x;count=99', { kind: 'separator' }],
    ['zone=a&q=elevenchars', value('q')],
    ['zone=a&q=x&count=21', value('count')],
    ['zone=a&q=x&count=0', value('count')],
    ['zone=a&q=x&count=1e1', value('count')],
    ['zone=a&q=x&count=0x5', value('count')],
    ['zone=a&q=x&count=%205', value('count')],
    ['zone=a&q=x&count=5.5', value('count')],
    ['zone=a&q=x&count=05', value('count')],
    ['zone=a&q=x&count', value('count')],
    ['zone=a&q=x&safe=Off', value('safe')],
    ['zone=a&q=x&flag=1', value('flag')],
    ['zone=a&q=x&ratio=1.01', value('ratio')],
    ['zone=a&q=x&ratio=NaN', value('ratio')],
  ])('refuses %j', (query, fault) => {
    expect(judge(query)).toEqual(fault);
  });

  it('refuses every body, read or not', () => {
    for (const body of [json({}), { kind: 'opaque' } as const])
      expect(judge('zone=a&q=x', body)).toEqual({ kind: 'body_not_allowed' });
  });

  it('says what would be right in the words of the catalog', () => {
    expect(judge('zone=a&q=x&safe=planted')).toEqual({
      kind: 'value',
      in: 'query',
      name: 'safe',
      expected: { type: 'string', oneOf: ['off', 'strict'], charsMax: null },
    });
  });

  it('repeats few names, and cut ones', () => {
    const names = Array.from({ length: 30 }, (_, i) => `${'n'.repeat(500)}${i}`);
    const fault = judge(names.map((name, i) => `${i}${name}=1`).join('&'));
    const shown = fault?.kind === 'undeclared' ? fault.names : [];
    expect(shown).toHaveLength(faultNamesMax);
    expect(Math.max(...shown.map((name) => name.length))).toBe(faultNameCharsMax);
  });

  it('is off unless the row says so', () => {
    expect(contractFault(endpoint(), { query: 'a=1&a=2', body: json([]) })).toBeNull();
  });
});

describe('body_allowlist', () => {
  const row = endpoint({
    method: 'POST',
    bodyAllowlist: true,
    parameters: [
      parameter('body', 'text', {
        required: true,
        rule: { type: 'string', enum: null, charsMax: 5 },
      }),
      parameter('body', 'n', { rule: integer }),
      parameter('body', 'kind', { rule: kinds }),
      parameter('body', 'size', { rule: { type: 'number', enum: [1, 2.5], min: null, max: null } }),
      parameter('body', 'ids', {
        rule: {
          type: 'array',
          itemsMin: 1,
          itemsMax: 2,
          itemEnum: ['a', 'b'],
          itemFields: null,
        },
      }),
      parameter('body', 'all', {
        rule: {
          type: 'array',
          itemsMin: 0,
          itemsMax: null,
          itemEnum: null,
          itemFields: { need: 'all', names: ['x', 'y'] },
        },
      }),
      parameter('body', 'some', {
        rule: {
          type: 'array',
          itemsMin: 0,
          itemsMax: null,
          itemEnum: null,
          itemFields: { need: 'any', names: ['x', 'y'] },
        },
      }),
      parameter('body', 'options', { rule: { type: 'object' } }),
      parameter('body', 'free', { rule: { type: 'any' } }),
    ],
  });
  const judge = (body: JudgedBody) => contractFault(row, { query: null, body });
  const value = (name: string, expected?: object) =>
    expect.objectContaining({ kind: 'value', in: 'body', name, ...(expected && { expected }) });

  it.each([
    { text: '' },
    { text: 'abcde', n: 20, kind: 'off', size: 2.5 },
    { text: 'a', ids: ['a', 'b'], all: [], some: [{ x: 1 }, { y: 2, z: 3 }] },
    { text: 'a', all: [{ x: 1, y: null }], options: {}, free: null },
  ])('passes %j', (body) => {
    expect(judge(json(body))).toBeNull();
  });

  it.each<[unknown, unknown]>([
    [{}, { kind: 'missing', in: 'body', names: ['text'] }],
    [
      { text: 'a', extra: 1 },
      { kind: 'undeclared', in: 'body', names: ['extra'] },
    ],
    [
      { text: 'a', Text: 'b' },
      { kind: 'undeclared', in: 'body', names: ['Text'] },
    ],
    [{ text: 'abcdef' }, value('text')],
    [{ text: null }, value('text')],
    [{ text: 1 }, value('text')],
    [{ text: 'a', n: 0 }, value('n')],
    [{ text: 'a', n: 1.5 }, value('n')],
    [{ text: 'a', n: '5' }, value('n')],
    [{ text: 'a', n: null }, value('n')],
    [{ text: 'a', kind: 'OFF' }, value('kind')],
    [{ text: 'a', size: 2 }, value('size')],
    [{ text: 'a', ids: [] }, value('ids', { type: 'array', itemsMin: 1, itemsMax: 2 })],
    [{ text: 'a', ids: ['a', 'a', 'a'] }, value('ids')],
    [{ text: 'a', ids: ['c'] }, value('ids', { type: 'items', oneOf: ['a', 'b'] })],
    [{ text: 'a', ids: 'a' }, value('ids')],
    [{ text: 'a', ids: { length: 1, 0: 'a' } }, value('ids')],
    [{ text: 'a', all: [{ x: 1 }] }, value('all')],
    [{ text: 'a', all: [null] }, value('all')],
    [{ text: 'a', some: [{}] }, value('some')],
    [{ text: 'a', some: [[]] }, value('some')],
    [{ text: 'a', options: [] }, value('options')],
    [[], { kind: 'body_unreadable', reason: 'not_object' }],
    ['text', { kind: 'body_unreadable', reason: 'not_object' }],
    [null, { kind: 'body_unreadable', reason: 'not_object' }],
  ])('refuses %j', (body, fault) => {
    expect(judge(json(body))).toEqual(fault);
  });

  it('refuses a body that is missing or not read', () => {
    expect(judge(none)).toEqual({ kind: 'body_unreadable', reason: 'missing' });
    expect(judge({ kind: 'opaque' })).toEqual({ kind: 'body_unreadable', reason: 'opaque' });
  });

  it('passes a missing body where nothing is required', () => {
    const relaxed = endpoint({ bodyAllowlist: true, parameters: [parameter('body', 'a')] });
    expect(contractFault(relaxed, { query: null, body: none })).toBeNull();
  });

  it('takes members of the prototype for no members', () => {
    const own = readBody(bytes('{"text":"a","__proto__":{"n":1}}'));
    expect(own.ok && judge(own.value)).toEqual({
      kind: 'undeclared',
      in: 'body',
      names: ['__proto__'],
    });
    const inherited = endpoint({
      bodyAllowlist: true,
      parameters: [parameter('body', 'toString', { required: true })],
    });
    expect(contractFault(inherited, { query: null, body: json({}) })).toEqual({
      kind: 'missing',
      in: 'body',
      names: ['toString'],
    });
  });
});

describe('a judged body', () => {
  it.each([
    ['{"a":1,"a":2}', 'duplicate_key'],
    ['{"a":{"b":1,"\\u0062":2}}', 'duplicate_key'],
    ['\ufeff{}', 'bom'],
    ['', 'empty'],
    ['a=1&b=2', 'syntax'],
    ['{"a":NaN}', 'syntax'],
    ['{"a":1}{"a":2}', 'syntax'],
    ['['.repeat(100) + ']'.repeat(100), 'too_deep'],
  ])('%j is refused as %s', (text, reason) => {
    expect(readBody(bytes(text))).toEqual({
      ok: false,
      error: { kind: 'body_unreadable', reason },
    });
  });

  it('that is no UTF-8 is refused', () => {
    const broken = Uint8Array.of(0x22, 0xff, 0x22);
    expect(readBody(broken)).toMatchObject({ ok: false, error: { reason: 'not_utf8' } });
  });

  it('is read for the rows that judge it', () => {
    const inBody: PlatformRule = { kind: 'refused', in: 'body', at: ['webhook'] };
    const inQuery: PlatformRule = { kind: 'refused', in: 'query', at: ['callback'] };
    const row = (platformRequest: readonly PlatformRule[] | null, bodyAllowlist = false) => ({
      platformRequest,
      bodyAllowlist,
    });
    expect(judgesBody(row(null), true)).toBe(false);
    expect(judgesBody(row(null, true), false)).toBe(true);
    expect(judgesBody(row([inBody]), true)).toBe(true);
    expect(judgesBody(row([inBody]), false)).toBe(false);
    expect(judgesBody(row([inQuery]), true)).toBe(false);
    expect(judgesBody(row([]), true)).toBe(true);
  });
});

describe('platform_request', () => {
  const count: PlatformRule = { kind: 'count', in: 'body', at: ['docs'], min: 1, max: 3 };
  const limit: PlatformRule = { kind: 'count', in: 'query', at: ['limit'], min: 1, max: 100 };
  const model: PlatformRule = {
    kind: 'selector',
    in: 'body',
    at: ['options', 'model'],
    equals: 'small',
    mayBeAbsent: false,
  };
  const one: PlatformRule = {
    kind: 'selector',
    in: 'body',
    at: ['n'],
    equals: 1,
    mayBeAbsent: true,
  };
  const told: PlatformRule = {
    ...{ kind: 'selector', in: 'body', at: ['options', 'usage'], equals: true, mayBeAbsent: false },
    unless: { at: ['stream'], equals: false },
  };
  const toldInQuery: PlatformRule = {
    ...{ kind: 'selector', in: 'query', at: ['usage'], equals: true, mayBeAbsent: false },
    unless: { at: ['stream'], equals: false },
  };
  const hook: PlatformRule = { kind: 'refused', in: 'body', at: ['webhook'] };
  const callback: PlatformRule = { kind: 'refused', in: 'query', at: ['callback'] };
  const missing = (place: string, name: string) => ({ kind: 'missing', in: place, names: [name] });
  const value = (place: string, name: string) =>
    expect.objectContaining({ kind: 'value', in: place, name });
  const repeated = (place: string, name: string) => ({
    kind: 'repeated',
    in: place,
    names: [name],
  });

  it.each<[PlatformRule, string | null, unknown, unknown]>([
    [count, null, { docs: [1, 2, 3] }, null],
    [count, null, { docs: 3 }, null],
    [count, null, { docs: [] }, value('body', 'docs')],
    [count, null, { docs: [1, 2, 3, 4] }, value('body', 'docs')],
    [count, null, { docs: 4 }, value('body', 'docs')],
    [count, null, { docs: 1.5 }, value('body', 'docs')],
    [count, null, { docs: '3' }, value('body', 'docs')],
    [count, null, { docs: null }, value('body', 'docs')],
    [count, null, { docs: { length: 2 } }, value('body', 'docs')],
    [count, null, {}, missing('body', 'docs')],
    [count, null, [], missing('body', 'docs')],
    [count, null, { docs: [1], DOCS: [1, 2, 3, 4] }, repeated('body', 'docs')],
    [count, null, { Docs: [1] }, repeated('body', 'docs')],
    [count, null, { docs: [1], 'doc\u017f': [1, 2, 3, 4] }, repeated('body', 'docs')],
    [limit, 'limit=100', undefined, null],
    [limit, 'limit=101', undefined, value('query', 'limit')],
    [limit, 'limit=0', undefined, value('query', 'limit')],
    [limit, 'limit=1e1', undefined, value('query', 'limit')],
    [limit, 'limit=+5', undefined, value('query', 'limit')],
    [limit, 'limit=', undefined, value('query', 'limit')],
    [limit, null, undefined, missing('query', 'limit')],
    [limit, 'limit=1&limit=1000', undefined, repeated('query', 'limit')],
    [limit, 'limit=1&Limit=1000', undefined, repeated('query', 'limit')],
    [limit, 'LIMIT=1', undefined, repeated('query', 'limit')],
    [limit, 'limit=1&x=y;limit=1000', undefined, repeated('query', 'limit')],
    [limit, 'limit=1&x=y;%4cimit=1000', undefined, repeated('query', 'limit')],
    [limit, 'limit=1&x=y;limits=1000', undefined, null],
    [limit, 'limit=1&x=y%3Blimit=1000', undefined, null],
    [model, null, { options: { model: 'small' } }, null],
    [model, null, { options: { model: 'large' } }, value('body', 'options.model')],
    [model, null, { options: { model: ['small'] } }, value('body', 'options.model')],
    [model, null, { options: {} }, missing('body', 'options.model')],
    [model, null, { options: 'small' }, missing('body', 'options.model')],
    [
      model,
      null,
      { options: { model: 'small' }, Options: { model: 'large' } },
      repeated('body', 'options.model'),
    ],
    [one, null, {}, null],
    [one, null, { n: 1 }, null],
    [one, null, { n: '1' }, value('body', 'n')],
    [one, null, { n: 2 }, value('body', 'n')],
    [one, null, { n: null }, value('body', 'n')],
    [told, null, {}, null],
    [told, null, { options: { usage: false } }, null],
    [told, null, { stream: false }, null],
    [told, null, { stream: true, options: { usage: true } }, null],
    [told, null, { stream: true }, missing('body', 'options.usage')],
    [told, null, { stream: null }, missing('body', 'options.usage')],
    [told, null, { stream: 'false' }, missing('body', 'options.usage')],
    [told, null, { stream: true, options: { usage: 1 } }, value('body', 'options.usage')],
    [told, null, { stream: false, Stream: true }, repeated('body', 'stream')],
    [toldInQuery, 'stream=false', undefined, null],
    [toldInQuery, 'stream=true&usage=true', undefined, null],
    [toldInQuery, 'stream=true', undefined, missing('query', 'usage')],
    [toldInQuery, 'stream=false&stream=true', undefined, repeated('query', 'stream')],
    [hook, null, {}, null],
    [hook, null, { webhook: null }, { kind: 'option_refused', in: 'body', name: 'webhook' }],
    [hook, null, { Webhook: 'https://x' }, repeated('body', 'webhook')],
    [callback, 'callbacks=1', undefined, null],
    [callback, 'callback', undefined, { kind: 'option_refused', in: 'query', name: 'callback' }],
    [
      callback,
      'c%61llback=x',
      undefined,
      { kind: 'option_refused', in: 'query', name: 'callback' },
    ],
  ])('%j with query %j and body %j: %j', (rule, query, body, fault) => {
    const judged = body === undefined ? none : json(body);
    expect(platformFault([rule], { query, body: judged })).toEqual(fault);
  });

  it('refuses a body that was not read, unless only the query is judged', () => {
    const body: JudgedBody = { kind: 'opaque' };
    const opaque: InputFault = { kind: 'body_unreadable', reason: 'opaque' };
    expect(platformFault([hook], { query: null, body })).toEqual(opaque);
    expect(platformFault([], { query: null, body })).toEqual(opaque);
    expect(platformFault([callback], { query: null, body })).toBeNull();
    expect(platformFault(null, { query: null, body })).toBeNull();
  });
});

describe('no fault', () => {
  it('repeats a value that the caller sent', () => {
    const planted = 'planted-4711';
    const strict = endpoint({
      strictQuery: true,
      bodyAllowlist: true,
      parameters: [
        parameter('query', 'a', { rule: kinds }),
        parameter('body', 'b', { rule: kinds }),
      ],
    });
    const rules: PlatformRule[] = [
      { kind: 'count', in: 'query', at: ['a'], min: 1, max: 2 },
      { kind: 'selector', in: 'body', at: ['b'], equals: 'x', mayBeAbsent: false },
    ];
    const faults = [
      contractFault(strict, { query: `a=${planted}`, body: none }),
      contractFault(strict, { query: null, body: json({ b: planted }) }),
      contractFault(strict, { query: `a=off&a=${planted}`, body: none }),
      platformFault(rules, { query: `a=${planted}`, body: none }),
      platformFault(rules.slice(1), { query: null, body: json({ b: planted }) }),
    ];
    for (const fault of faults) {
      expect(fault).not.toBeNull();
      expect(JSON.stringify(fault)).not.toContain(planted);
    }
  });
});

describe('ceiling_param', () => {
  it.each([
    ['usd', 1, '0.000001'],
    ['usd', 1_500_000, '1.5'],
    ['usd', 20_000_000, '20'],
    ['usd', 0, '0'],
    ['usd', 9_007_199_254_740_991, '9007199254.740991'],
    ['usd_cents', 12_345, '1.2345'],
    ['usd_cents', 10_000, '1'],
    ['micro_usd', 12_345, '12345'],
  ] as const)('%s of %i micro-USD is exactly %s', (unit, micros, text) => {
    expect(withCeiling(null, { name: 'max', unit }, micros)).toBe(`max=${text}`);
  });

  it('replaces what the caller gave, however it is spelled, and keeps the rest', () => {
    const param = { name: 'max', unit: 'micro_usd' } as const;
    expect(withCeiling('a=%41&max=999&m%61x=998&&b', param, 5)).toBe('a=%41&&b&max=5');
    expect(withCeiling('max=9', param, 5)).toBe('max=5');
    expect(withCeiling('MAX=9&Max&maxi=1', param, 5)).toBe('maxi=1&max=5');
  });
});
