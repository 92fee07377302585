/**
 * The limits of the management API: the documents of documents.ts, and those that need more than
 * one request. Called by test/proofs/bounds.ts.
 */
import {
  cursorCharsMax,
  denyRulesPerTenantMax,
  egressAllowMax,
  firstByteTimeoutDefaultMs,
  idleTimeoutDefaultMs,
  issuePathCharsMax,
  issuesMax,
  managementBodyBytesMax,
  managementJsonDepthMax,
  pageSizeDefault,
  pageSizeMax,
  routesPerUpstreamMax,
  tenantDepthMax,
} from '../../../src/base/limits.ts';
import { startGateway } from '../../support/gateway.ts';
import { holds, same } from '../../support/proof.ts';
import { exchange, type RawAnswer } from '../../support/raw-client.ts';
import { operatorKey } from '../../support/test-env.ts';
import { type Attack, attacks } from './documents.ts';
import { chunked, type Named, nested, object, refused, type Stand, sized } from './stand.ts';

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

/** Every row of this file. */
export const inManagement: readonly Named[] = [
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

/**
 * Fills the tenant up to `count` deny rules, past the API: the limit is what is on trial, not 256
 * requests.
 */
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
