/**
 * Rows: what a vendor gets of a call on the platform account (tier 4), where the gateway speaks for
 * itself (`meter-catalog.ts` has the rows of the catalog). Called by ../wire.ts.
 */
import { holds, same } from '../../support/proof.ts';
import { headerOf } from '../../support/raw-client.ts';
import { type RecordedRequest, reply } from '../../support/recording-origin.ts';
import { makeScenario } from '../../support/scenario.ts';
import { body, costOf, framed, lowered, post } from './meter-calls.ts';
import { meterAccount } from './meter-catalog.ts';
import { arrives, refused, relay, type Stand, sameBytes, sized, type WireRow } from './stand.ts';

const code = /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** What the vendor gets beside the caller's own lines; its client code is looked at by its own row. */
const account = (request: RecordedRequest): string[] => [
  `x-meter-key: ${meterAccount.METER_KEY}`,
  'x-version: 3',
  'user-agent: weir',
  `x-meter-client: ${headerOf(request.lines, 'x-meter-client')}`,
];

const vendorKey = (request: RecordedRequest): string =>
  headerOf(request.lines, 'idempotency-key') ?? '';

/** Another tenant with money; gives its key. */
async function anotherTenant({ gateway }: Stand): Promise<string> {
  const tenant = await makeScenario(gateway, { name: 'Other' });
  const money = { id: 'wire', micros: 1_000_000 };
  await gateway.api('POST', `/api/v1/ledger/topups?tenant=${tenant.tenantId}`, money);
  return tenant.token;
}

