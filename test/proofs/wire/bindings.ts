/**
 * Rows: bindings. Each overwrites its own header, query pair or top-level JSON field and leaves
 * every other byte alone. Called by ../wire.ts.
 */
import { holds, same } from '../../support/proof.ts';
import { arrives, type Call, refused, relay, type Stand, sized, type WireRow } from './stand.ts';

type Binding = Record<string, string>;

/** A call over an upstream with these bindings arrives exactly so. */
async function bound(
  stand: Stand,
  bindings: readonly Binding[],
  call: Omit<Call, 'target'> & { query?: string },
  sent: { line: string; lines?: readonly string[]; body?: string },
): Promise<void> {
  const upstream = await stand.register({ bindings });
  const { request } = await relay(stand, {
    ...call,
    target: `${upstream.path}/b${call.query ?? ''}`,
  });
  arrives(request, sent.line, sent.lines, sent.body);
}

/** A row: one header binding, rendered so. */
const rendered = (
  n: number,
  title: string,
  why: string,
  secret: string,
  binding: Binding,
  line: string,
): WireRow => ({
  n,
  kind: 'change',
  title,
  why,
  run: async (stand) => {
    const from = binding.value === undefined ? { secret: await stand.secret(secret) } : {};
    const bindings = [{ location: 'header', ...from, ...binding } as Binding];
    await bound(stand, bindings, {}, { line: 'GET /b', lines: [line] });
  },
});

const json = ['Content-Type: application/json'];

