/**
 * 01 intake: what is taken in, what is ours in it, and every request that is refused at the door.
 */
import { describe, expect, it } from 'vitest';
import {
  headerBytesMax,
  headerCountMax,
  requestBodyBytesMax,
  urlBytesMax,
} from '../../../src/base/limits';
import { type IntakeRules, intake } from '../../../src/call/01-intake';
import type { CallRequest, Surface } from '../../../src/call/call';
import { EncodedBody } from '../../../src/call/encoded-body';
import type { Refusal } from '../../../src/domain/refusal';
import { otherToken, startMs, token } from './calls';

const rules: IntakeRules = {
  clientIpHeaders: new Set(['x-azure-clientip']),
  egress: { allow: { pairs: new Set() }, gatewayHosts: ['gw.test'], httpsOnly: true },
};

interface Sent {
  readonly headers?: HeadersInit;
  readonly method?: string;
  readonly surface?: Surface;
  readonly key?: string | null;
}

function take(target: string, sent: Sent = {}): CallRequest | Refusal {
  const headers = new Headers(sent.headers);
  if (sent.key !== null) headers.set('x-weir-key', sent.key ?? token);
  const request = new Request(`https://gw.test${target}`, {
    method: sent.method ?? 'GET',
    headers,
  });
  const result = intake(request, sent.surface ?? 'call', startMs, rules);
  return result.ok ? result.value : result.error;
}

function accepted(target: string, sent?: Sent): CallRequest {
  const call = take(target, sent);
  if ('code' in call) throw new Error(`refused: ${JSON.stringify(call)}`);
  return call;
}

describe('what the caller named', () => {
  it.each([
    ['/call/api', { kind: 'name', name: 'api' }, '', null],
    ['/call/api/', { kind: 'name', name: 'api' }, '/', null],
    ['/call/api/v1/a%2Fb?q=1&&x', { kind: 'name', name: 'api' }, '/v1/a%2Fb', 'q=1&&x'],
    ['/call/api?', { kind: 'name', name: 'api' }, '', ''],
    ['/call/api/a//b', { kind: 'name', name: 'api' }, '/a//b', null],
    ['/call/a:b/c', { kind: 'name', name: 'a:b' }, '/c', null],
    ['/call/:/c', { kind: 'name', name: ':' }, '/c', null],
    ['/call//c', { kind: 'name', name: '' }, '/c', null],
  ])('%s on /call', (target, named, path, query) => {
    expect(accepted(target)).toMatchObject({ target: named, path, query, surface: 'call' });
  });

  it.each([
    ['/catalog/call/vendor.search', 'vendor.search', '', null],
    ['/catalog/call/vendor.search?user=a', 'vendor.search', '', 'user=a'],
    ['/catalog/call/vendor.search/', 'vendor.search', '/', null],
    ['/catalog/call/Vendor.Search/x', 'Vendor.Search', '/x', null],
    ['/catalog/call/https://api.t/v1', 'https:', '//api.t/v1', null],
    ['/catalog/call/', '', '', null],
  ])('%s on /catalog/call is an id, whatever it looks like', (target, id, path, query) => {
    const call = accepted(target, { surface: 'catalog' });
    expect(call).toMatchObject({ target: { kind: 'catalog', id }, path, query });
  });

  it('an alias is read in lower case', () => {
    const call = accepted('/proxy/API.T/v1', { surface: 'proxy' });
    expect(call).toMatchObject({ target: { kind: 'alias', alias: 'api.t' }, path: '/v1' });
  });

  it.each(['/call/https://api.t/v1?a=1', '/call/https:/api.t/v1?a=1'])('a URL: %s', (target) => {
    const call = accepted(target);
    expect(call.target).toMatchObject({ kind: 'url', url: { host: 'api.t', port: 443 } });
    expect([call.path, call.query]).toEqual(['/v1', 'a=1']);
  });

  it.each([
    ['/call/http://api.t/', 'scheme'],
    ['/call/https://u:p@api.t/', 'userinfo'],
    ['/call/https://api.t:0/', 'port'],
  ])('%s is no target', (target, reason) => {
    expect(take(target)).toEqual({ code: 'request.url_invalid', reason });
  });

  it.each([
    ['/call/https://127.0.0.1/x', '127.0.0.1'],
    ['/call/https://localhost/x', 'localhost'],
    ['/call/https://gw.test/x', 'gw.test'],
  ])('%s is refused later, when we know who asks', (target, host) => {
    expect(accepted(target)).toMatchObject({ target: { kind: 'private_url', host }, path: '/x' });
  });

  it.each([
    ['/call/api/a%2f..%2fb', 'dot_segment'],
    ['/call/api/a%2f.', 'dot_segment'],
    ['/call/api/a/..;/b', 'dot_segment'],
    ['/call/api/a/..;x=1/b', 'dot_segment'],
    ['/call/api/a/.%2e%3bx/b', 'dot_segment'],
    ['/call/api/a/.;', 'dot_segment'],
    ['/call/api/a%5cb', 'backslash'],
  ])('%s has a path that means two things', (target, reason) => {
    expect(take(target)).toEqual({ code: 'request.path_invalid', reason });
  });
});

