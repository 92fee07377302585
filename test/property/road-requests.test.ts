/**
 * The whole road under any request and any answer: one row, a hold that ends once, never a bug of ours, nothing of Weir's on the wire, and
 * the place that was judged is the place that is asked.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Surface } from '../../src/call/call';
import { entryOf, key, route, token, upstream } from '../unit/call/calls';
import { play } from '../unit/call/road-world';
import { chatCost } from '../unit/domain/pricing/prices';

const soup = (...pieces: string[]) =>
  fc.array(fc.constantFrom(...pieces), { maxLength: 6 }).map((all) => all.join(''));
const path = soup(
  ...['/', '/', 'v1', '/v1/x', '/admin', ';', '%2f', '%2e', '.', '..', '%', 'é', '%ff', ':', '@'],
  ...['https:/', 'api.t', '\\', '%5c', '{a}', ' ', '|', '//', '%00', '😀', 'x'],
);
const query = fc.oneof(
  fc.constant(''),
  soup(
    ...['?', '&', '=', 'key', '%6bey', token, 'wk_', 'n=1', 'q', ';', '%', '#', 'é', '+', '%00'],
  ).map((text) => `?${text}`),
);
const header = fc.tuple(
  fc.constantFrom(
    ...['authorization', 'x-api-key', 'cookie', 'connection', 'x-weir-meta', 'x-weir-target-host'],
    ...['x-weir-max-cost-micro', 'idempotency-key', 'content-encoding', 'accept-encoding', 'te'],
    ...['x-weir-spoofed', 'sec-websocket-protocol', 'x-forwarded-for', 'a', 'content-type'],
  ),
  fc.constantFrom(
    ...['', 'a', `Bearer ${token}`, token, `x.${token}`, `Basic ${btoa(`${token}:`)}`, 'Basic a'],
    ...[
      '__Host-weir_session=1; a=b',
      'close',
      'a, host',
      'team=a',
      'team',
      '5',
      '-1',
      'gzip',
      'api.t',
    ],
    ...['other.t', 'k'.repeat(201), 'x, y', '"', 'application/json', '9'.repeat(16), `${token}x`],
  ),
);
const body = fc.oneof(
  { weight: 3, arbitrary: fc.constant('{"model":"big","max_tokens":5}') },
  fc.constantFrom(
    ...[null, '', '{}', '{"model":"big","Model":"small"}', '{"a":1,"a":2}', '[', '\ufeff{}', '"x"'],
    ...['{"model":"tiny","n":1e400}', 'x'.repeat(2_000)],
  ),
);
const answers = fc.record({
  status: fc.constantFrom(200, 201, 204, 206, 301, 304, 400, 402, 404, 429, 500, 503, 599),
  headers: fc.dictionary(
    fc.constantFrom(
      'content-type',
      'content-encoding',
      'x-weir-cost-micro',
      'location',
      'retry-after',
    ),
    fc.constantFrom('application/json', 'text/html', 'gzip', 'br', 'x', '5', 'identity'),
  ),
  body: fc.constantFrom(
    ...['', '{', 'sk-vendor-0123456789', '{"usage":{"prompt_tokens":3,"completion_tokens":-1}}'],
    ...['{"usage":{"prompt_tokens":3,"completion_tokens":4}}', '{"usage":null}', '[]', '\ufeff{}'],
  ),
});
const method = fc.constantFrom('GET', 'POST', 'HEAD', 'DELETE', 'PUT', 'OPTIONS', 'PATCH');
/** A surface with what suits it, most of the time. */
const start = (by: Surface, prefix: string, usual: { path: string[]; method: string[] }) =>
  fc.record({
    by: fc.constant(by),
    prefix: fc.constant(prefix),
    path: fc.oneof({ weight: 2, arbitrary: fc.constantFrom(...usual.path) }, path),
    verb: fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...usual.method) }, method),
  });
const raw = { path: ['/v1/x', '/v1', '/v1//x', '/v1/a%2fb', '/v1;x'], method: ['GET', 'POST'] };
const paid = { path: [''], method: ['POST'] };
const target = fc.oneof(
  start('call', '/call/api', raw),
  start('call', '/call/https://api.t', raw),
  start('proxy', '/proxy/api.t', raw),
  start('call', '/call/', raw),
  { weight: 3, arbitrary: start('catalog', '/catalog/call/vendor.search', paid) },
);

const guarded = upstream({
  basePath: '/base',
  routes: [
    route({ methods: ['GET', 'POST'], queryAllowlist: ['n'] }),
    route({ id: 'rte_2', path: '/', methods: ['GET', 'POST'] }),
  ],
});
const priced = entryOf(
  { method: 'POST', path: '/search', cost: chatCost },
  { accounts: [{ label: 'main', setting: 'VENDOR_KEY' }] },
);

describe('a call', () => {
  it('ends in one row and one answer, its hold with it, and carries nothing of ours to the place that it asks', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.tuple(target, query),
        fc.array(header, { maxLength: 2 }),
        body,
        fc.tuple(answers, fc.boolean(), fc.boolean()),
        async ([of, search], headers, text, [answer, isGuarded, masks]) => {
          const { by, prefix, path: rest, verb } = of;
          const hasBody = text !== null && verb !== 'GET' && verb !== 'HEAD';
          const all = new Headers([['x-weir-key', token]]);
          for (const [name, value] of headers) all.append(name, value);
          if (hasBody) all.set('content-length', String(new TextEncoder().encode(text).length));
          const request = new Request(`https://gw.test${prefix}${rest}${search}`, {
            method: verb,
            headers: all,
            ...(hasBody ? { body: text } : {}),
          });
          if (!new URL(request.url).pathname.startsWith(prefix)) return;
          const asked: [string, Headers][] = [];
          const call = play(
            {
              surface: by,
              masks,
              key: key(),
              own: [upstream({ basePath: '/base' })],
              found: [isGuarded ? guarded : upstream({ basePath: '/base' })],
              entry: priced,
              send: async (target, init) => {
                const url = target instanceof Request ? target.url : String(target);
                asked.push([url, new Headers(init?.headers)]);
                const isEmpty = [204, 304].includes(answer.status);
                return new Response(isEmpty ? null : answer.body, answer);
              },
            },
            request,
          );
          const got = await call.answer;
          await got.arrayBuffer().catch(() => undefined);
          await Promise.all(call.background.work);
          expect(call.reports.filter((report) => String(report).startsWith('call.bug'))).toEqual(
            [],
          );
          // Only a call whose key is not known leaves none.
          expect(call.rows.length).toBe(call.asked.includes('identify') ? 1 : 0);
          const ends = call.desk.last.filter(([op]) => op === 'settle' || op === 'release');
          expect(ends.map(([, id]) => id)).toEqual(call.desk.places.map(([, id]) => id));
          for (const [url, sent] of asked) {
            const { host, pathname, href } = new URL(url);
            expect(['api.t', 'api.vendor.example']).toContain(host);
            expect(pathname).toMatch(host === 'api.t' ? /^\/base(?:\/|$)/ : /^\/v1(?:\/|$)/);
            expect(new URL(href).pathname).not.toMatch(/(?:^|\/)(?:\.|%2e){1,2}(?:;|\/|$)/i);
            for (const [name, value] of sent) {
              expect(name).not.toMatch(/^x-weir-|^x-forwarded-|^te$|^connection$/);
              if (['authorization', 'x-api-key', 'sec-websocket-protocol'].includes(name))
                expect(value).not.toMatch(new RegExp(`${token}(?![0-9A-Za-z])`));
            }
          }
        },
      ),
      { numRuns: 250 },
    );
  }, 30_000);
});
