/**
 * Refusal rows: every refusal that the gateway has, each while a credential is in play, and every fault of the transport (case C052).
 * Promises: the list is held against the refusal table itself, so that a new refusal without a row fails the proof.
 */
import { readFileSync } from 'node:fs';
import type net from 'node:net';
import { build } from 'esbuild';
import { none as noRecords } from '../../support/doh-stub.ts';
import { holds, type Row, same } from '../../support/proof.ts';
import { accountKinds } from './account.ts';
import { type Case, keyOf, managed } from './case.ts';
import { restore } from './echoes.ts';
import { keyedCases, ledgerCases, smallLedgerCases } from './ledger-cases.ts';
import { catalogCases, priceCases } from './money-cases.ts';
import { bindingOf, callOf, type Kind, type Scene, type Sent, search, send } from './scene.ts';

/** Not provoked by these rows; who proves it. */
const elsewhere: Readonly<Record<string, string>> = {
  // A bug of ours: nobody can cause it from outside.
  'internal.error': 'test/unit/call/run-call.test.ts',
  // A row of its own, at the very end.
  'config.unavailable': 'test/proofs/secrets.ts',
  // No client decides when an object is busy or away.
  ledger_busy: 'test/unit/call/06-reserve.test.ts',
  ledger_unavailable: 'test/unit/call/06-reserve.test.ts',
  // Minutes of a breaker and a full window: proofs with times of their own.
  provider_capacity: 'test/proofs/breaker/stand.ts',
  provider_rate_limited: 'test/proofs/spacer/rows.ts',
  // Tasks have a proof of their own.
  'catalog.task_not_owned': 'test/proofs/tasks/rows.ts',
  platform_account_retired: 'test/unit/call/tasks.test.ts',
  platform_account_unavailable: 'test/unit/call/tasks.test.ts',
  platform_account_split: 'test/unit/http/refusals.test.ts',
  'state.unavailable': 'test/unit/control-plane/capacity.test.ts',
};

/** All refusal and fault rows; they also register what they need. */
export function refusalRows(scene: Scene): readonly Row[] {
  const seen = new Set<string>();
  const groups: Readonly<Record<string, (scene: Scene) => Promise<readonly Case[]>>> = {
    'malformed requests': requestCases,
    'keys and access': accessCases,
    routing: routingCases,
    'credentials and bound bodies': credentialCases,
    'egress and transport faults': faultCases,
    'management documents': managementCases,
    'the catalog': catalogCases,
    'prices, balances, caps, tags': priceCases,
    'the ledger’s own limits, made small': smallLedgerCases,
    'repeats of keyed calls': keyedCases,
    'the ledger in management': ledgerCases,
  };
  const rows = Object.entries(groups).map(
    ([name, cases]): Row => ({
      name: `refusals, ${name}: right code, no secret`,
      run: async () => provoked(scene, await cases(scene), seen),
    }),
  );
  return [...rows, coverageRow(seen)];
}

async function provoked(scene: Scene, cases: readonly Case[], seen: Set<string>): Promise<string> {
  const wrong: string[] = [];
  for (const { code, name, send: act } of cases) {
    const bytes = await act();
    restore(scene);
    seen.add(code);
    if (!bytes.includes(`urn:weir:problem:${code}"`))
      wrong.push(
        `${name}: wanted ${code}, got ${bytes.toString('latin1').slice(0, 60)} ${typeIn(bytes)}`,
      );
    wrong.push(...search(scene, bytes, name));
  }
  holds(wrong.length === 0, wrong.join(' | '));
  return `${cases.length} refusals`;
}

const typeIn = (bytes: Buffer): string =>
  /urn:weir:problem:([a-z_.]+)/.exec(bytes.toString('latin1'))?.[1] ?? '';

function coverageRow(seen: ReadonlySet<string>): Row {
  return {
    name: 'every refusal of the table was provoked',
    async run() {
      const missing = (await refusalCodes()).filter(
        (code) => !seen.has(code) && !(code in elsewhere),
      );
      same(missing, [], 'refusals without a row');
      const unproved = Object.entries(elsewhere).filter(
        ([code, file]) => !readFileSync(file, 'utf8').includes(code),
      );
      same(unproved, [], 'refusals that are not proved where it is said');
      return `${seen.size} codes; ${Object.keys(elsewhere).join(', ')} apart`;
    },
  };
}

