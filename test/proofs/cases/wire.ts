/**
 * Cases whose mechanism is the relay: headers, framing, encoding, path, streaming, websocket, acl
 * and secrets. Each is shown by the rows of the relay contract that state it; what a row leaves out
 * (the platform account's side, the case's own literal input) is played here. Called by ../cases.ts.
 */
import { holds, same } from '../../support/proof.ts';
import { headersOf, type RawAnswer } from '../../support/raw-client.ts';
import { makeScenario } from '../../support/scenario.ts';
import { post } from '../wire/meter-calls.ts';
import { arrives, problemOf, refused, relay, type Stand, send } from '../wire/stand.ts';
import {
  catalogPath,
  metered103,
  metered204,
  meteredPrefix,
  meteredUpgrade,
  upgrade,
} from './metered.ts';
import { privateThroughEveryEntry } from './ssrf.ts';
import { byRows, type CaseChecks, type Stands } from './stands.ts';

/** The literal input: the bound header is Authorization, and Connection names it. */
async function authorizationNamed(stand: Stand): Promise<void> {
  const bindings = [
    { location: 'header', name: 'Authorization', injector: 'bearer', secret: stand.credentialRef },
  ];
  const { path } = await stand.register({ bindings });
  for (const named of ['authorization', 'x-api-key, content-length, host, authorization']) {
    const { request } = await relay(stand, {
      method: 'POST',
      target: `${path}/h`,
      headers: [`Connection: ${named}`, 'Authorization: Basic eA==', 'Content-Length: 3'],
      body: 'abc',
    });
    const lines = ['Content-Length: 3', `Authorization: Bearer ${stand.credential}`];
    arrives(request, 'POST /h', lines, 'abc');
  }
}

/** The key is gone wherever SDKs put it, also from what a query credential is written into. */
async function noByteOfTheKey(stand: Stand): Promise<void> {
  const bindings = [{ location: 'query', name: 'api', secret: stand.credentialRef }];
  const { path } = await stand.register({ bindings });
  const headers = [`Authorization: Bearer ${stand.token}`, 'Content-Length: 2'];
  const call = { method: 'POST', target: `${path}/k?a=1`, headers, body: 'ab', key: null };
  const { request } = await relay(stand, call);
  same(request.target, `/k?a=1&api=${stand.credential}`, 'target');
  same(headersOf(request.lines, 'authorization'), [], 'Authorization');
  holds(!request.raw.toString('latin1').includes(stand.token.slice(3)), 'the key left');
}

/** A request that is not the tenant's to send, through every entry; the answers say the same. */
async function throughEveryEntry(stand: Stand, stands: Stands): Promise<void> {
  await forbiddenCatalogTarget(stand);
  await forbiddenUpstream(stand);
  await privateThroughEveryEntry(await stands.ssrf());
}

/** A deny rule on the vendor's path binds the catalog's two entries too; no hold is made. */
async function forbiddenCatalogTarget(stand: Stand): Promise<void> {
  const tenant = await makeScenario(stand.gateway, { name: 'Denied' });
  const books = `/api/v1/ledger/topups?tenant=${tenant.tenantId}`;
  await stand.gateway.api('POST', books, { id: 'denied', micros: 1_000 });
  await tenant.post('/deny-rules', { path: '/v1/call' });
  for (const surface of ['/call/', '/catalog/call/']) {
    const call = { ...post('call'), target: `${surface}meter.call`, key: tenant.token };
    await refused(stand, call, 403, 'authz.denied');
  }
  const { body } = await stand.gateway.api(
    'GET',
    `/api/v1/ledger/entries?tenant=${tenant.tenantId}`,
  );
  const placed = body.data.filter(({ kind }: { kind: string }) => kind === 'place');
  same(placed, [], 'holds');
}

/** By name, by URL, by alias, plain and upgraded: one status, one type, and the rest says the same too. */
async function forbiddenUpstream(stand: Stand): Promise<void> {
  const upstream = await stand.register({ base_path: '/c036-entries' });
  const route = { upstream_id: upstream.id, methods: ['GET'], path: '/', query_allowlist: null };
  await stand.tenant.post('/routes', route);
  await stand.tenant.post('/deny-rules', { path: '/c036-entries/no' });
  const entries = [
    `${upstream.path}/no`,
    `/call/http://${stand.origin.authority}/c036-entries/no`,
    `/call/http:/${stand.origin.authority}/c036-entries/no`,
    `/proxy/${upstream.name}/no`,
  ];
  const shown = new Set<string>();
  for (const target of entries)
    for (const headers of [[], upgrade]) {
      const { answer, requests } = await send(stand, { target, headers });
      same(requests.length, 0, `requests at the origin of ${target}`);
      shown.add(sayingOf(answer));
    }
  same([...shown], ['403 urn:weir:problem:authz.denied'], 'answers');
}

const sayingOf = (answer: RawAnswer): string => `${answer.status} ${problemOf(answer).type}`;

/** Checks by case. */
export const wireChecks: CaseChecks = {
  // headers
  C001: byRows([78]),
  C003: byRows([66], authorizationNamed),
  C004: byRows([30]),
  C007: byRows([18, 46]),
  C008: byRows([79]),
  C011: byRows([116, 81]),
  // acl
  C009: byRows([75, 142]),
  C033: byRows([108]),
  C034: byRows([110]),
  C036: byRows([128], throughEveryEntry),
  // framing
  C012: byRows([68, 69, 70, 140]),
  C014: byRows([41, 122]),
  C015: byRows([85, 86, 150], (_, stands) => metered204(stands)),
  C017: byRows([148, 73], (_, stands) => metered103(stands)),
  C018: byRows([92, 153], (_, stands) => meteredPrefix(stands)),
  // websocket
  C019: byRows([104, 106, 165], (_, stands) => meteredUpgrade(stands)),
  // encoding
  C021: byRows([87]),
  C023: byRows([88]),
  C024: byRows([50, 95]),
  // path
  C026: byRows([57]),
  C028: byRows([61], (_, stands) => catalogPath(stands)),
  C029: byRows([1]),
  C031: byRows([55]),
  // secrets
  C005: byRows([21], noByteOfTheKey),
  C052: byRows([125]),
  C053: byRows([51]),
  // streaming
  C055: byRows([97]),
  C057: byRows([103, 172]),
};
