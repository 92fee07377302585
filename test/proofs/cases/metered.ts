/**
 * What cases of the relay say of a call that somebody pays for: a status without a body, interim
 * answers, an answer that breaks, a path made of values. Called by `wire.ts` beside this file.
 */
import { costOf, isReplay, type MoneyTenant, newCase } from '../../support/money-world.ts';
import { type Plan, resets, usageReply } from '../../support/priced-origin.ts';
import { holds, same } from '../../support/proof.ts';
import { ends, placed, type Stand, says } from './stand.ts';
import type { Stands } from './stands.ts';

const bytes =
  (text: string, how: 'stay' | 'end' = 'stay'): Plan =>
  (call) => {
    call.complete(text);
    if (how === 'end') call.socket.end();
  };

/** 204 and 205 are successes that cost; a 304 is none. */
export async function metered204(stands: Stands): Promise<void> {
  const stand = await stands.quick();
  const tenant = await stand.tenant();
  const rows = [
    ['lab.gone', 'DELETE', 'HTTP/1.1 204 No Content\r\nX-A: 1\r\n\r\n', 204, 40],
    ['lab.forty', 'POST', 'HTTP/1.1 205 Reset Content\r\nContent-Length: 0\r\n\r\n', 205, 40],
    ['lab.search', 'GET', 'HTTP/1.1 304 Not Modified\r\nETag: "x"\r\n\r\n', 304, 0],
    // A price per success: without content there is nothing to pay for.
    ['lab.success', 'POST', 'HTTP/1.1 204 No Content\r\n\r\n', 204, 0],
  ] as const;
  let settled = 0;
  for (const [target, method, text, status, micros] of rows) {
    const caseId = newCase();
    stand.plan(caseId, bytes(text));
    const answer = await tenant.call(target, { caseId, method });
    says(answer, status, null, target);
    same(answer.body.length, 0, `body of ${status}`);
    settled += micros;
    same((await tenant.ended()).settled, settled, `settled after ${status}`);
    same(stand.arrivals(caseId), 1, 'requests at the vendor');
  }
}

/** Interim answers decide nothing: status, lines and price are those of the final one. */
export async function metered103(stands: Stands): Promise<void> {
  const stand = await stands.quick();
  const tenant = await stand.tenant();
  const caseId = newCase();
  const hint = 'HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n';
  stand.plan(caseId, (call) => call.complete(hint + hint + usageReply(7).toString()));
  const answer = await tenant.call('lab.usage', { caseId });
  same([answer.status, costOf(answer)], [200, 7], 'the answer');
  holds(!/^link:/im.test(answer.head), 'Link of a 103 came with the 200');
  same((await tenant.ended()).settled, 7, 'settled');
}

const head = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n';
const prefix = '{"ok":true,"usage":{"units":5},"text":"fo';

/** Answers that break: short, without a last chunk, reset inside the JSON, ended inside the JSON. */
const broken: readonly (readonly [what: string, plan: Plan])[] = [
  ['40 of 100 bytes', bytes(`${head}Content-Length: 100\r\n\r\n${prefix}`, 'end')],
  [
    'no last chunk',
    bytes(
      `${head}Transfer-Encoding: chunked\r\n\r\n${prefix.length.toString(16)}\r\n${prefix}\r\n`,
      'end',
    ),
  ],
  ['a reset without a length', resets(`${head}\r\n${prefix}`)],
];

/**
 * Never a clean success, nothing of the prefix in the ledger or a replay. The key's record is
 * `unknown` and not free: the vendor may have executed the call (decisions section 5).
 */
export async function meteredPrefix(stands: Stands): Promise<void> {
  const stand = await stands.quick();
  for (const [what, plan] of broken) {
    const tenant = await stand.tenant();
    const [caseId, key] = [newCase(), `broken ${what}`];
    stand.plan(caseId, plan);
    const answer = await tenant.call('lab.usage', { caseId, key });
    says(answer, 502, 'downstream.error', what);
    holds(!answer.body.includes('"units"'), `${what}: the prefix came through`);
    await noPrefixOf(stand, tenant, { what, caseId, key });
  }
  await cutByItsEnd(stand);
}

interface Broken {
  readonly what: string;
  readonly caseId: string;
  readonly key: string;
}

async function noPrefixOf(stand: Stand, tenant: MoneyTenant, broken: Broken): Promise<void> {
  const { what, caseId, key } = broken;
  const { held, settled } = await tenant.ended();
  same([held, (await ends(tenant)).length], [0, 1], `${what}: held, and ends of the hold`);
  holds(settled !== 5, `${what}: the prefix was priced`);
  const [record] = (await tenant.records()).filter((one) => one.key === key);
  same([record?.state, record?.status], ['unknown', null], `${what}: the record`);
  const again = await tenant.call('lab.usage', { caseId, key });
  says(again, 409, 'idempotency.outcome_unknown', `${what}: a retry`);
  same([isReplay(again), stand.arrivals(caseId)], [false, 1], `${what}: replay and requests`);
}

/** An answer that ends with its connection inside its JSON: not read as what it says, not cheaper. */
async function cutByItsEnd(stand: Stand): Promise<void> {
  const tenant = await stand.tenant();
  const caseId = newCase();
  stand.plan(caseId, bytes(`${head}\r\n${prefix}`, 'end'));
  await tenant.call('lab.usage', { caseId });
  same((await tenant.ended()).settled, 80, 'settled: the fallback of the row');
}

/** Path values of a catalog row, escape by escape; what was put into the path leaves the query. */
export async function catalogPath(stands: Stands): Promise<void> {
  const stand = await stands.quick();
  const tenant = await stand.tenant();
  const values = [
    ['sc-domain%3Aexample.test', 'sc-domain%3Aexample.test'],
    ['a/b?c#d', 'a%2Fb%3Fc%23d'],
    ['100%', '100%25'],
    ['%ZZ', '%25ZZ'],
  ] as const;
  for (const [id, sent] of values) {
    const caseId = newCase();
    const query = `?id=${encodeURIComponent(id)}&b=1&email=a@b.test`;
    const answer = await tenant.call('lab.rows', { caseId, method: 'GET', query });
    same(answer.status, 200, query);
    const { request } = await stand.arrived(caseId);
    same(request.target, `/v1/sites/${sent}/rows/a@b.test?b=1`, query);
  }
  same(await placed(tenant), values.length, 'holds');
}

/** The lines of an upgrade. */
export const upgrade: readonly string[] = [
  'Connection: Upgrade',
  'Upgrade: websocket',
  'Sec-WebSocket-Version: 13',
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
];

/** On the operator's account nobody could meter a session: refused before any hold, nothing is sent. */
export async function meteredUpgrade(stands: Stands): Promise<void> {
  const stand = await stands.quick();
  const tenant = await stand.tenant();
  for (const surface of ['/call/', '/catalog/call/'] as const) {
    const caseId = newCase();
    const options = { caseId, surface, method: 'GET', headers: upgrade };
    says(await tenant.call('lab.socket', options), 400, 'catalog.websocket_not_metered', surface);
    same([stand.arrivals(caseId), await placed(tenant)], [0, 0], 'requests and holds');
  }
}
