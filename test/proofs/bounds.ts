/**
 * `npm run prove -- bounds`: every limit of the wire and of management is attacked once over sockets: at it a request passes, beyond it comes
 * a typed refusal and the origin is not asked. No limit of base/limits.ts is without a use and a test.
 * Called by scripts/prove.ts and test/fault/bounds.test.ts.
 */
import { readdirSync, readFileSync } from 'node:fs';
import net from 'node:net';
import { fileURLToPath } from 'node:url';
import { freePorts } from '../../scripts/lib/ports.ts';
import {
  cursorCharsMax,
  denyRulesPerTenantMax,
  egressAllowMax,
  firstByteTimeoutDefaultMs,
  headerBytesMax,
  headerCountMax,
  idleTimeoutDefaultMs,
  issuePathCharsMax,
  issuesMax,
  jsonBindingBodyBytesMax,
  jsonDepthMax,
  managementBodyBytesMax,
  managementJsonDepthMax,
  pageSizeDefault,
  pageSizeMax,
  poolEndpointsMax,
  requestBodyBytesMax,
  routesPerUpstreamMax,
  tenantDepthMax,
  urlBytesMax,
} from '../../src/base/limits.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { holds, type Proof, type Row, type Staged, same } from '../support/proof.ts';
import { exchange, headerOf, type RawAnswer, RawConnection } from '../support/raw-client.ts';
import { type RecordingOrigin, startOrigin } from '../support/recording-origin.ts';
import { makeScenario, type Scenario } from '../support/scenario.ts';
import { operatorKey } from '../support/test-env.ts';
import { type Attack, attacks, type Known } from './bounds/management.ts';

interface Stand {
  readonly gateway: Gateway;
  readonly origin: RecordingOrigin;
  readonly scenario: Scenario;
  readonly known: Known;
  /** Where the upstream that only counts bytes listens. */
  readonly countingPort: number;
}
type Named = readonly [name: string, run: (stand: Stand) => Promise<unknown>];

/** Holds an answer against a typed refusal of ours. */
function refused(answer: RawAnswer, status: number, code: string): Record<string, unknown> {
  same(answer.status, status, 'status');
  same(headerOf(answer.lines, 'content-type'), 'application/problem+json', 'Content-Type');
  same(headerOf(answer.lines, 'x-weir-error'), '1', 'X-Weir-Error');
  const problem = JSON.parse(answer.body.toString());
  same(problem.type, `urn:weir:problem:${code}`, 'type');
  return problem;
}

// ── the wire ──

/** A call with exact bytes behind the key's header. */
function calling({ scenario }: Stand, target: string, tail = '\r\n', method = 'GET'): string {
  return `${method} ${target} HTTP/1.1\r\nHost: gw\r\nX-Weir-Key: ${scenario.token}\r\n${tail}`;
}

/** Runs an attack: at the limit the origin is asked, beyond it the call is refused and the origin is not. */
async function wire(
  stand: Stand,
  request: (size: number) => string,
  limit: { readonly max: number; readonly status: number; readonly code: string },
): Promise<void> {
  const { gateway, origin } = stand;
  const before = origin.requests.length;
  same((await exchange(gateway.port, request(limit.max))).status, 200, 'at the limit');
  same(origin.requests.length, before + 1, 'requests at the origin');
  refused(await exchange(gateway.port, request(limit.max + 1)), limit.status, limit.code);
  same(origin.requests.length, before + 1, 'requests at the origin, beyond the limit');
}

