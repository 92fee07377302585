/** The pure half of collecting: which accounts, what is sent, what an answer says. */
import { describe, expect, it } from 'vitest';
import {
  accountsOf,
  collectRequest,
  lookedUpId,
  measured,
  timeOf,
  unusedAccounts,
} from '../../../../src/domain/capacity/collect';
import { withheldNote } from '../../../../src/domain/capacity/note';
import type { BalanceRequest } from '../../../../src/domain/catalog/balance';
import { account, balanceCall, vendor } from './accounts-under-test';

const policy = {
  allow: { pairs: new Set<string>() },
  gatewayHosts: ['gw.example'],
  httpsOnly: true,
};
const credential = 'the-key';

describe('the accounts of a provider', () => {
  const settings = new Map([['VENDOR_KEY', 'a']]);
  const none = new Map<string, readonly string[]>();

  it('are those with a credential', () => {
    expect(accountsOf(vendor(), settings, none)).toEqual([account()]);
    expect(accountsOf(vendor(), new Map(), none)).toEqual([]);
    expect(accountsOf(vendor({ accounts: [] }), settings, none)).toEqual([]);
  });

  it('have further ones by their labels, each with a credential of its own', () => {
    const labels = new Map([['vendor', ['backup']]]);
    const found = accountsOf(vendor(), settings, labels);
    expect(found.map(({ account: label, setting }) => [label, setting])).toEqual([
      ['primary', 'VENDOR_KEY'],
      ['backup', 'vendor/backup/VENDOR_KEY'],
    ]);
  });

  it('are asked with the key that may ask, where the balance call names one', () => {
    const balance = balanceCall({ setting: 'VENDOR_ADMIN' });
    const found = accountsOf(vendor({ balance }), settings, new Map([['vendor', ['b']]]));
    expect(found.map(({ setting }) => setting)).toEqual(['VENDOR_ADMIN', 'vendor/b/VENDOR_ADMIN']);
  });
});

describe('further accounts that no call can use', () => {
  const labels = new Map([['vendor', ['b', 'c']]]);
  const own = new Map([['VENDOR_KEY', 'a']]);
  const both = new Map([...own, ['vendor/b/VENDOR_KEY', 'b'], ['vendor/c/VENDOR_KEY', 'c']]);
  it.each([
    ['of a provider that the catalog does not have', [], both, ['vendor/b', 'vendor/c']],
    ['of one without an account', [vendor({ accounts: [] })], both, ['vendor/b', 'vendor/c']],
    [
      'of one whose own account has no credential',
      [vendor({ accounts: [{ label: 'main', setting: 'OTHER_KEY' }] })],
      new Map([...own, ['vendor/b/OTHER_KEY', 'b'], ['vendor/c/OTHER_KEY', 'c']]),
      ['vendor/b', 'vendor/c'],
    ],
    [
      'with another setting only',
      [vendor()],
      new Map([...own, ['vendor/b/VENDOR_KEY', 'b'], ['vendor/c/VENDOR_ADMIN', 'c']]),
      ['vendor/c'],
    ],
    ['are none where each has its own', [vendor()], both, []],
  ])('%s', (_, providers, settings, unused) => {
    expect(unusedAccounts(providers, settings, labels)).toEqual(unused);
  });
});