/** The keys of `src/http/refusal-table.ts`. */
async function refusalCodes(): Promise<readonly string[]> {
  const entryPoints = ['src/http/refusal-table.ts'];
  const built = await build({
    entryPoints,
    bundle: true,
    format: 'esm',
    write: false,
    logLevel: 'error',
  });
  const source = Buffer.from(built.outputFiles[0]?.contents ?? []).toString('base64');
  const loaded: { refusalTable: object } = await import(`data:text/javascript;base64,${source}`);
  return Object.keys(loaded.refusalTable);
}

// ── the cases ──

const all: readonly Kind[] = ['bearer', 'query', ...accountKinds];

const bearer = (path: string, head = ''): Sent => callOf('bearer', path, head);

async function requestCases(scene: Scene): Promise<readonly Case[]> {
  const raw = (code: string, name: string, sent: Sent): Case => ({
    code,
    name,
    send: () => send(scene, sent),
  });
  const tooMany = Array.from({ length: 300 }, (_, i) => `X-H${i}: 1\r\n`).join('');
  return [
    raw('request.header_invalid', 'a control byte in a header', bearer('/x', 'X-Bad: a\x01b\r\n')),
    raw('request.framing_invalid', 'two transfer codings', {
      ...bearer('/x', 'Transfer-Encoding: gzip, chunked\r\n'),
      method: 'POST',
    }),
    raw('request.path_invalid', 'a dot segment', bearer('/a/%2e%2e/b')),
    raw('request.url_invalid', 'userinfo in a URL', { path: '/call/https://u:p@api.example.com/' }),
    raw('request.url_too_long', 'a long URL', bearer(`/${'a'.repeat(17 * 1024)}`)),
    raw('request.headers_too_large', 'many headers', bearer('/x', tooMany)),
    raw('request.body_incomplete', 'a chunk that is none', {
      ...bearer('/x', 'Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nzz\r\n'),
      method: 'POST',
    }),
    raw('request.body_encoding_invalid', 'an unknown body coding', {
      ...bearer('/x', 'X-Weir-Body-Encoding: br\r\nContent-Length: 1\r\n\r\na'),
      method: 'POST',
    }),
    raw('payload.too_large', 'a declared length', {
      ...bearer('/x', 'Content-Length: 100000001\r\n'),
      method: 'POST',
    }),
  ];
}

async function accessCases(scene: Scene): Promise<readonly Case[]> {
  const { scenario } = scene;
  const viewer = await keyOf(scene, 'viewer');
  const narrow = await keyOf(scene, 'member', { upstream_access: [] });
  const revoked = await keyOf(scene, 'member');
  await scenario.post(`/keys/${revoked.id}/revoke`, undefined);
  await scenario.post('/deny-rules', { path: '/k/bearer/denied' });
  const by = (token: string | null, code: string, path = '/call/bearer/x', head = ''): Case => ({
    code,
    name: `${code} at ${path}`,
    send: () => send(scene, { path, head, token }),
  });
  const madeUp = `${scenario.token.slice(0, -1)}${scenario.token.endsWith('0') ? '1' : '0'}`;
  return [
    by(null, 'auth.failed'),
    by('wk_nothing', 'auth.failed'),
    by(madeUp, 'auth.failed'),
    by(revoked.token, 'auth.failed'),
    by(scenario.token, 'auth.key_conflict', '/call/bearer/x', `x-api-key: ${viewer.token}\r\n`),
    by(viewer.token, 'authz.forbidden'),
    by(
      narrow.token,
      'authz.upstream_forbidden',
      `/call/http://${scene.vendor.authority}/k/bearer/x`,
    ),
    by(scenario.token, 'authz.denied', '/call/bearer/denied/x'),
  ];
}

