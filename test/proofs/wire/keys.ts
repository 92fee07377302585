/**
 * Rows: the Weir key. Every place in which it may stand, that it never leaves the gateway from any
 * of them, and that what is not a Weir key in the same place is the caller's own. Called by
 * ../wire.ts.
 */
import { holds, same } from '../../support/proof.ts';
import { headerOf } from '../../support/raw-client.ts';
import { arrives, type Call, refused, relay, type Stand, send, type WireRow } from './stand.ts';

const ws = [
  'Connection: Upgrade',
  'Upgrade: websocket',
  'Sec-WebSocket-Version: 13',
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
];
const basic = (pair: string): string =>
  `Authorization: Basic ${Buffer.from(pair).toString('base64')}`;
const bearer = (key: string): string => `Authorization: Bearer ${key}`;

/** The call is accepted, arrives with `lines` only, and no byte of the key is in it. */
async function consumed(
  stand: Stand,
  call: Call,
  lines: readonly string[] = [],
  line = 'GET /k',
): Promise<void> {
  const { request } = await relay(stand, { ...call, key: null });
  holds(
    !request.raw.toString('latin1').includes('wk_'),
    `the key left: ${request.raw.toString('latin1')}`,
  );
  arrives(request, line, lines);
}

/** A row: the key is accepted in that header line and the line goes. */
const carrier = (n: number, name: string, line: (key: string) => string): WireRow => ({
  n,
  kind: 'change',
  title: `A Weir key in ${name} is accepted and removed`,
  why: 'decisions section 2: any SDK works by changing base URL and key',
  run: (stand) =>
    consumed(stand, { target: `${stand.plain.path}/k`, headers: [line(stand.token)] }),
});