describe('a balance call', () => {
  const request = (
    parts: Parameters<typeof account>[0] = {},
    {
      url = 'https://api.vendor.example/v1/credits',
      method = 'GET' as 'GET' | 'POST',
      key = credential,
      httpsOnly = true,
    } = {},
  ) => collectRequest(account(parts), { url, method, credential: key }, { ...policy, httpsOnly });

  it('carries the credential as every call of the provider does, and its constant headers', () => {
    expect(request()).toMatchObject({
      ok: true,
      value: {
        url: 'https://api.vendor.example/v1/credits',
        method: 'GET',
        body: null,
        headers: [
          ['accept', 'application/json'],
          ['accept-encoding', 'identity'],
          ['authorization', 'Bearer the-key'],
          ['x-version', '3'],
        ],
        secrets: [credential, credential],
      },
    });
  });

  it('carries it in the query or in a JSON body where the provider wants it there', () => {
    const at = (location: 'query' | 'json') => ({
      requiredHeaders: [],
      bindings: [
        { location, name: 'key', injector: 'api_key', format: null, field: null } as const,
      ],
    });
    const url = 'https://api.vendor.example/v1/credits?a=1&key=old';
    expect(request(at('query'), { url, key: 'k&y' })).toMatchObject({
      value: { url: 'https://api.vendor.example/v1/credits?a=1&key=k%26y' },
    });
    expect(request(at('json'), { method: 'POST', key: 'k"y' })).toMatchObject({
      value: {
        body: '{"key":"k\\"y"}',
        headers: expect.arrayContaining([['content-type', 'application/json']]),
      },
    });
    const bare = 'https://api.vendor.example?a=1';
    expect(request(at('query'), { url: bare })).toMatchObject({
      value: { url: 'https://api.vendor.example?a=1&key=the-key' },
    });
    expect(request(at('json'))).toEqual({ ok: false, error: 'credential_unusable' });
  });

  it.each([
    ['another host', 'https://evil.example/v1/credits'],
    ['another port', 'https://api.vendor.example:8443/v1/credits'],
    ['another scheme', 'http://api.vendor.example/v1/credits'],
    ['a host that only looks the same', 'https://api.vendor.example@evil.example/'],
    ['no URL', 'credits'],
  ])('never sends it to %s', (_, url) => {
    expect(request({}, { url })).toEqual({ ok: false, error: 'address_refused' });
  });

  it('never sends it in the clear where http may leave and the base URL is https', () => {
    const url = 'http://api.vendor.example:443/v1/credits';
    const refused = { ok: false, error: 'address_refused' };
    expect(request({}, { url, httpsOnly: false })).toEqual(refused);
  });

  it('may go to any of the base URLs', () => {
    const other = { scheme: 'https', host: 'eu.vendor.example', port: 443, basePath: '' } as const;
    const baseUrls = [...vendor().baseUrls, other];
    const url = 'https://eu.vendor.example/credits';
    expect(request({ baseUrls }, { url })).toMatchObject({ value: { url } });
  });

  it.each([
    ['10.0.0.1', 'a private address'],
    ['gw.example', 'the gateway itself'],
  ])('never sends it to %s, %s, though it is a base URL', (host) => {
    const baseUrls = [{ scheme: 'https', host, port: 443, basePath: '' } as const];
    expect(request({ baseUrls }, { url: `https://${host}/credits` })).toEqual({
      ok: false,
      error: 'address_refused',
    });
  });

  it('sends nothing with a credential that does not fit into its header', () => {
    expect(request({}, { key: 'a\r\nb' })).toEqual({ ok: false, error: 'credential_unusable' });
  });
});

describe('an id that was looked up', () => {
  it.each<[unknown, string | null]>([
    ['p-1', 'p-1'],
    [17, '17'],
    ['..', null],
    ['.x', null],
    ['a/b', null],
    ['a?b', null],
    ['a%2fb', null],
    ['', null],
    ['x'.repeat(129), null],
    [null, null],
    [{}, null],
  ])('%j is %j in a path', (id, expected) => {
    const found = lookedUpId({ projects: [{ id }] }, 'projects[0].id');
    expect(found).toEqual(
      expected === null ? { ok: false, error: 'no_id' } : { ok: true, value: expected },
    );
  });
});