async function routingCases(scene: Scene): Promise<readonly Case[]> {
  const { scenario, vendor } = scene;
  const endpoints = [{ host: '127.0.0.1', port: vendor.port }];
  const bindings = [bindingOf('bearer', 'cred://bearer')];
  const at = (name: string, fields: object = {}): Promise<string> =>
    scenario.upstream({ name, alias: name, scheme: 'http', endpoints, bindings, ...fields });
  await at('twin-a', { base_path: '/twin' });
  await at('twin-b', { base_path: '/twin' });
  await at('off', { enabled: false });
  const guarded = await at('guarded', { base_path: '/guarded' });
  await scenario.post('/routes', { upstream_id: guarded, methods: ['GET'], path: '/only' });
  const pool = ['a', 'b'].map((label) => ({ host: `${label}.pool.example.com` }));
  await scenario.upstream({ name: 'pool', endpoints: pool, bindings });
  const by = (code: string, path: string, head = ''): Case => ({
    code,
    name: `${code} at ${path}`,
    send: () => send(scene, { path, head }),
  });
  return [
    by('routing.not_found', '/call/nothing/x'),
    by('routing.ambiguous', `/call/http://${vendor.authority}/twin/x`),
    by('routing.upstream_disabled', '/call/off/x'),
    by('routing.missing_target_host', '/call/pool/x'),
    by('routing.invalid_target_host', '/call/pool/x', 'X-Weir-Target-Host: a/b\r\n'),
    by('routing.unknown_target_host', '/call/pool/x', 'X-Weir-Target-Host: c.pool.example.com\r\n'),
    by('route.not_found', '/call/guarded/other'),
    by('route.not_found', '/proxy/bearer/x'),
    by('guard.query_not_allowed', '/call/guarded/only?q=1'),
  ];
}

