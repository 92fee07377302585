/**
 * Refusals of the ledger: repeats of keyed calls, its own limits (in a world where they are small), its management. The platform
 * account's key is at hand in all of them. Called by refusals.ts.
 */
import { keyedBodyBytesMax, recordKeyCharsMax } from '../../../src/base/limits-money.ts';
import { type MoneyTenant, type MoneyWorld, startMoneyWorld } from '../../support/money-world.ts';
import { labSetting } from '../../support/money-world-catalog.ts';
import { holds } from '../../support/proof.ts';
import { type RecordedRequest, reply } from '../../support/recording-origin.ts';
import { type Case, managed, tenantWith } from './case.ts';
import { restore } from './echoes.ts';
import { type Scene, type Sent, search, send } from './scene.ts';

const json = 'Content-Type: application/json\r\n';
const keyed = (key: string): string => `${json}Idempotency-Key: ${key}\r\n`;

/** A keyed call of `account.post`. */
const keyedPost = (key: string, body = '{"a":1}', token?: string): Sent => ({
  method: 'POST',
  path: '/call/account.post',
  head: keyed(key),
  body,
  ...(token === undefined ? {} : { token }),
});

/** Runs `during` while a call of `sent` waits at the vendor; the call gets its answer after it. */
async function whileOpen(scene: Scene, sent: Sent, during: () => Promise<Buffer>): Promise<Buffer> {
  const asked: RecordedRequest[] = [];
  const before = scene.vendor.requests.length;
  scene.vendor.answer((request) => void asked.push(request));
  const open = send(scene, sent);
  try {
    await scene.vendor.arrived(before + 1);
    return Buffer.concat([await during(), await answered()]);
  } finally {
    restore(scene);
  }
  function answered(): Promise<Buffer> {
    for (const { connection } of asked) connection.socket.write(reply('200 OK', [], 'late'));
    return open;
  }
}

/** Everything that an Idempotency-Key is refused for. */
export async function keyedCases(scene: Scene): Promise<readonly Case[]> {
  const by = (code: string, name: string, act: () => Promise<Buffer>): Case => ({
    code,
    name,
    send: act,
  });
  const both = async (first: Sent, second: Sent): Promise<Buffer> =>
    Buffer.concat([await send(scene, first), await send(scene, second)]);
  return [
    by('idempotency.key_invalid', 'a long key', () =>
      send(scene, keyedPost('k'.repeat(recordKeyCharsMax + 1))),
    ),
    by('payload.too_large', 'a large keyed body', () => {
      const head = `${keyed('large')}Content-Length: ${keyedBodyBytesMax + 1}\r\n`;
      return send(scene, { method: 'POST', path: '/call/account.post', head });
    }),
    by('idempotency.mismatch', 'another body', () =>
      both(keyedPost('twice'), keyedPost('twice', '{"a":2}')),
    ),
    by('idempotency.in_progress', 'the first one is open', () =>
      whileOpen(scene, keyedPost('open'), () => send(scene, keyedPost('open'))),
    ),
    by('idempotency.outcome_unknown', 'the first one broke', async () => {
      scene.vendor.answer(({ connection }) => void connection.socket.resetAndDestroy());
      return both(keyedPost('broken'), keyedPost('broken'));
    }),
    by('idempotency.not_unknown', 'a record that has an answer', async () => {
      const of = `?tenant=${scene.scenario.tenantId}`;
      const { body } = await scene.gateway.api('GET', `/api/v1/idempotency${of}&limit=100`);
      const records = body.data as { id: string; state: string }[];
      const recorded = records.find(({ state }) => state === 'recorded');
      const path = `/idempotency/${recorded?.id}/resolve${of}`;
      return managed(scene, { method: 'POST', path, body: { resolution: 'free' } });
    }),
  ];
}

