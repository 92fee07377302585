/**
 * Refusals of the catalog and of money, each with the platform account's key at hand: what a row, a price, a balance, a cap or a tag
 * says no to. Called by refusals.ts.
 */
import { meteredAnswerBytesMax } from '../../../src/base/limits-money.ts';
import { reply } from '../../support/recording-origin.ts';
import { dearMicros } from './account.ts';
import { type Case, tenantWith } from './case.ts';
import { type Scene, type Sent, send } from './scene.ts';

const upgrade =
  'Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n';
const json = 'Content-Type: application/json\r\n';

/** Everything that the catalog says no to. */
export async function catalogCases(scene: Scene): Promise<readonly Case[]> {
  const by = (code: string, path: string, more: Partial<Sent> = {}): Case => ({
    code,
    name: `${code} at ${path}`,
    send: () => send(scene, { path, ...more }),
  });
  return [
    by('catalog.not_found', '/call/account.plian'),
    by('catalog.not_found', '/catalog/call/elsewhere'),
    by('catalog.retired', '/call/account.dead'),
    by('catalog.no_credential', '/call/account.own'),
    by('catalog.path_not_allowed', '/catalog/call/account.plain/x'),
    by('catalog.placeholder_invalid', '/call/account.echo?status=200'),
    by('catalog.parameter_invalid', '/call/account.strict?q=1'),
    by('catalog.base_unapproved', '/call/away.plain'),
    by('catalog.websocket_not_metered', '/call/account.plain', { head: upgrade }),
    by('request.method_not_allowed', '/call/account.plain', { method: 'POST' }),
  ];
}

const budgets = [
  {
    dimension: 'team',
    window: 'day',
    spend_max_micros: null,
    calls_max: null,
    values: [
      { value: 'blocked', blocked: true },
      { value: 'spent', spend_max_micros: 1 },
      { value: 'called', calls_max: 0 },
    ],
  },
];

/** Everything that a price, a balance, a cap or a budget says no to. */
export async function priceCases(scene: Scene): Promise<readonly Case[]> {
  const micros = dearMicros * 10;
  const [poor, capped, counted, tagged] = [
    await tenantWith(scene, { name: 'poor', micros: 1 }),
    await tenantWith(scene, { name: 'capped', micros, limits: { daily_cap_micros: 1 } }),
    await tenantWith(scene, { name: 'counted', micros, keyFields: { daily_call_cap: 1 } }),
    await tenantWith(scene, { name: 'tagged', micros, limits: { budgets } }),
  ];
  const dear = (code: string, who: { token: string }, head = ''): Case => ({
    code,
    name: `${code}, ${head}`,
    send: () => send(scene, { path: '/call/account.dear', token: who.token, head }),
  });
  const { scenario } = scene;
  return [
    dear('meta.invalid', scenario, 'X-Weir-Meta: nothing\r\n'),
    dear('route_max_cost', scenario, `X-Weir-Max-Cost-Micro: ${dearMicros - 1}\r\n`),
    dear('validation.error', scenario, 'X-Weir-Max-Cost-Micro: cheap\r\n'),
    dear('insufficient_balance', poor),
    dear('platform_daily_cap_reached', capped),
    {
      code: 'key_daily_call_cap_reached',
      name: 'the second call of a key with one a day',
      send: async () => {
        const call: Sent = { path: '/call/account.dear', token: counted.token };
        return Buffer.concat([await send(scene, call), await send(scene, call)]);
      },
    },
    dear('tag_blocked', tagged, 'X-Weir-Meta: team=blocked\r\n'),
    dear('tag_spend_cap_reached', tagged, 'X-Weir-Meta: team=spent\r\n'),
    dear('tag_call_cap_reached', tagged, 'X-Weir-Meta: team=called\r\n'),
    {
      code: 'price.unknown',
      name: 'a model without a price',
      send: () => {
        const body = '{"model":"another"}';
        return send(scene, { method: 'POST', path: '/call/account.priced', head: json, body });
      },
    },
    {
      code: 'response_buffer_limit',
      name: 'an answer too large to be read, the key in its head',
      send: () => {
        const { value } = scene.canaries.account;
        const head = ['Content-Type: application/json', `X-Echo: ${value}`];
        const body = Buffer.alloc(meteredAnswerBytesMax + 1, ' ');
        scene.vendor.answer(reply('200 OK', head, body));
        return send(scene, { path: '/call/account.plain' });
      },
    },
  ];
}