describe('the key', () => {
  const basic = btoa(`${token}:`);
  it.each([
    ['x-weir-key', token, null],
    ['authorization', `Bearer ${token}`, null],
    ['authorization', `Basic ${basic}`, null],
    ['authorization', `Basic\t${basic}`, null],
    ['authorization', `Basic ${btoa(`me+${token}:x`)}`, null],
    ['authorization', `Bearer "${token}"`, null],
    ['authorization', `Token token=${token}`, null],
    ['authorization', `Bearer ${token} ${token}`, null],
    ['authorization', `Bearer ${token};x, Bearer sk-mine`, 'Bearer sk-mine'],
    ['x-api-key', token, null],
    ['x-api-key', `'${token}'`, null],
    ['x-goog-api-key', token, null],
    ['api-key', token, null],
    ['apikey', token, null],
    ['x-any-name', token, null],
    ['sec-websocket-protocol', `chat, openai-insecure-api-key.${token}`, 'chat'],
  ])('is found in %s and does not pass', (name, value, rest) => {
    const call = accepted('/call/api', { key: null, headers: { [name]: value } });
    expect(call.token).toBe(token);
    if (rest === null) expect(call.headers.drop).toContain(name);
    else expect(call.headers.rewrite).toEqual([[name, rest]]);
  });

  it('is found in the query, and the pairs beside it keep their bytes', () => {
    const call = accepted(`/call/api?a=%7e&key=${token}&b`, { key: null });
    expect([call.token, call.query]).toEqual([token, 'a=%7e&b']);
  });

  it('is found in a pair of any name that is nothing else', () => {
    const call = accepted(`/call/api?a=%7e&apikey=${token.replace('_', '%5f')}&b`, { key: null });
    expect([call.token, call.query]).toEqual([token, 'a=%7e&b']);
  });

  it.each([
    ['a header', { headers: { 'x-note': `see ${token}` } }, ''],
    ['a pair', {}, `?note=see+${token}`],
  ])('inside the text of %s that is no carrier is text', (_, options, query) => {
    const call = accepted(`/call/api${query}`, options);
    expect([call.query ?? '', call.headers.drop]).toEqual([query.slice(1), ['x-weir-key']]);
  });

  it('is found in the query behind a scheme, whose pair goes whole', () => {
    const call = accepted(`/call/api?key=Bearer%20${token}&b`, { key: null });
    expect([call.token, call.query]).toEqual([token, 'b']);
  });

  it.each([
    ['one element of a header', 'x-api-key', `${token} ${otherToken}`],
    ['one pair of Basic', 'authorization', `Basic ${btoa(`${token}:${otherToken}`)}`],
  ])('of another caller beside it in %s is a conflict', (_, name, value) => {
    expect(take('/call/api', { key: null, headers: { [name]: value } })).toEqual({
      code: 'auth.key_conflict',
    });
  });

  it('of the caller to its vendor is not ours', () => {
    const call = accepted('/call/api?key=mine', { headers: { authorization: 'Bearer sk-mine' } });
    expect([call.query, call.headers.drop]).toEqual(['key=mine', ['x-weir-key']]);
  });

  it('may stand in two places when it is the same', () => {
    const headers = { authorization: `Bearer ${token}` };
    expect(accepted(`/call/api?key=${token}`, { headers }).token).toBe(token);
  });

  it.each([
    ['two headers', '/call/api', { authorization: `Bearer ${otherToken}` }],
    ['header and query', `/call/api?key=${otherToken}`, {}],
  ])('differs in %s: 400', (_, target, headers) => {
    expect(take(target, { headers })).toEqual({ code: 'auth.key_conflict' });
  });

  it('is missing: 401', () => {
    expect(take('/call/api', { key: null })).toEqual({ code: 'auth.failed', reason: 'missing' });
  });
});

