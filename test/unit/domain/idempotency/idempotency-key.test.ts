import { describe, expect, it } from 'vitest';
import {
  type FingerprintedRequest,
  fingerprintChunks,
  fingerprintText,
  idempotencyScope,
  readIdempotencyKey,
  recordIdOf,
} from '../../../../src/domain/idempotency/idempotency-key';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

describe('readIdempotencyKey', () => {
  it.each([[null], ['k'], ['"quoted"'], ['a@b, c'], ['x'.repeat(200)]])(
    'takes %j as it is',
    (key) => {
      expect(readIdempotencyKey(key)).toEqual({ ok: true, value: key });
    },
  );

  it('refuses one with a byte that is no UTF-8: another such key would look the same', () => {
    expect(readIdempotencyKey('order-\ufffd')).toEqual({
      ok: false,
      error: { reason: 'not_utf8' },
    });
    expect(readIdempotencyKey('order-ä')).toEqual({ ok: true, value: 'order-ä' });
  });

  it('refuses an empty and a long one; it never cuts', () => {
    expect(readIdempotencyKey('')).toEqual({ ok: false, error: { reason: 'empty' } });
    expect(readIdempotencyKey('x'.repeat(201))).toEqual({
      ok: false,
      error: { reason: 'too_long', charsMax: 200 },
    });
  });
});

describe('idempotencyScope', () => {
  const scope = (principalId: string, tags: readonly string[] | null, dimension: string | null) =>
    idempotencyScope({ principalId, tags, primaryDimension: dimension });

  it('C068: principals, values of the primary tag, and no tag at all never share a key', () => {
    const scopes = [
      scope('prn_A', null, null),
      scope('prn_B', null, null),
      scope('prn_A', ['team', 'a'], 'team'),
      scope('prn_A', ['team', 'b'], 'team'),
      scope('prn_A', ['team', 'prn_A'], 'team'),
      scope('prn_B', ['team', 'a'], 'team'),
    ];
    expect(new Set(scopes).size).toBe(scopes.length);
  });

  it('other tags and the order of tags do not change it', () => {
    const one = scope('prn_A', ['team', 'a', 'env', 'x'], 'team');
    expect(scope('prn_A', ['env', 'y', 'team', 'a'], 'team')).toBe(one);
    expect(scope('prn_A', ['env', 'x'], 'team')).toBe(scope('prn_A', null, 'team'));
    expect(scope('prn_A', ['team', 'a'], null)).toBe('prn_A');
  });
});

describe('fingerprintChunks', () => {
  const base: FingerprintedRequest = {
    method: 'POST',
    path: '/call/v/a',
    query: 'x=1',
    body: bytes('{"n":1}'),
  };
  const joined = (request: Partial<FingerprintedRequest>): string => {
    const chunks = fingerprintChunks({ ...base, ...request });
    return chunks.flatMap((chunk) => [...chunk]).join();
  };

  it.each([
    ['another body', { body: bytes('{"n":2}') }],
    ['the same JSON, re-spaced', { body: bytes('{"n": 1}') }],
    ['no body', { body: bytes('') }],
    ['another path', { path: '/call/v/b' }],
    ['another method', { method: 'PUT' }],
    ['another query', { query: 'x=2' }],
    ['an empty query', { query: '' }],
    ['no query', { query: null }],
    ['path and query shifted', { path: '/call/v/a?x', query: '=1' }],
    ['query and body shifted', { query: 'x=', body: bytes('1{"n":1}') }],
  ])('C066: %s is another request', (_name, change) => {
    expect(joined(change)).not.toBe(joined({ query: 'x=1' }));
  });

  it('an empty query is not the same as none, and equal requests are equal', () => {
    expect(joined({ query: '' })).not.toBe(joined({ query: null }));
    expect(joined({ query: 'null' })).not.toBe(joined({ query: null }));
    expect(joined({ query: 'x=1' })).toBe(joined({ ...base }));
  });

  it('C066: is the hash of method, path, query and body with NULs between', () => {
    const chunks = fingerprintChunks(base);
    const text = chunks.map((chunk) => new TextDecoder().decode(chunk)).join('');
    expect(text).toBe('POST\0/call/v/a\0?x=1\0{"n":1}');
    expect(() => fingerprintChunks({ ...base, path: '/a\0b' })).toThrow('NUL');
  });

  it('the body is not copied', () => {
    expect(fingerprintChunks(base)[1]).toBe(base.body);
  });

  it('its text fits a claim', () => {
    const hash = Uint8Array.from({ length: 32 }, (_, i) => i);
    expect(fingerprintText(hash)).toBe(
      '000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f',
    );
    expect(() => fingerprintText(new Uint8Array(31))).toThrow('32 bytes');
  });
});

describe('recordIdOf', () => {
  it('one hold, one record', () => {
    expect(recordIdOf('hld_01ABC')).toBe('idm_01ABC');
    expect(() => recordIdOf('x')).toThrow('hold id');
    expect(() => recordIdOf('hld_')).toThrow('hold id');
  });
});