const filled = (start: string, size: number): string => start + 'a'.repeat(size - start.length);
const nested = (depth: number): string => `${'{"a":'.repeat(depth - 1)}{}${'}'.repeat(depth - 1)}`;
const sized = (body: string): string => `Content-Length: ${body.length}\r\n\r\n${body}`;
const chunked = (body: string): string =>
  `Transfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
/** A JSON object of exactly that many bytes. */
const object = (bytes: number): string => `{"a":"${'a'.repeat(bytes - 8)}"}`;

const onTheWire: readonly Named[] = [
  [
    `urlBytesMax: a target above ${urlBytesMax} bytes is 414`,
    (stand) =>
      wire(stand, (size) => calling(stand, filled('/call/native/', size)), {
        max: urlBytesMax,
        status: 414,
        code: 'request.url_too_long',
      }),
  ],
  [
    `headerCountMax: more than ${headerCountMax} header names is 431`,
    (stand) =>
      wire(stand, (size) => calling(stand, '/call/native/x', `${manyHeaders(size - 2)}\r\n`), {
        max: headerCountMax,
        status: 431,
        code: 'request.headers_too_large',
      }),
  ],
  [
    `headerBytesMax: more than ${headerBytesMax} bytes of names and values is 431`,
    (stand) => {
      const own = 'hostgwx-weir-keyx-big'.length + stand.scenario.token.length;
      const big = (size: number) => `X-Big: ${'v'.repeat(size - own)}\r\n\r\n`;
      return wire(stand, (size) => calling(stand, '/call/native/x', big(size)), {
        max: headerBytesMax,
        status: 431,
        code: 'request.headers_too_large',
      });
    },
  ],
  [
    `requestBodyBytesMax: a declared length above ${requestBodyBytesMax} is 413 before any byte of it`,
    async (stand) => {
      const before = stand.origin.connections.length;
      const tail = `Content-Length: ${requestBodyBytesMax + 1}\r\n\r\n`;
      const request = calling(stand, '/call/native/x', tail, 'POST');
      refused(await exchange(stand.gateway.port, request), 413, 'payload.too_large');
      same(stand.origin.connections.length, before, 'connections of the origin');
    },
  ],
  [
    `requestBodyBytesMax: a chunked body above ${requestBodyBytesMax} is 413, and never a whole one at the upstream`,
    chunkedOverrun,
  ],
  ...[sized, chunked].map(
    (framed): Named => [
      `jsonBindingBodyBytesMax: a ${framed === sized ? 'declared' : 'chunked'} body above ${jsonBindingBodyBytesMax} is 413`,
      (stand) =>
        wire(stand, (size) => calling(stand, '/call/bound/x', framed(object(size)), 'POST'), {
          max: jsonBindingBodyBytesMax,
          status: 413,
          code: 'payload.too_large',
        }),
    ],
  ),
  [
    `jsonDepthMax: a body that a binding reads may nest ${jsonDepthMax} deep; one more is 400`,
    (stand) =>
      wire(stand, (size) => calling(stand, '/call/bound/x', sized(nested(size)), 'POST'), {
        max: jsonDepthMax,
        status: 400,
        code: 'binding.body_invalid',
      }),
  ],
];

const manyHeaders = (count: number): string =>
  Array.from({ length: count }, (_, i) => `X-H${i}: v\r\n`).join('');

/** An upstream that only counts: a recording one would hold the whole body. */
async function chunkedOverrun(stand: Stand): Promise<string> {
  const seen = { bytes: 0, tail: '' };
  const sockets: net.Socket[] = [];
  const server = net.createServer((socket) => {
    sockets.push(socket);
    socket.on('error', () => undefined);
    socket.on('data', (chunk: Buffer) => {
      seen.bytes += chunk.length;
      seen.tail = (seen.tail + chunk.subarray(-16).toString('latin1')).slice(-16);
    });
  });
  await new Promise<void>((resolve) => server.listen(stand.countingPort, '127.0.0.1', resolve));
  const client = await RawConnection.open(stand.gateway.port);
  try {
    client.send(calling(stand, '/call/counting/x', 'Transfer-Encoding: chunked\r\n\r\n', 'POST'));
    const piece = Buffer.alloc(4_000_000, 0x61);
    const size = Buffer.from(`${piece.length.toString(16)}\r\n`);
    for (
      let sent = 0;
      sent <= requestBodyBytesMax && client.ended === 'open';
      sent += piece.length
    ) {
      const chunk = Buffer.concat([size, piece, Buffer.from('\r\n')]);
      // The gateway answers before the end; then nobody takes the rest.
      const written = new Promise((resolve) => client.socket.write(chunk, resolve));
      await Promise.race([written, client.until(() => client.bytes.length > 0, 60_000)]);
      if (client.bytes.length > 0) break;
    }
    refused(await client.answer('POST', 30_000), 413, 'payload.too_large');
    holds(!seen.tail.endsWith('0\r\n\r\n'), 'the upstream got a part of the body with a clean end');
    return `${seen.bytes} bytes had gone on`;
  } finally {
    client.close();
    server.close();
    for (const socket of sockets) socket.destroy();
  }
}

// ── management ──

/** A management request as raw bytes. */
function managing(method: string, path: string, tail: string): string {
  const head = `${method} /api/v1${path} HTTP/1.1\r\nHost: gw\r\nAuthorization: Bearer ${operatorKey}\r\n`;
  return `${head}Content-Type: application/json\r\n${tail}`;
}

const fieldsOf = (problem: Record<string, unknown>): string[] =>
  (problem.errors as { path: string }[]).map((issue) => issue.path);

/** JSON in ASCII: a raw client writes one byte a character. */
const ascii = (document: object): string =>
  JSON.stringify(document).replaceAll(
    /[^\x20-\x7e]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

async function attacked({ gateway, scenario, known }: Stand, attack: Attack): Promise<void> {
  const { path, body, max, field, fits = true } = attack;
  const at = path.startsWith('/vault') ? path : `${path}?tenant=${scenario.tenantId}`;
  const send = (size: number) =>
    exchange(gateway.port, managing('POST', at, sized(ascii(body(size, known)))));
  if (fits) {
    const answer = await send(max);
    holds(answer.status < 300, `at the limit: ${answer.status} ${answer.body}`);
  }
  const problem = refused(await send(max + 1), 400, 'validation.error');
  const fields = fieldsOf(problem);
  holds(
    fields.some((one) => field.test(one)),
    `the refusal names ${JSON.stringify(fields)}`,
  );
}

const inTenant = (stand: Stand, path: string): string =>
  `${path}?tenant=${stand.scenario.tenantId}`;
const post = (stand: Stand, path: string, tail: string): Promise<RawAnswer> =>
  exchange(stand.gateway.port, managing('POST', path, tail));
const get = (stand: Stand, path: string): Promise<RawAnswer> =>
  exchange(stand.gateway.port, managing('GET', path, '\r\n'));

const inManagement: readonly Named[] = [
  ...attacks.map(
    (attack): Named => [
      `${attack.limit}: ${attack.max} may be, one more is 400 and names the field`,
      (stand) => attacked(stand, attack),
    ],
  ),
  ...[sized, chunked].map(
    (framed): Named => [
      `managementBodyBytesMax: a ${framed === sized ? 'declared' : 'chunked'} body above ${managementBodyBytesMax} is 413`,
      async (stand) => {
        const path = inTenant(stand, '/projects');
        // At the limit it is read: what is refused then is its field.
        refused(
          await post(stand, path, framed(object(managementBodyBytesMax))),
          400,
          'validation.error',
        );
        const beyond = framed(object(managementBodyBytesMax + 1));
        refused(await post(stand, path, beyond), 413, 'payload.too_large');
      },
    ],
  ),
  [
    `managementJsonDepthMax: a document may nest ${managementJsonDepthMax} deep; one more is 400`,
    async (stand) => {
      const path = inTenant(stand, '/projects');
      const messageAt = async (depth: number): Promise<string> => {
        const problem = refused(
          await post(stand, path, sized(nested(depth))),
          400,
          'validation.error',
        );
        return String(problem.detail);
      };
      holds(!(await messageAt(managementJsonDepthMax)).includes('too deep'), 'at the limit');
      holds((await messageAt(managementJsonDepthMax + 1)).includes('too deep'), 'beyond the limit');
    },
  ],
  [
    `issuesMax, issuePathCharsMax: a refusal lists ${issuesMax} fields at most, each cut at ${issuePathCharsMax}`,
    async (stand) => {
      const names = Array.from(
        { length: issuesMax + 9 },
        (_, i) => `${'x'.repeat(issuePathCharsMax)}${i}`,
      );
      const body = JSON.stringify(Object.fromEntries(names.map((name) => [name, 1])));
      const problem = refused(
        await post(stand, inTenant(stand, '/projects'), sized(body)),
        400,
        'validation.error',
      );
      const fields = fieldsOf(problem);
      same(fields.length, issuesMax, 'fields');
      holds(
        fields.every((field) => field.length <= issuePathCharsMax),
        'a longer path',
      );
    },
  ],
  [
    `pageSizeMax: a page of ${pageSizeMax} may be asked for, one more is 400`,
    async (stand) => {
      const page = (limit: number) => get(stand, `${inTenant(stand, '/upstreams')}&limit=${limit}`);
      same((await page(pageSizeMax)).status, 200, 'at the limit');
      same(
        fieldsOf(refused(await page(pageSizeMax + 1), 400, 'validation.error')),
        ['limit'],
        'field',
      );
    },
  ],
  [
    `pageSizeDefault: a page without a limit has ${pageSizeDefault} rows and a cursor to the next`,
    async (stand) => {
      await addRules(stand, pageSizeDefault + 1);
      const page = JSON.parse((await get(stand, inTenant(stand, '/deny-rules'))).body.toString());
      same(page.data.length, pageSizeDefault, 'rows');
      holds(page.next_cursor !== null, 'no cursor');
    },
  ],
  [
    `cursorCharsMax: a cursor above ${cursorCharsMax} characters is 400`,
    async (stand) => {
      const cursor = 'A'.repeat(cursorCharsMax + 4);
      const answer = await get(stand, `${inTenant(stand, '/upstreams')}&cursor=${cursor}`);
      same(fieldsOf(refused(answer, 400, 'validation.error')), ['cursor'], 'field');
    },
  ],
  [
    `denyRulesPerTenantMax: rule ${denyRulesPerTenantMax + 1} of a tenant is 400`,
    async (stand) => {
      await addRules(stand, denyRulesPerTenantMax);
      const rule = sized(JSON.stringify({ path: '/one-more' }));
      refused(await post(stand, inTenant(stand, '/deny-rules'), rule), 400, 'validation.error');
    },
  ],
  [
    `routesPerUpstreamMax: route ${routesPerUpstreamMax + 1} of an upstream is 400`,
    async (stand) => {
      await addRoutes(stand, routesPerUpstreamMax);
      const { upstreamId } = stand.known;
      const route = { upstream_id: upstreamId, methods: ['GET'], path: '/one-more' };
      const answer = await post(stand, inTenant(stand, '/routes'), sized(JSON.stringify(route)));
      same(fieldsOf(refused(answer, 400, 'validation.error')), ['upstream_id'], 'field');
    },
  ],
  [
    `tenantDepthMax: a tree has ${tenantDepthMax} levels; one more is 400`,
    async (stand) => {
      let parent = '';
      for (let level = 1; level <= tenantDepthMax; level++) {
        const body = sized(
          JSON.stringify({
            name: `level ${level}`,
            ...(parent === '' ? {} : { parent_id: parent }),
          }),
        );
        const answer = await post(stand, '/tenants', body);
        same(answer.status, 201, `level ${level}`);
        parent = JSON.parse(answer.body.toString()).id;
      }
      const answer = await post(
        stand,
        '/tenants',
        sized(JSON.stringify({ name: 'x', parent_id: parent })),
      );
      same(fieldsOf(refused(answer, 400, 'validation.error')), ['parent_id'], 'field');
    },
  ],
  [
    'firstByteTimeoutDefaultMs, idleTimeoutDefaultMs: an upstream that names no waits has these',
    async (stand) => {
      const path = `/upstreams/${stand.known.upstreamId}`;
      const upstream = JSON.parse((await get(stand, inTenant(stand, path))).body.toString());
      const waits = [upstream.first_byte_timeout_ms, upstream.idle_timeout_ms];
      same(waits, [firstByteTimeoutDefaultMs, idleTimeoutDefaultMs], 'waits');
    },
  ],
  [
    `egressAllowMax: with more than ${egressAllowMax} pairs nothing is served, and the log says why`,
    async () => {
      const allow = Array.from({ length: egressAllowMax + 1 }, (_, i) => `127.0.0.1:${2000 + i}`);
      const gateway = await startGateway({ allow });
      try {
        const answer = await exchange(gateway.port, 'GET /healthz HTTP/1.1\r\nHost: gw\r\n\r\n');
        refused(answer, 500, 'internal.error');
        holds(/start\.error.*EGRESS_ALLOW/.test(gateway.output()), gateway.output());
      } finally {
        await gateway.dispose();
      }
    },
  ],
];

/** Fills the tenant up to `count` deny rules, past the API: the limit is what is on trial, not 256 requests. */
async function addRules({ gateway, scenario }: Stand, count: number): Promise<void> {
  const db = await gateway.db();
  await db
    .prepare(
      `with recursive n(i) as (select 1 union all select i + 1 from n where i < ?2)
       insert or ignore into deny_rules (id, tenant_id, path, created_at, updated_at)
       select 'den_' || printf('%026d', abs(random() % 1000000000000)), ?1, '/none/' || i, 1, 1 from n
       limit ?2 - (select count(*) from deny_rules where tenant_id = ?1)`,
    )
    .bind(scenario.tenantId, count)
    .run();
}

/** The same for routes of one upstream. */
async function addRoutes({ gateway, scenario, known }: Stand, count: number): Promise<void> {
  const db = await gateway.db();
  await db
    .prepare(
      `with recursive n(i) as (select 1 union all select i + 1 from n where i < ?3)
       insert or ignore into routes (id, tenant_id, upstream_id, methods, path, created_at, updated_at)
       select 'rte_' || printf('%026d', abs(random() % 1000000000000)), ?1, ?2, '["GET"]', '/none/' || i, 1, 1 from n
       limit ?3 - (select count(*) from routes where upstream_id = ?2)`,
    )
    .bind(scenario.tenantId, known.upstreamId, count)
    .run();
}

// ── every limit ──

const root = fileURLToPath(new URL('../../', import.meta.url));

/** Text of every file below a folder whose name ends so. */
function textBelow(folder: string, except: string): string {
  const names = readdirSync(`${root}${folder}`, { recursive: true, encoding: 'utf8' });
  const files = names.filter((name) => name.endsWith('.ts') && name !== except);
  return files.map((name) => readFileSync(`${root}${folder}/${name}`, 'utf8')).join('\n');
}

/** Limits of the sections that have a proof of their own (issue 2). */
const ofLaterSections = /\/\/ ── (?:ledger|idempotency records) ──[\s\S]*/;

/** Limits whose tests use the figure, not the name: which file does. */
const provedByFigure: Readonly<Record<string, string>> = {
  maskableSecretCharsMin: 'test/unit/domain/credentials/masking.test.ts',
  unwrapDepthMax: 'test/unit/domain/credentials/masking.test.ts',
  unwrapCharsMax: 'test/unit/domain/credentials/masking.test.ts',
  normaliseRoundsMax: 'test/unit/domain/credentials/masking.test.ts',
  resolverTtlFloorMs: 'test/unit/adapters/egress/doh-resolver.test.ts',
  resolverTtlCeilingMs: 'test/unit/adapters/egress/doh-resolver.test.ts',
  resolverFailureTtlMs: 'test/unit/adapters/egress/doh-resolver.test.ts',
  dataKeysHeldMax: 'test/unit/adapters/vault/vault.test.ts',
};

const everyLimit: Named = [
  'every limit of base/limits.ts is used by the gateway and named by a test',
  async () => {
    const limits = readFileSync(`${root}src/base/limits.ts`, 'utf8').replace(ofLaterSections, '');
    const names = [...limits.matchAll(/^export const (\w+)/gm)].map((match) => match[1] as string);
    const words = (text: string): ReadonlySet<string> => new Set(text.match(/\w+/g));
    const used = words(textBelow('src', 'base/limits.ts'));
    // Named here only as proved elsewhere is not a test.
    const tested = words(textBelow('test', 'proofs/bounds.ts') + namedHere());
    same(
      names.filter((name) => !used.has(name)),
      [],
      'limits without a use',
    );
    const untested = names.filter((name) => !tested.has(name) && !(name in provedByFigure));
    same(untested, [], 'limits without a test');
    return `${names.length} limits`;
  },
];

/** This file without the table above. */
function namedHere(): string {
  const text = readFileSync(fileURLToPath(import.meta.url), 'utf8');
  return text.replace(/const provedByFigure[\s\S]*?\n\};/, '');
}

// ── the stage ──

async function stage(): Promise<Staged> {
  const origin = await startOrigin();
  const [countingPort = 0] = await freePorts(1);
  // One more than a pool may have, all on the origin's port.
  const hosts = Array.from({ length: poolEndpointsMax + 1 }, (_, i) => `127.0.0.${i + 1}`);
  const pairs = hosts.map((host) => `${host}:${origin.port}`);
  const gateway = await startGateway({ allow: [...pairs, `127.0.0.1:${countingPort}`] });
  const scenario = await makeScenario(gateway);
  await scenario.secret('vendor', 'sk-vendor-0123456789');
  const registered = (name: string, port: number, parts: object = {}): Promise<string> => {
    const endpoints = [{ host: '127.0.0.1', port }];
    return scenario.upstream({ name, alias: `${name}.test`, scheme: 'http', endpoints, ...parts });
  };
  await registered('native', origin.port);
  await registered('counting', countingPort);
  const bindings = [{ location: 'json', name: 'api_key', secret: 'cred://vendor' }];
  await registered('bound', origin.port, { bindings });
  const upstreamId = await registered('routed', origin.port);
  const known = { principalId: scenario.principalId, upstreamId, hosts, port: origin.port };
  const stand: Stand = { gateway, origin, scenario, known, countingPort };
  let passed = 0;
  const rows: Row[] = [...onTheWire, ...inManagement, everyLimit].map(([name, run]) => ({
    name,
    run: async () => {
      const shown = await run(stand);
      passed += 1;
      return typeof shown === 'string' ? shown : undefined;
    },
  }));
  return {
    rows,
    figure: () => `${passed} of ${rows.length} limits hold`,
    dispose: async () => {
      await gateway.dispose();
      await origin.close();
    },
  };
}

export const proof: Proof = {
  name: 'bounds',
  title: 'each limit is attacked once: a typed refusal, and the origin is not asked',
  stage,
};
