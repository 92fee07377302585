/** Where a catalog row may be sent, with what, and what makes it free. */
import { describe, expect, it } from 'vitest';
import { isCatalogId } from '../../../../src/domain/catalog/endpoint';
import { guideMicros } from '../../../../src/domain/catalog/guide-price';
import {
  approvedBase,
  bindingsOf,
  bringsCredential,
} from '../../../../src/domain/catalog/provider';
import type { EgressPolicy } from '../../../../src/domain/egress/allowance';
import { meter } from '../pricing/prices';
import { endpoint, provider } from './rows';

const policy = (
  pairs: readonly string[] = [],
  gatewayHosts: readonly string[] = [],
): EgressPolicy => ({
  allow: { pairs: new Set(pairs) },
  gatewayHosts,
  httpsOnly: true,
});
const base = (host: string, parts: object = {}) => ({
  scheme: 'https' as const,
  host,
  port: 443,
  basePath: '',
  ...parts,
});

describe('a row', () => {
  const two = provider({ baseUrls: [base('a.example', { basePath: '/v1' }), base('b.example')] });

  it('is sent to the first base URL, or to the one of its host', () => {
    expect(approvedBase(two, endpoint(), policy())).toMatchObject({
      ok: true,
      value: { host: 'a.example', basePath: '/v1' },
    });
    expect(approvedBase(two, endpoint({ host: 'b.example' }), policy())).toMatchObject({
      ok: true,
      value: { host: 'b.example', basePath: '' },
    });
  });

  it.each([
    ['a host that is none of its provider', two, { host: 'evil.example' }],
    [
      'a host that only was its provider once',
      provider({ legacyBaseUrls: [base('old.example')] }),
      { host: 'old.example' },
    ],
    ['another provider', two, { provider: 'other' }],
    ['a private address', provider({ baseUrls: [base('10.0.0.1')] }), {}],
    ['a reserved name', provider({ baseUrls: [base('localhost')] }), {}],
    ['plain http', provider({ baseUrls: [base('a.example', { scheme: 'http', port: 80 })] }), {}],
    ['no base URL at all', provider({ baseUrls: [] }), {}],
  ])('with %s is refused before anything is held', (_, of, parts) => {
    expect(approvedBase(of, endpoint(parts), policy())).toEqual({
      ok: false,
      error: 'base_unapproved',
    });
  });

  it('is never sent to the gateway itself', () => {
    const itself = policy([], ['a.example']);
    expect(approvedBase(two, endpoint(), itself).ok).toBe(false);
  });

  it('reaches a local origin only where the development allowance opens that pair', () => {
    const local = provider({ baseUrls: [base('127.0.0.1', { scheme: 'http', port: 9 })] });
    expect(approvedBase(local, endpoint(), policy(['127.0.0.1:9'])).ok).toBe(true);
    expect(approvedBase(local, endpoint(), policy(['127.0.0.1:10'])).ok).toBe(false);
  });
});

describe('bindings of a provider', () => {
  const of = provider({
    bindings: [
      {
        location: 'header',
        name: 'authorization',
        injector: 'bearer',
        format: null,
        field: 'token',
      },
    ],
    requiredHeaders: [['x-version', '3']],
  });
  const constant = {
    location: 'header',
    name: 'x-version',
    injector: 'custom',
    format: '3',
    source: { kind: 'constant' },
  };

  it('carry a secret of the tenant with its field, and the constants', () => {
    const source = { kind: 'secret', secretId: 'sec_1', field: null } as const;
    expect(bindingsOf(of, source)).toEqual([
      {
        location: 'header',
        name: 'authorization',
        injector: 'bearer',
        format: null,
        source: { kind: 'secret', secretId: 'sec_1', field: 'token' },
      },
      constant,
    ]);
  });

  it('carry a setting of the operator with its field too: an account may be more than one text', () => {
    const source = { kind: 'platform_setting', setting: 'VENDOR_KEY' } as const;
    expect(bindingsOf(of, source)[0]).toMatchObject({
      name: 'authorization',
      source: { ...source, field: 'token' },
    });
  });
});

describe('a credential that the caller brings', () => {
  const of = provider({
    bindings: [
      { location: 'header', name: 'authorization', injector: 'bearer', format: null, field: null },
      { location: 'query', name: 'key', injector: 'api_key', format: null, field: null },
    ],
  });
  const headers = (...names: string[]) => ({ hasHeader: (name: string) => names.includes(name) });

  it.each([
    [headers('authorization'), null, true],
    [headers('accept'), null, false],
    [headers(), 'a=1&k%65y=x', true],
    [headers(), 'keys=x', false],
  ])('is seen in its header or query pair', (found, query, expected) => {
    expect(bringsCredential(of, { ...found, query })).toBe(expected);
  });
});

describe('a catalog id', () => {
  it.each(['a.b', 'openai.chat.completions', 'x1.y-2_z'])('%s is one', (id) => {
    expect(isCatalogId(id)).toBe(true);
  });
  it.each([
    'a',
    '.a',
    'a.',
    'a..b',
    'A.b',
    'a.b/c',
    'a.b c',
    '-a.b',
    'a.%41',
    `a.${'b'.repeat(95)}`,
    'a.b\n',
  ])('%j is none', (id) => {
    expect(isCatalogId(id)).toBe(false);
  });
});

describe('the guide price', () => {
  const when = [{ in: 'body', at: 'model', oneOf: ['x'] }] as const;
  it.each([
    [{ kind: 'free' }, 0],
    [
      {
        kind: 'per_call',
        prices: [
          { when, priceMicros: 9 },
          { when: [], priceMicros: 5 },
        ],
      },
      5,
    ],
    [{ kind: 'per_success', prices: [{ when, priceMicros: 9 }] }, 9],
    [{ kind: 'per_call', prices: [] }, null],
    [
      {
        kind: 'per_result',
        prices: [{ when: [], perMillionMicros: 1_000_001 }],
        results: 'a',
        reserve: { kind: 'fixed', units: 1 },
      },
      11,
    ],
    [
      {
        kind: 'quota_rows',
        prices: [{ when: [], perMillionMicros: 1_000_000 }],
        page: null,
        entities: null,
        rows: null,
      },
      20,
    ],
    [
      {
        kind: 'usage',
        meters: [
          meter('a', ['a'], { isRequired: true }),
          meter('b', ['b'], { reserve: [{ kind: 'fixed', units: 1 }] }),
          meter('only_some_calls', ['c']),
        ],
        prices: [{ when: [], perMillionMicros: { a: 2_000, b: 500, only_some_calls: 9_000_000 } }],
        ends: [],
      },
      3,
    ],
  ] as const)('of %j is %j', (cost, micros) => {
    expect(guideMicros(cost)).toBe(micros);
  });
});