export const keyRows: readonly WireRow[] = [
  carrier(20, 'X-Weir-Key', (key) => `X-Weir-Key: ${key}`),
  {
    ...carrier(21, 'Authorization: Bearer', bearer),
    cases: ['C005'],
    run: async (stand) => {
      const { path } = stand.plain;
      await consumed(stand, { target: `${path}/k`, headers: [bearer(stand.token)] });
      await consumed(stand, {
        target: `${path}/k`,
        headers: [`authorization: bearer ${stand.token}`],
      });
      const bindings = [{ location: 'query', name: 'key', secret: stand.credentialRef }];
      const upstream = await stand.register({ bindings });
      const line = `GET /k?key=${stand.credential}`;
      await consumed(
        stand,
        { target: `${upstream.path}/k`, headers: [bearer(stand.token)] },
        [],
        line,
      );
    },
  },
  {
    ...carrier(22, 'Authorization: Basic, as the user name', (key) => basic(`${key}:`)),
    run: async (stand) => {
      for (const pair of [`${stand.token}:`, `${stand.token}:x`, stand.token]) {
        await consumed(stand, { target: `${stand.plain.path}/k`, headers: [basic(pair)] });
      }
    },
  },
  carrier(23, 'x-api-key', (key) => `x-api-key: ${key}`),
  carrier(24, 'x-goog-api-key', (key) => `x-goog-api-key: ${key}`),
  carrier(25, 'api-key', (key) => `api-key: ${key}`),
  {
    n: 26,
    kind: 'change',
    title: 'A Weir key in Sec-WebSocket-Protocol is accepted and removed; the other protocols stay',
    why: 'decisions section 2: browsers cannot set other headers',
    run: async (stand) => {
      const spelled = [
        [`realtime, openai-insecure-api-key.${stand.token}, beta.v1`, 'realtime, beta.v1'],
        [`${stand.token}, realtime`, 'realtime'],
      ] as const;
      for (const [offered, kept] of spelled) {
        const headers = [...ws, `Sec-WebSocket-Protocol: ${offered}`];
        const { request } = await relay(stand, {
          target: `${stand.plain.path}/k`,
          headers,
          key: null,
        });
        holds(!request.raw.toString('latin1').includes('wk_'), 'the key left');
        const line = request.lines.find((l) => /^sec-websocket-protocol:/i.test(l));
        same(line?.slice(line.indexOf(':') + 2), kept, 'protocols');
      }
    },
  },
  {
    n: 27,
    kind: 'change',
    title:
      'A Weir key in ?key= is accepted and its pair removed; every other pair keeps its bytes' +
      ' and place',
    why: 'decisions section 2; pairs are found by their decoded name',
    run: async (stand) => {
      const rows = [
        [`?key=${stand.token}`, ''],
        [`?a=%2f&key=${stand.token}&b`, '?a=%2f&b'],
        [`?%6Bey=${stand.token}&&a=1&key=mine`, '?&a=1&key=mine'],
      ] as const;
      for (const [query, kept] of rows) {
        await consumed(stand, { target: `${stand.plain.path}/k${query}` }, [], `GET /k${kept}`);
      }
    },
  },
  {
    n: 177,
    kind: 'change',
    title: 'A header or query pair of any name that is nothing but a Weir key is such a place too',
    why: 'decisions section 2: any SDK works by changing base URL and key, and they have names of their own for it',
    run: async (stand) => {
      const target = `${stand.plain.path}/k`;
      const key = stand.token;
      for (const name of ['apikey', 'X-Algolia-API-Key', 'xi-api-key', 'PRIVATE-TOKEN'])
        await consumed(stand, { target, headers: [`${name}: ${key}`] });
      await consumed(stand, { target, headers: [`apikey: ${key}`, bearer(key)] });
      for (const name of ['apikey', 'access_token', 'api%5fkey'])
        await consumed(stand, { target: `${target}?a=%2f&${name}=${key}&b` }, [], 'GET /k?a=%2f&b');
      const text = [`X-Note: see ${key}`];
      const { request } = await relay(stand, {
        target: `${target}?note=see+${key}`,
        headers: text,
      });
      arrives(request, `GET /k?note=see+${key}`, text);
    },
  },
  {
    n: 67,
    kind: 'kept',
    title:
      "What is not a Weir key in any of these places is the caller's own and arrives untouched",
    why: 'decisions section 2',
    run: async (stand) => {
      const lines = [
        'Authorization: Bearer sk-own-key, x',
        basic('user:pass'),
        'Authorization: Digest username="wk_a", uri="/x, y"',
        bearer(`${stand.token}x`),
        bearer('wk_short'),
        'x-api-key: sk-own',
        'x-goog-api-key: AIza-own',
        'api-key: own',
      ];
      for (const line of lines) {
        const { request } = await relay(stand, {
          target: `${stand.plain.path}/k?key=own`,
          headers: [line],
        });
        arrives(request, 'GET /k?key=own', [line]);
      }
    },
  },
  {
    n: 28,
    kind: 'change',
    title:
      "A Weir key beside the caller's own value is cut out; the own value stays, except in " +
      'X-Weir-*',
    why: 'decisions section 2: every valid token in any of these places is removed',
    run: async (stand) => {
      const target = `${stand.plain.path}/k`;
      const both = [`x-api-key: ${stand.token}`, 'x-api-key: sk-own'];
      await consumed(stand, { target, headers: both }, ['x-api-key: sk-own']);
      await consumed(stand, { target, headers: [`X-Weir-Key: ${stand.token}, other`] });
    },
  },
  {
    n: 29,
    kind: 'change',
    title: 'The same Weir key in every place at once is accepted and removed from each',
    why: 'decisions section 2',
    run: async (stand) => {
      const key = stand.token;
      const headers = [
        `X-Weir-Key: ${key}`,
        bearer(key),
        ...['x-api-key', 'x-goog-api-key', 'api-key', 'Sec-WebSocket-Protocol'].map(
          (n) => `${n}: ${key}`,
        ),
      ];
      await consumed(
        stand,
        { target: `${stand.plain.path}/k?key=${key}&a=1`, headers },
        [],
        'GET /k?a=1',
      );
      // However an SDK writes it around, beside a place where it would have sufficed.
      for (const line of [
        bearer(`"${key}"`),
        bearer(`${key};v=1`),
        bearer(`own ${key}`),
        `Authorization: Token token="${key}"`,
        `x-api-key: key=${key}`,
        `Sec-WebSocket-Protocol: auth-${key}`,
      ])
        await consumed(stand, {
          target: `${stand.plain.path}/k?key=Bearer%20${key}`,
          headers: [`X-Weir-Key: ${key}`, line],
        });
    },
  },
  {
    n: 117,
    kind: 'refusal',
    title: 'Two different Weir keys are refused, wherever they stand',
    why: 'decisions section 2: 400, nothing is guessed',
    run: async (stand) => {
      const { tenant } = stand;
      const made = await tenant.post('/keys', { name: 'other', principal_id: tenant.principalId });
      const other: string = made.token;
      const target = `${stand.plain.path}/k`;
      const calls: readonly Call[] = [
        { target, headers: [bearer(other)] },
        { target, headers: [`x-api-key: ${other}`] },
        { target: `${target}?key=${other}` },
        { target, headers: [`X-Weir-Key: ${other}`] },
        { target: `${target}?key=${stand.token}&key=${other}`, key: null },
      ];
      for (const call of calls) await refused(stand, call, 400, 'auth.key_conflict');
    },
  },
  {
    n: 118,
    kind: 'refusal',
    title:
      'No key, a made-up key and a revoked key are one 401 each, with a Bearer challenge of realm ' +
      'weir, before any upstream',
    why: 'digest B6 auth.failed; RFC 9110 11.6.1',
    run: async (stand) => {
      const { tenant } = stand;
      const target = `${stand.plain.path}/k`;
      const gone = await tenant.post('/keys', { name: 'gone', principal_id: tenant.principalId });
      await tenant.post(`/keys/${gone.id}/revoke`, undefined);
      const madeUp = `wk_1${'A'.repeat(42)}`;
      for (const key of [null, madeUp, gone.token])
        await refused(stand, { target, key }, 401, 'auth.failed');
      await refused(stand, { target, key: null, headers: [bearer('sk-own')] }, 401, 'auth.failed');
      for (const [key, challenge] of [
        [null, 'Bearer realm="weir"'],
        [madeUp, 'Bearer realm="weir", error="invalid_token"'],
      ] as const) {
        const { answer } = await send(stand, { target, key });
        same(headerOf(answer.lines, 'www-authenticate'), challenge, 'the challenge');
      }
    },
  },
];