export const platformRows: readonly WireRow[] = [
  {
    n: 157,
    kind: 'platform',
    title:
      "The account's credential and the provider's constants replace every line of their names",
    why: 'digest A6: a caller cannot choose the credential of an account that it does not own',
    run: async (stand) => {
      const own = ['X-Meter-Key: mine', 'x-meter-key: mine too', 'X-Version: 1'];
      const { request } = await relay(stand, post('call', [...own, 'X-Own: 1', 'X-Own: 2']));
      same(
        request.lines.filter((line) => /^x-(?:meter-key|version):/i.test(line)).length,
        2,
        'lines of the two names',
      );
      same(headerOf(request.lines, 'x-meter-key'), meterAccount.METER_KEY, 'credential');
      same(headerOf(request.lines, 'x-version'), '3', 'constant');
      same(request.lines.filter((line) => /^x-own:/i.test(line)).length, 2, 'own lines');
    },
  },
  {
    n: 158,
    kind: 'platform',
    title: 'Accept-Encoding is identity, User-Agent is weir; every other line and byte stays',
    why: 'decisions section 5: identity wherever we must read; digest A6: the vendor sees no client',
    run: async (stand) => {
      const kept = ['X-Own: a', 'Accept: */*'];
      const own = ['Accept-Encoding: gzip, br', 'User-Agent: SomeSdk/1.2'];
      const { request } = await relay(stand, post('usage', [...own, ...kept]));
      const host = `host: 127.0.0.1:${stand.origin.port}`;
      same(
        lowered(request.lines),
        lowered([...kept, ...framed, ...account(request), host, 'accept-encoding: identity']),
        'headers',
      );
      same(request.requestLine, 'POST /v1/usage HTTP/1.1', 'request line');
      sameBytes(request.body, body, 'body');
    },
  },
  {
    n: 159,
    kind: 'platform',
    title:
      'Idempotency-Key becomes a code of ours: one per tenant, scope and key, the same for a repeat',
    why: "digest A6: all tenants share the account; the caller's own could fetch another's answer",
    run: async (stand) => {
      const failing = { reply: reply('500 Oops', [], '') };
      const keyed = (key: string) => post('call', [`Idempotency-Key: ${key}`]);
      const first = vendorKey((await relay(stand, { ...keyed('wire-159'), ...failing })).request);
      const again = vendorKey((await relay(stand, { ...keyed('wire-159'), ...failing })).request);
      const other = vendorKey((await relay(stand, { ...keyed('wire-159b'), ...failing })).request);
      holds(code.test(first) && code.test(other), `not codes: ${first} ${other}`);
      same(again, first, 'the repeat');
      const token = await anotherTenant(stand);
      const foreign = vendorKey(
        (await relay(stand, { ...keyed('wire-159'), ...failing, key: token })).request,
      );
      same(new Set([first, other, foreign]).size, 3, 'codes of two keys and two tenants');
      return first;
    },
  },
  {
    n: 160,
    kind: 'platform',
    title:
      "client_header carries a code of the tenant; a caller's own line of that name is replaced",
    why: 'digest A6: the vendor can tell tenants apart and learns no name',
    run: async (stand) => {
      const own = post('call', ['X-Meter-Client: somebody-else']);
      const first = headerOf((await relay(stand, own)).request.lines, 'x-meter-client') ?? '';
      const again = headerOf((await relay(stand, post('usage'))).request.lines, 'x-meter-client');
      holds(/^t_[0-9a-f]{24}$/.test(first), `not a code: ${first}`);
      same(again, first, 'another call of the tenant');
      const token = await anotherTenant(stand);
      const foreign = await relay(stand, { ...post('usage'), key: token });
      holds(headerOf(foreign.request.lines, 'x-meter-client') !== first, 'two tenants, one code');
      return first;
    },
  },
  {
    n: 161,
    kind: 'platform',
    title:
      "Path values move from the query into the path, each one segment; the row's own query goes in " +
      'front; other pairs keep bytes and place',
    why: 'digest A6 placeholders; on every tier',
    run: async (stand) => {
      const query = 'b=%7e&id=a%2Fb%20c@d&&c=+';
      const { request } = await relay(stand, { target: `/catalog/call/meter.item?${query}` });
      same(
        request.requestLine,
        'GET /v1/items/a%2Fb%20c@d?view=full&b=%7e&&c=+ HTTP/1.1',
        'request line',
      );
    },
  },
  {
    n: 162,
    kind: 'platform',
    title: "ceiling_param tells the vendor what is held; a caller's pair of that name is replaced",
    why: 'seed 000: the vendor must not bill more than is set aside',
    run: async (stand) => {
      const { request } = await relay(stand, {
        target: '/catalog/call/meter.capped?a=1&max=999999&b=2',
      });
      same(request.requestLine, 'GET /v1/capped?a=1&b=2&max=60 HTTP/1.1', 'request line');
    },
  },
  {
    n: 163,
    kind: 'platform',
    title:
      'X-Weir-Meta, X-Weir-Max-Cost-Micro and X-Weir-Keep-Reported-Charge are read and never sent',
    why: 'digest A9; dropped by prefix as every X-Weir-*',
    run: async (stand) => {
      const ours = [
        'X-Weir-Meta: team=a',
        'X-Weir-Max-Cost-Micro: 500',
        'X-Weir-Keep-Reported-Charge: 1',
      ];
      const { request } = await relay(stand, post('call', ours));
      same(
        request.lines.filter((line) => /^x-weir-/i.test(line)),
        [],
        'lines of ours',
      );
      await refused(stand, post('call', ['X-Weir-Max-Cost-Micro: 59']), 402, 'route_max_cost');
    },
  },
  {
    n: 164,
    kind: 'platform',
    title:
      "With the caller's own credential Idempotency-Key, User-Agent and Accept-Encoding arrive as they were",
    why: 'issue 3: own-key calls are relayed verbatim; tiers 1 to 3 are read by nobody',
    run: async (stand) => {
      const own = await makeScenario(stand.gateway, { name: 'Own' });
      await own.secret('meter', 'own-meter-key-0123456789');
      const lines = [
        'Idempotency-Key: k 1',
        'User-Agent: Sdk/1',
        'Accept-Encoding: br',
        'X-Weir-Meta: a=b',
      ];
      const { answer, request } = await relay(stand, { ...post('usage', lines), key: own.token });
      arrives(
        request,
        'POST /v1/usage',
        [...lines.slice(0, 3), ...framed, 'x-meter-key: own-meter-key-0123456789', 'x-version: 3'],
        body,
      );
      same(costOf(answer), null, 'cost');
    },
  },
  {
    n: 165,
    kind: 'platform',
    title: 'A WebSocket upgrade is refused: nobody could meter it',
    why: 'decisions section 4: a typed refusal before any hold',
    run: async (stand) => {
      const upgrade = [
        'Connection: Upgrade',
        'Upgrade: websocket',
        'Sec-WebSocket-Version: 13',
        'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
      ];
      const call = { target: '/catalog/call/meter.item?id=1', headers: upgrade };
      await refused(stand, call, 400, 'catalog.websocket_not_metered');
    },
  },
  {
    n: 166,
    kind: 'platform',
    title: 'A keyed body above 1 MiB is a 413 before anything is held',
    why: 'decisions section 5: what a key stands for is compared byte for byte',
    run: async (stand) => {
      const large = Buffer.alloc(2 ** 20 + 1, 'a');
      const headers = ['Idempotency-Key: wire-166', sized(large)];
      const call = { method: 'POST', target: '/catalog/call/meter.call', headers };
      await refused(stand, call, 413, 'payload.too_large');
    },
  },
];