/** Everything that a ledger refuses in management. */
export async function ledgerCases(scene: Scene): Promise<readonly Case[]> {
  const { tenantId: parentId } = scene.scenario;
  const child = await tenantWith(scene, { name: 'child', micros: 1_000, parentId });
  const topUp = (micros: number): Promise<Buffer> => {
    const path = `/ledger/topups?tenant=${child.tenantId}`;
    return managed(scene, { method: 'POST', path, body: { id: 'again', micros }, as: 'operator' });
  };
  return [
    {
      code: 'ledger.id_conflict',
      name: 'one payment, two amounts',
      send: async () => Buffer.concat([await topUp(1), await topUp(2)]),
    },
    {
      code: 'ledger.holds_open',
      name: 'a ledger is left while a call is open',
      send: () =>
        whileOpen(scene, { path: '/call/account.dear', token: child.token }, () => {
          const path = `/tenants/${child.tenantId}`;
          const body = { name: 'child', ledger_tenant_id: parentId };
          return managed(scene, { method: 'PUT', path, body, as: 'operator' });
        }),
    },
  ];
}

/** The deployed Worker but for limits that a test could not fill in a minute. */
const small = {
  ledgerOpenHoldsMax: 2,
  ledgerBlocksMax: 2,
  ledgerBudgetValuesMax: 2,
  recordTenantBytesMax: 600,
};

/** Each case starts at zero in a tenant of its own; the last one ends the world. */
export async function smallLedgerCases(scene: Scene): Promise<readonly Case[]> {
  const { value } = scene.canaries.account;
  const PLATFORM_SETTINGS = JSON.stringify({ [labSetting]: value });
  const world = await startMoneyWorld({ limits: small, bindings: { PLATFORM_SETTINGS } });
  const cases = smallWorldCases(world).map(
    ({ code, name, send: act }): Case => ({
      code,
      name,
      send: async () => {
        const bytes = await act();
        holds(bytes.length > 0, `no answer: ${name}`);
        return bytes;
      },
    }),
  );
  const last: Case = {
    code: 'ledger.too_many_blocks',
    name: 'a third payment; and nothing in the log',
    send: async () => {
      try {
        const tenant = await world.tenant({ topUpMicros: 1 });
        await tenant.topUp(1);
        const refused = await tenant.topUp(1).catch((no: Error) => no.message);
        const leaks = search(scene, Buffer.from(world.gateway.output()), 'the log');
        holds(leaks.length === 0, leaks.join(' | '));
        return Buffer.from(String(refused));
      } finally {
        await world.dispose();
      }
    },
  };
  return [...cases, last];
}

function smallWorldCases(world: MoneyWorld): readonly Case[] {
  const calls = async (tenant: MoneyTenant, each: readonly object[]): Promise<Buffer> => {
    const answers: Buffer[] = [];
    for (const options of each) answers.push((await tenant.call('lab.fixed', options)).bytes);
    return Buffer.concat(answers);
  };
  const budgets = [
    { dimension: 'team', window: 'day', spend_max_micros: null, calls_max: 9, values: [] },
  ];
  return [
    {
      code: 'tag_budget_unavailable',
      name: 'a third value of a dimension',
      send: async () => {
        const tenant = await world.tenant({ limits: { budgets } });
        return calls(tenant, [{ meta: 'team=a' }, { meta: 'team=b' }, { meta: 'team=c' }]);
      },
    },
    {
      code: 'idempotency.quota',
      name: 'answers fill what a tenant may keep',
      send: async () => calls(await world.tenant(), [{ key: 'a' }, { key: 'b' }, { key: 'c' }]),
    },
    {
      code: 'ledger.open_holds_max',
      name: 'a third open call',
      send: async () => {
        const tenant = await world.tenant();
        world.origin.hold();
        const open = [tenant.call('lab.fixed'), tenant.call('lab.fixed')];
        await world.origin.until(() => world.origin.waiting() === 2);
        const third = await tenant.call('lab.fixed');
        world.origin.open();
        return Buffer.concat([third.bytes, ...(await Promise.all(open)).map(({ bytes }) => bytes)]);
      },
    },
  ];
}