async function credentialCases(scene: Scene): Promise<readonly Case[]> {
  const { scenario, vendor } = scene;
  const endpoints = [{ host: '127.0.0.1', port: vendor.port }];
  // Below a path of its own: an upstream that covered the catalog's rows would be their first rung.
  const plain = { scheme: 'http', endpoints, base_path: '/own' };
  const gone = await scenario.secret('gone', scene.canaries.bearer.value);
  await scenario.upstream({
    name: 'gone',
    alias: 'gone',
    ...plain,
    bindings: [bindingOf('bearer', gone)],
  });
  const db = await scene.gateway.db();
  await db.prepare(`update secrets set sealed = x'00112233' where name = ?1`).bind('gone').run();
  const unfit = await scenario.secret(
    'unfit',
    `{"token":{"not":"${scene.canaries.secret_field.core}"}}`,
  );
  const bindings = [bindingOf('secret_field', unfit)];
  await scenario.upstream({ name: 'unfit', alias: 'unfit', ...plain, bindings });
  const json = (name: string, body: string | Buffer, head = ''): Case => ({
    code: 'binding.body_invalid',
    name: `a bound body: ${name}`,
    send: () => send(scene, { method: 'POST', path: '/call/json/x', body, head }),
  });
  const by = (code: string, sent: Sent): Case => ({
    code,
    name: sent.path,
    send: () => send(scene, sent),
  });
  return [
    by('secret.not_found', { path: '/call/gone/x' }),
    by('credential.unavailable', { path: '/call/unfit/x' }),
    by('payload.too_large', {
      method: 'POST',
      path: '/call/json/x',
      head: 'Content-Length: 8388609\r\n',
    }),
    { ...json('empty', ''), send: () => send(scene, { path: '/call/json/x' }) },
    json('no JSON', '{"a":'),
    json('no object', '[1]'),
    json('a member twice', '{"a":1,"a":2}'),
    json('a byte order mark', '\ufeff{"a":1}'),
    json('not UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])),
    json('too deep', `{"a":${'['.repeat(200)}${']'.repeat(200)}}`),
    json('encoded', '{"a":1}', 'Content-Encoding: gzip\r\n'),
  ];
}

async function faultCases(scene: Scene): Promise<readonly Case[]> {
  const { vendor, dns } = scene;
  await faultUpstreams(scene);
  dns.script('gone.example.com', { a: noRecords(3), aaaa: noRecords(3) });
  dns.script('turned.example.com', { a: { records: [{ type: 1, data: '127.0.0.1' }] } });
  const by = (code: string, name: string, path: string): Case => ({
    code,
    name,
    // The other isolate has never resolved these names.
    send: () => send(scene, { path: `${path}?q=caller`, isolate: 1 }),
  });
  type Act = (socket: net.Socket) => void;
  const scripted = (code: string, name: string, act: Act, among: readonly Kind[] = all): Case[] =>
    among.map((kind) => ({
      code,
      name: `${name}, ${kind}`,
      send: () => {
        vendor.answer(({ connection }) => act(connection.socket));
        return send(scene, callOf(kind, '/scripted'));
      },
    }));
  return [
    ...['query', 'bearer'].flatMap((kind) => [
      by('downstream.error', `a closed port, ${kind}`, `/call/closed-${kind}/x`),
      by('downstream.error', `TLS to a port without it, ${kind}`, `/call/tls-${kind}/x`),
      by('egress.unresolved', `a name that is gone, ${kind}`, `/call/gone-${kind}/x`),
      by('egress.blocked', `a name that turned private, ${kind}`, `/call/turned-${kind}/x`),
    ]),
    ...scripted('downstream.error', 'a reset before the answer', (socket) =>
      socket.resetAndDestroy(),
    ),
    ...scripted('downstream.error', 'an end before the answer', (socket) => socket.end()),
    ...scripted('downstream.error', 'no HTTP at all', (socket) => socket.end('SSH-2.0-x\r\n\r\n')),
    ...scripted('downstream.error', 'an error body that breaks', (socket) => {
      socket.write('HTTP/1.1 500 Broken\r\nContent-Length: 100\r\n\r\n');
      socket.write(scene.canaries.bearer.value, () => socket.resetAndDestroy());
    }),
    // The catalog's wait is two minutes.
    ...scripted('timeout.request', 'no first byte', () => undefined, ['bearer', 'query']),
    ...scripted('response.redacted', 'a body that cannot be masked', (socket) => {
      socket.write(`HTTP/1.1 400 Bad\r\nContent-Encoding: x\r\nContent-Length: 1\r\n\r\nx`);
    }),
  ];
}

/** A closed port, TLS where there is none, names that stop being public: each with a credential in the query and in a header. */
async function faultUpstreams(scene: Scene): Promise<void> {
  const { scenario, closedPort, plainPort } = scene;
  for (const kind of ['query', 'bearer'] as const) {
    const bindings = [bindingOf(kind, `cred://${kind}`)];
    const at = (name: string, fields: object): Promise<string> =>
      scenario.upstream({ name: `${name}-${kind}`, alias: `${name}-${kind}`, bindings, ...fields });
    await at('closed', { scheme: 'http', endpoints: [{ host: '127.0.0.1', port: closedPort }] });
    await at('tls', { endpoints: [{ host: '127.0.0.1', port: plainPort }] });
    for (const name of ['gone', 'turned']) {
      const endpoints = [{ host: `${name}.example.com`, port: kind === 'query' ? 443 : 8443 }];
      await scenario.upstream({ name: `${name}-${kind}`, endpoints, bindings });
    }
  }
}

async function managementCases(scene: Scene): Promise<readonly Case[]> {
  const { scenario, canaries } = scene;
  const { value } = canaries.bearer;
  const at = (method: string, path: string, body: unknown, code: string): Case => ({
    code,
    name: `${method} ${path}`,
    send: () => managed(scene, { method, path: `${path}?tenant=${scenario.tenantId}`, body }),
  });
  const unknownId = '/secrets/sec_01ARZ3NDEKTSV4RRFFQ69G5FAV';
  return [
    at('POST', '/secrets', { name: 'Bad Name', value }, 'validation.error'),
    at('POST', '/secrets', { name: 'x', value: { nested: value } }, 'validation.error'),
    at('POST', '/secrets', { name: 'x', value: `${value}\ud800` }, 'validation.error'),
    at('POST', '/secrets', { name: 'x', value, extra: value }, 'validation.error'),
    at('POST', '/secrets', { name: value, value }, 'validation.error'),
    at('POST', '/secrets', { name: 'x', value: value.repeat(800) }, 'validation.error'),
    at('POST', '/secrets', `{"name":"x","value":"${value}`, 'validation.error'),
    at('POST', '/secrets', { name: 'x', value: value.repeat(8_000) }, 'payload.too_large'),
    at('POST', '/secrets', { name: 'bearer', value }, 'resource.conflict'),
    at('PUT', unknownId, { name: 'y', value }, 'resource.not_found'),
    at('POST', '/secret', { value }, 'request.path_unknown'),
    at('PATCH', '/secrets', { value }, 'request.method_not_allowed'),
    at('POST', '/upstreams', { name: 'u', endpoints: [{ host: value }] }, 'validation.error'),
    at('POST', '/upstreams', { name: 'u', bindings: [{ secret: value }] }, 'validation.error'),
  ];
}