describe('headers', () => {
  it('that are hop-by-hop, the edge’s, the deployment’s client-IP or ours are dropped, others are not', () => {
    const dropped = [
      'keep-alive',
      'via',
      'cf-ray',
      'x-forwarded-for',
      'x-weir-x',
      'x-azure-clientip',
    ];
    const headers = Object.fromEntries([...dropped, 'x-mine', 'x-forward'].map((n) => [n, 'v']));
    const { drop } = accepted('/call/api', { headers }).headers;
    expect([...drop].sort()).toEqual([...dropped, 'x-weir-key'].sort());
  });

  it.each([
    ['a=1, __Host-weir_session=s; b=2', 'a=1; b=2'],
    ['__Host-weir_session=s, b=2', 'b=2'],
    ['a=1; __Host-weir_oauth=t, __Host-weir_session=s', 'a=1'],
    ['a=1, __Host-weir_session', 'a=1'],
    ['a=1, __Host-weir_session2=s; __Host-weir_oauth=t', 'a=1, __Host-weir_session2=s'],
  ])('of two Cookie lines, which arrive joined, lose ours too: %s', (cookie, rest) => {
    const { rewrite } = accepted('/call/api', { headers: { cookie } }).headers;
    expect(rewrite).toEqual([['cookie', rest]]);
  });

  it('of the console’s cookies lose ours only', () => {
    const headers = { cookie: 'a=1; __Host-weir_session=s; b=2' };
    expect(accepted('/call/api', { headers }).headers.rewrite).toEqual([['cookie', 'a=1; b=2']]);
  });

  it('of a WebSocket upgrade keep it', () => {
    const { drop, upgrade } = accepted('/call/api', { headers: { upgrade: 'websocket' } }).headers;
    expect([upgrade, drop.includes('upgrade')]).toEqual([true, false]);
  });

  it.each(['POST', 'HEAD', 'OPTIONS'])(
    'of an upgrade with %s go: fetch would send a GET, and that was not judged',
    (method) => {
      const headers = { upgrade: 'websocket' };
      const { drop, upgrade } = accepted('/call/api', { method, headers }).headers;
      expect([upgrade, drop.includes('upgrade')]).toEqual([false, true]);
    },
  );

  it('that Connection names are for this hop; framing, host and the upgrade stay', () => {
    const headers = { connection: 'x-hop, close, Content-Length, upgrade', 'x-hop': 'v' };
    expect(accepted('/call/api', { headers }).headers.drop).toEqual([
      'connection',
      'x-weir-key',
      'x-hop',
    ]);
  });

  it('of a metered call are read, and are ours to drop; the caller’s own key is not', () => {
    const headers = {
      'idempotency-key': 'k1',
      'x-weir-meta': 'team=a, env=prod',
      'x-weir-max-cost-micro': '70',
      'x-weir-keep-reported-charge': '1',
    };
    const call = accepted('/call/api', { headers });
    expect(call.tags).toEqual(['team', 'a', 'env', 'prod']);
    expect(call.headers).toMatchObject({
      idempotencyKey: 'k1',
      maxCostMicro: '70',
      keepsReportedCharge: true,
    });
    expect([...call.headers.drop].sort()).toEqual([
      'x-weir-keep-reported-charge',
      'x-weir-key',
      'x-weir-max-cost-micro',
      'x-weir-meta',
    ]);
  });

  it.each(['1', 'true', 'yes', 'x'])(
    'keep the vendor’s charge with a truthy value: %s',
    (value) => {
      const headers = { 'x-weir-keep-reported-charge': value };
      expect(accepted('/call/api', { headers }).headers.keepsReportedCharge).toBe(true);
    },
  );

  it.each(['', '0', 'false', 'No', 'off'])('do not keep it when it says %j', (value) => {
    const headers = { 'x-weir-keep-reported-charge': value };
    expect(accepted('/call/api', { headers }).headers.keepsReportedCharge).toBe(false);
  });

  it.each([
    ['no pair', 'team', { pair: 1, reason: 'not_a_pair' }],
    ['one name twice', 'a=1,a=2', { pair: 2, reason: 'repeated_key' }],
  ])('of tags with %s are refused at the door', (_, meta, fault) => {
    const refusal = { code: 'meta.invalid', ...fault };
    expect(take('/call/api', { headers: { 'x-weir-meta': meta } })).toEqual(refusal);
  });

  it('name the target host', () => {
    const headers = { 'x-weir-target-host': 'b.api.t' };
    expect(accepted('/call/api', { headers }).headers.targetHost).toBe('b.api.t');
  });
});