export const bindingRows: readonly WireRow[] = [
  {
    n: 30,
    kind: 'change',
    cases: ['C004'],
    title: 'A header binding replaces every line of its name, in any case; other repeats stay',
    why: 'digest A3 rule 5; RFC 9110 5.1: names have no case',
    run: async (stand) => {
      const headers = ['X-VENDOR-KEY: a', 'x-vendor-key: b', 'X-Other: 1', 'X-Other: 2'];
      const { request } = await relay(stand, { target: `${stand.bound.path}/b`, headers });
      const bound = request.lines.filter((line) => /^x-vendor-key:/i.test(line));
      same(
        bound.map((line) => line.slice(14)),
        [stand.credential],
        'bound header',
      );
      arrives(request, 'GET /b', [...bound, 'X-Other: 1', 'X-Other: 2']);
    },
  },
  {
    n: 31,
    kind: 'change',
    cases: ['C037'],
    title:
      'A query binding replaces every pair of its decoded name, in the place of the first; ' +
      'others keep their bytes',
    why: 'digest A3 rule 5: names are compared after decoding',
    run: async (stand) => {
      const upstream = await stand.register({
        bindings: [{ location: 'query', name: 'key', secret: await stand.secret('se cret/+&=é') }],
      });
      const pair = 'key=se%20cret%2F%2B%26%3D%C3%A9';
      const rows = [
        ['?key=evil&a=1&key=evil2', `?${pair}&a=1`],
        ['?%6Bey=evil&a=%2f', `?${pair}&a=%2f`],
        ['?a=1&&key&b', `?a=1&&${pair}&b`],
        ['?a=1#', `?a=1&${pair}`],
        ['?Key=1', `?Key=1&${pair}`],
        ['?', `?${pair}`],
        ['', `?${pair}`],
      ] as const;
      for (const [query, sent] of rows) {
        const { request } = await relay(stand, { target: `${upstream.path}/b${query}` });
        arrives(request, `GET /b${sent}`);
      }
    },
  },
  {
    n: 32,
    kind: 'change',
    title: 'A JSON binding adds its top-level field; every other byte of the body stays',
    why:
      'digest A3 rule 5; spliced, not printed again: number spellings, escapes and spaces ' +
      'survive',
    run: async (stand) => {
      const bindings = [
        { location: 'json', name: 'token', secret: await stand.secret('s"ec\\ret') },
      ];
      const upstream = await stand.register({ bindings });
      const head =
        '{ "n" : 1.0e+2, "big":12345678901234567890,\t"s":"\\ud800\\u00e9/",\r\n "o":{"token":"x"}';
      const { request } = await relay(stand, {
        method: 'POST',
        target: `${upstream.path}/b`,
        headers: [...json, sized(`${head} }`)],
        body: `${head} }`,
      });
      const body = request.body.toString('latin1');
      holds(body.startsWith(head), `the caller's bytes changed: ${body}`);
      const added = body.slice(head.length).replace(/\s/g, '');
      same(added, ',"token":"s\\"ec\\\\ret"}', 'added bytes');
      arrives(request, 'POST /b', [...json, sized(body)], body);
    },
  },
  {
    n: 33,
    kind: 'change',
    title: 'A JSON binding replaces the value of a field that the caller sent, in its place',
    why: 'digest A3 rule 5; names are compared decoded',
    run: async (stand) => {
      const binding = {
        location: 'json',
        name: 'token',
        secret: await stand.secret('json-secret'),
      };
      const rows = [
        ['{"a":1,"token":"evil","b":[ ]}', '{"a":1,"token":"json-secret","b":[ ]}'],
        ['{"\\u0074oken":{"x":1}, "b":2}', '{"\\u0074oken":"json-secret", "b":2}'],
      ] as const;
      for (const [body, sent] of rows) {
        const call = { method: 'POST', headers: [...json, sized(body)], body };
        await bound(stand, [binding], call, {
          line: 'POST /b',
          lines: [...json, sized(sent)],
          body: sent,
        });
      }
    },
  },
  {
    n: 34,
    kind: 'change',
    title: 'Several bindings of one upstream apply to one call',
    why: 'digest A4',
    run: async (stand) => {
      const secret = stand.credentialRef;
      const bindings = [
        { location: 'header', name: 'Authorization', injector: 'bearer', secret },
        { location: 'header', name: 'X-Account', value: 'acc-1' },
        { location: 'query', name: 'key', secret },
        { location: 'json', name: 'token', secret },
      ];
      const body = `{"token":"${stand.credential}"}`;
      await bound(
        stand,
        bindings,
        {
          method: 'POST',
          query: '?a=1',
          headers: ['Content-Length: 13', 'Authorization: Basic eA=='],
          body: '{"token":"x"}',
        },
        {
          line: `POST /b?a=1&key=${stand.credential}`,
          lines: [sized(body), `Authorization: Bearer ${stand.credential}`, 'x-account: acc-1'],
          body,
        },
      );
    },
  },
  rendered(
    35,
    'A constant is set without a secret',
    'digest A4: required version headers',
    '',
    {
      name: 'anthropic-version',
      value: '2023-06-01',
    },
    'anthropic-version: 2023-06-01',
  ),
  rendered(
    36,
    'The bearer injector writes Bearer and the secret',
    'RFC 6750 2.1',
    'tok-1234567',
    {
      name: 'Authorization',
      injector: 'bearer',
    },
    'Authorization: Bearer tok-1234567',
  ),
  rendered(
    37,
    'The basic injector writes base64 of user:password as UTF-8',
    'RFC 7617 2.1',
    'us\u00e9r:p@ss:w',
    {
      name: 'Authorization',
      injector: 'basic',
    },
    `Authorization: Basic ${Buffer.from('us\u00e9r:p@ss:w', 'utf8').toString('base64')}`,
  ),
  rendered(
    38,
    'The custom injector writes its format around the secret',
    'digest A4',
    'tok-$&-1234',
    {
      name: 'Authorization',
      injector: 'custom',
      format: 'Token token="{secret}", v=1',
    },
    'Authorization: Token token="tok-$&-1234", v=1',
  ),
  rendered(
    39,
    'A secret that is a JSON object gives the field that secret_field names',
    'digest A4',
    '{"id":"a","key":"field-value"}',
    {
      name: 'x-vendor-key',
      secret_field: 'key',
    },
    'x-vendor-key: field-value',
  ),
  {
    n: 40,
    kind: 'change',
    title: 'A platform_setting binding sets a value of the deployment',
    why: 'digest A4: operator only',
    run: async (stand) => {
      const bindings = [{ location: 'header', name: 'x-vendor-id', platform_setting: 'vendor_id' }];
      await bound(
        stand,
        bindings,
        {},
        { line: 'GET /b', lines: ['x-vendor-id: platform-0123456789'] },
      );
    },
  },
  {
    n: 119,
    kind: 'refusal',
    title:
      'A body that cannot take a JSON binding is refused, nothing is sent: no object, ' +
      'duplicate name, BOM, not UTF-8, coded, too deep',
    why: 'digest A3 rule 5: duplicate keys fail closed; RFC 8259 4 and 8.1',
    run: async (stand) => {
      const upstream = await stand.register({
        bindings: [{ location: 'json', name: 'token', secret: stand.credentialRef }],
      });
      const bodies: readonly (readonly [string, readonly string[]])[] = [
        ['', []],
        ['[1]', []],
        ['{"a":1,"\\u0061":2}', []],
        ['{"token":1,"token":2}', []],
        ['\xef\xbb\xbf{}', []],
        ['{"a":"\xff"}', []],
        ['{"a":1', []],
        [`{"a":${'['.repeat(200)}${']'.repeat(200)}}`, []],
        ['{}', ['Content-Encoding: gzip']],
      ];
      for (const [body, headers] of bodies) {
        const call = {
          method: 'POST',
          target: `${upstream.path}/b`,
          headers: [...headers, sized(body)],
          body,
        };
        await refused(stand, call, 400, 'binding.body_invalid');
      }
      const over = {
        method: 'POST',
        target: `${upstream.path}/b`,
        headers: ['Content-Length: 8388609'],
      };
      await refused(stand, over, 413, 'payload.too_large');
    },
  },
  {
    n: 120,
    kind: 'refusal',
    title:
      'A GET or HEAD on an upstream with a JSON binding is a typed 400, with and without a body; ' +
      'a TRACE where a credential is injected a 405',
    why: 'there is no body that could carry the credential; never a bare 500; RFC 9110 9.3.8: a TRACE answer repeats it',
    run: async (stand) => {
      const upstream = await stand.register({
        bindings: [{ location: 'json', name: 'token', secret: stand.credentialRef }],
      });
      const target = `${upstream.path}/b`;
      await refused(stand, { target }, 400, 'binding.body_invalid');
      await refused(
        stand,
        { target, headers: ['Content-Length: 2'], body: '{}' },
        400,
        'binding.body_invalid',
      );
      const traced = { method: 'TRACE', target: `${stand.bound.path}/t` };
      await refused(stand, traced, 405, 'request.method_not_allowed');
      const plain = { method: 'TRACE', target: `${stand.plain.path}/t` };
      arrives((await relay(stand, plain)).request, 'TRACE /t', ['Content-Length: 0']);
    },
  },
];