describe('an answer', () => {
  const of = (parts: Partial<BalanceRequest>, document: unknown) =>
    measured(balanceCall(parts), document, [credential]);

  it.each<[string, Partial<BalanceRequest>, unknown, number]>([
    ['a number', {}, { left: 12.5 }, 12.5],
    ['zero', {}, { left: 0 }, 0],
    ['less than zero', {}, { left: -2 }, -2],
    ['a text that is a number', {}, { left: '12.50' }, 12.5],
    ['a nested one', { remaining: 'data.left' }, { data: { left: 3 } }, 3],
    ['what was bought less what was used', { remainingMinus: 'used' }, { left: 10, used: 4 }, 6],
    ['cents', { divideBy: 100 }, { left: 1250 }, 12.5],
    ['a sum', { remaining: 'all[*].n' }, { all: [{ n: 1 }, { n: 2.5 }] }, 3.5],
    ['a sum of nothing', { remaining: 'all[*].n' }, { all: [] }, 0],
    ['a count', { remaining: 'all[*]' }, { all: [1, 2] }, 2],
  ])('says %s', (_, parts, document, remaining) => {
    expect(of(parts, document)).toMatchObject({ ok: true, value: { remaining } });
  });

  it.each<[string, Partial<BalanceRequest>, unknown]>([
    ['nothing of it', {}, {}],
    ['null', {}, { left: null }],
    ['a word', {}, { left: 'many' }],
    ['no finite number', {}, { left: '1e999' }],
    // What JSON.parse makes of a bare 1e999.
    ['a number beyond all numbers', {}, { left: Number.POSITIVE_INFINITY }],
    ['a text of more digits than a number keeps', {}, { left: '1234567890123456' }],
    ['an empty text', {}, { left: '' }],
    ['a truth', {}, { left: true }],
    ['a list', {}, [1]],
    ['not what was used', { remainingMinus: 'used' }, { left: 10 }],
    ['a sum with a word in it', { remaining: 'all[*].n' }, { all: [{ n: 1 }, { n: 'x' }] }],
    ['null instead of a document', {}, null],
  ])('that says %s has another shape, and is never a zero', (_, parts, document) => {
    expect(of(parts, document)).toEqual({ ok: false, error: 'wrong_shape' });
  });

  it('says total, reset and note where they are, and null where they are not', () => {
    const parts = { total: 'all', resetsAt: 'at', note: 'plan', divideBy: 10 };
    expect(of(parts, { left: 10, all: 50, at: 1_900_000_000, plan: 'Pro' })).toEqual({
      ok: true,
      value: { remaining: 1, total: 5, resetsAtMs: 1_900_000_000_000, note: 'Pro' },
    });
    expect(of(parts, { left: 10, all: 'x', at: 'soon', plan: { a: 1 } })).toEqual({
      ok: true,
      value: { remaining: 1, total: null, resetsAtMs: null, note: null },
    });
    expect(of(parts, { left: 1, plan: `key ${credential}` })).toMatchObject({
      value: { note: withheldNote },
    });
    expect(of(parts, { left: 1, plan: 7 })).toMatchObject({ value: { note: '7' } });
    expect(of(parts, { left: 1, plan: true })).toMatchObject({ value: { note: 'true' } });
  });
});

describe('a time', () => {
  it.each<[unknown, number | null]>([
    [1_900_000_000, 1_900_000_000_000],
    [1_900_000_000_000, 1_900_000_000_000],
    // The last seconds, the first milliseconds.
    [99_999_999_999, 99_999_999_999_000],
    [100_000_000_000, 100_000_000_000],
    ['1900000000', 1_900_000_000_000],
    [1_900_000_000.5, 1_900_000_000_500],
    ['2030-01-01T00:00:00Z', Date.UTC(2030, 0, 1)],
    ['2030-01-01T02:00:00.5+02:00', Date.UTC(2030, 0, 1) + 500],
    ['2030-01-01 00:00:00Z', Date.UTC(2030, 0, 1)],
    ['2030-01-01', null],
    ['2030-01-01T00:00:00', null],
    ['2030-13-01T00:00:00Z', null],
    ['tomorrow', null],
    [0, null],
    [-5, null],
    [Number.NaN, null],
    [1e300, null],
    // The last millisecond that RFC 3339 can write; microseconds; what no date holds (the views and the 503 would throw).
    [253_402_300_799_999, 253_402_300_799_999],
    [253_402_300_800_000, null],
    [1_900_000_000_000_000, null],
    [9_000_000_000_000_000, null],
    [null, null],
    [undefined, null],
  ])('%j is %j', (value, expected) => {
    expect(timeOf(value)).toBe(expected);
  });
});