describe('bounds and framing', () => {
  const ofLength = (bytes: number): string =>
    `/call/api/${'a'.repeat(bytes - '/call/api/'.length)}`;

  it('a target of urlBytesMax passes, one byte more is 414', () => {
    accepted(ofLength(urlBytesMax));
    const refusal = { code: 'request.url_too_long', bytesMax: urlBytesMax };
    expect(take(ofLength(urlBytesMax + 1))).toEqual(refusal);
  });

  /** As it comes in: the runtime keeps what is not ASCII, a Request of our own would escape it. */
  const raw = (target: string, headers: Record<string, string> = {}) => {
    const request = new Request('https://gw.test/');
    // No Headers of our own either: they warn of every value that is not ASCII.
    const all = new Map(Object.entries({ ...headers, 'x-weir-key': token }));
    Object.defineProperty(request, 'headers', { value: all });
    Object.defineProperty(request, 'url', { value: `https://gw.test${target}` });
    const result = intake(request, 'call', startMs, rules);
    return result.ok ? null : result.error;
  };

  /** A request whose body does not come from a constructor: a GET may have one. */
  const withBody = (method: string, headers: Record<string, string>) => {
    const request = new Request('https://gw.test/call/api', { headers: { 'x-weir-key': token } });
    const all = new Map(Object.entries({ ...headers, 'x-weir-key': token }));
    Object.defineProperty(request, 'method', { value: method });
    Object.defineProperty(request, 'headers', { value: all });
    Object.defineProperty(request, 'body', { value: new ReadableStream() });
    const result = intake(request, 'call', startMs, rules);
    return result.ok ? result.value : result.error;
  };

  it.each(['chunked', 'Chunked'])('a body that is %s is taken, but not of GET and HEAD', (how) => {
    const headers = { 'transfer-encoding': how };
    const refusal = { code: 'request.framing_invalid', reason: 'chunked_get' };
    expect(withBody('POST', headers)).toMatchObject({ declaredBytes: null, encoded: null });
    for (const method of ['GET', 'HEAD']) expect(withBody(method, headers)).toEqual(refusal);
  });

  it('a body that came encoded is decoded, has no declared length, and is none of GET and HEAD', () => {
    const headers = { 'x-weir-body-encoding': 'base64', 'content-length': '8' };
    const call = withBody('POST', headers);
    expect(call).toMatchObject({ declaredBytes: null, encoded: expect.any(EncodedBody) });
    const refusal = { code: 'request.framing_invalid', reason: 'chunked_get' };
    for (const method of ['GET', 'HEAD']) expect(withBody(method, headers)).toEqual(refusal);
  });

  it('an encoding that nobody knows is refused; without a body it says nothing', () => {
    const headers = { 'x-weir-body-encoding': 'rot13' };
    const refusal = { code: 'request.body_encoding_invalid', reason: 'unknown' };
    expect(withBody('POST', headers)).toEqual(refusal);
    expect(accepted('/call/api', { headers }).encoded).toBeNull();
  });

  it.each(['é', '€', '😀'])('a target is measured in bytes, not in characters: %s', (char) => {
    const bytes = new TextEncoder().encode(char).length;
    const head = '/call/api/';
    const most = Math.floor((urlBytesMax - head.length) / bytes);
    const refusal = { code: 'request.url_too_long', bytesMax: urlBytesMax };
    expect(raw(head + char.repeat(most))).toBeNull();
    expect(raw(head + char.repeat(most + 1))).toEqual(refusal);
  });

  it.each(['é', '€'])('headers are measured in bytes, not in characters: %s', (char) => {
    const bytes = new TextEncoder().encode(char).length;
    const own = 'x-weir-key'.length + token.length + 'x-big'.length;
    const most = Math.floor((headerBytesMax - own) / bytes);
    const refusal = { code: 'request.headers_too_large', limit: 'bytes', max: headerBytesMax };
    expect(raw('/call/api', { 'x-big': char.repeat(most) })).toBeNull();
    expect(raw('/call/api', { 'x-big': char.repeat(most + 1) })).toEqual(refusal);
  });

  it('a header byte that is no UTF-8 counts as the one that it is', () => {
    expect(raw('/call/api', { 'x-big': '\ufffd'.repeat(60_000) })).toBeNull();
  });

  const many = (count: number): Record<string, string> =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`x-h${i}`, 'v']));

  it('headerCountMax names pass, one more is 431', () => {
    accepted('/call/api', { headers: many(headerCountMax - 1) });
    const refusal = { code: 'request.headers_too_large', limit: 'count', max: headerCountMax };
    expect(take('/call/api', { headers: many(headerCountMax) })).toEqual(refusal);
  });

  it('headerBytesMax of names and values pass, one more is 431', () => {
    const own = 'x-weir-key'.length + token.length + 'x-big'.length;
    const big = (bytes: number) => ({ headers: { 'x-big': 'v'.repeat(bytes - own) } });
    accepted('/call/api', big(headerBytesMax));
    const refusal = { code: 'request.headers_too_large', limit: 'bytes', max: headerBytesMax };
    expect(take('/call/api', big(headerBytesMax + 1))).toEqual(refusal);
  });

  it.each(['a\x01b', 'a\x7fb', '\x1f'])('a control byte in a value is refused: %j', (value) => {
    const refusal = { code: 'request.header_invalid', header: 'x-odd' };
    expect(take('/call/api', { headers: { 'x-odd': value } })).toEqual(refusal);
  });

  it('a tab is no control byte', () => {
    accepted('/call/api', { headers: { 'x-odd': 'a\tb' } });
  });

  it.each([
    [{ 'transfer-encoding': 'gzip, chunked' }, 'transfer_encoding'],
    [{ 'transfer-encoding': 'identity' }, 'transfer_encoding'],
    [{ 'content-length': '+5' }, 'content_length'],
    [{ 'content-length': '5, 5' }, 'content_length'],
    [{ 'content-length': '0x5' }, 'content_length'],
  ])('framing %j is refused', (headers, reason) => {
    const sent = { method: 'POST', headers: headers as unknown as Record<string, string> };
    expect(take('/call/api', sent)).toEqual({ code: 'request.framing_invalid', reason });
  });

  it('requestBodyBytesMax may be declared, one byte more is 413', () => {
    const declared = (bytes: number): Sent => ({
      method: 'POST',
      headers: { 'content-length': String(bytes) },
    });
    const call = accepted('/call/api', declared(requestBodyBytesMax));
    expect(call.declaredBytes).toBe(requestBodyBytesMax);
    const refusal = { code: 'payload.too_large', bytesMax: requestBodyBytesMax, what: 'body' };
    expect(take('/call/api', declared(requestBodyBytesMax + 1))).toEqual(refusal);
  });

  it('the body is not touched', () => {
    const call = accepted('/call/api', { method: 'POST', headers: { 'content-length': '0' } });
    expect(call.request.bodyUsed).toBe(false);
  });
});
