/**
 * VaultCredentials: opened once per TTL and configuration object; every "no" of a binding; nothing
 * kept after a "no".
 */
import { describe, expect, it } from 'vitest';
import { VaultCredentials } from '../../../../src/adapters/vault/credentials';
import { openedSecretsMax } from '../../../../src/base/limits';
import { err, ok, type Result } from '../../../../src/base/result';
import type { Refusal } from '../../../../src/domain/refusal';
import type { TenantView } from '../../../../src/ports/config';
import type { PreparedCredentials } from '../../../../src/ports/credentials';
import type { SealedSecret } from '../../../../src/ports/vault';
import { binding, startMs, tenant, unavailable, upstream } from '../../call/calls';

const ttlMs = 10_000;
const sealed = (id: string): SealedSecret => ({
  id,
  tenantId: 'ten_leaf',
  sealed: new Uint8Array([1]),
  dataKeyVersion: 1,
  masterVersion: 1,
  wrappedDataKey: new Uint8Array([2]),
});

/** Values by secret id; a refusal is what the vault says. */
function world(values: Readonly<Record<string, string | Refusal>> = { sec_1: 'sk-1' }) {
  const opened: string[] = [];
  const state = { values };
  const credentials = new VaultCredentials({
    vault: {
      open: async (secret) => {
        opened.push(secret.id);
        const value = state.values[secret.id] ?? { code: 'secret.not_found' };
        return typeof value === 'string' ? ok(value) : err(value);
      },
    },
    platformSettings: new Map([['vendor_key', 'pk-1']]),
    ttlMs,
  });
  const view: TenantView = {
    ...tenant(),
    secretsOf: () => ok(new Map(Object.keys(state.values).map((id) => [id, sealed(id)]))),
  };
  return { credentials, opened, state, view };
}

const prepared = async (
  made: Result<PreparedCredentials, Refusal> | Promise<Result<PreparedCredentials, Refusal>>,
): Promise<PreparedCredentials> => {
  const result = await made;
  if (!result.ok) throw new Error(JSON.stringify(result.error));
  return result.value;
};

describe('prepared credentials', () => {
  it('go to header, query and JSON field, several of one upstream', async () => {
    const { credentials, view } = world({ sec_1: 'sk-1', sec_2: '{"user":"u","pass":"p\\"w"}' });
    const target = upstream({
      bindings: [
        binding(),
        binding({ location: 'query', name: 'key', injector: 'api_key' }),
        binding({
          location: 'json',
          name: 'password',
          injector: 'api_key',
          source: { kind: 'secret', secretId: 'sec_2', field: 'pass' },
        }),
        binding({
          name: 'x-version',
          injector: 'custom',
          format: '7',
          source: { kind: 'constant' },
        }),
        binding({
          name: 'x-vendor',
          injector: 'api_key',
          source: { kind: 'platform_setting', setting: 'vendor_key' },
        }),
      ],
    });
    const made = await prepared(credentials.prepare(target, view, startMs));
    expect(made.headers).toEqual([
      ['authorization', 'Bearer sk-1'],
      ['x-version', '7'],
      ['x-vendor', 'pk-1'],
    ]);
    expect(made.query).toEqual([['key', 'sk-1']]);
    expect(made.json).toEqual([['password', '"p\\"w"']]);
    expect(made.masks.map((mask) => mask.value).sort()).toEqual(['p"w', 'pk-1', 'sk-1']);
  });

  it('of constants alone mask nothing', async () => {
    const { credentials, view } = world();
    const constant = binding({ injector: 'custom', format: 'v1', source: { kind: 'constant' } });
    const target = upstream({ bindings: [constant] });
    expect((await prepared(credentials.prepare(target, view, startMs))).masks).toEqual([]);
  });
});

describe('opened secrets', () => {
  const target = upstream({ bindings: [binding()] });

  it('are opened once per TTL, and are there at once meanwhile', async () => {
    const { credentials, opened, view } = world();
    const first = await prepared(credentials.prepare(target, view, startMs));
    const again = credentials.prepare(target, view, startMs + ttlMs - 1);
    expect(again).toEqual(ok(first));
    expect(opened).toEqual(['sec_1']);
    await credentials.prepare(target, view, startMs + ttlMs);
    expect(opened).toEqual(['sec_1', 'sec_1']);
  });

  it('of a changed configuration object are opened again', async () => {
    const { credentials, state, view } = world();
    await credentials.prepare(target, view, startMs);
    state.values = { sec_1: 'sk-2' };
    const changed = upstream({ bindings: [binding()] });
    const made = await prepared(credentials.prepare(changed, view, startMs + 1));
    expect(made.headers).toEqual([['authorization', 'Bearer sk-2']]);
  });

  it('of an upstream that tenants share are opened once for each of them, however they take turns', async () => {
    const { credentials, opened, view } = world();
    const [ofOne, ofOther] = [
      upstream({ bindings: [binding()] }),
      upstream({ bindings: [binding()] }),
    ];
    for (const seen of [ofOne, ofOther, ofOne, ofOther, ofOne])
      await credentials.prepare(seen, view, startMs);
    expect(opened).toEqual(['sec_1', 'sec_1']);
  });

  it('that could not be opened are tried again by the next call', async () => {
    const { credentials, state, view } = world({ sec_1: { code: 'secret.not_found' } });
    expect(await credentials.prepare(target, view, startMs)).toMatchObject({ ok: false });
    state.values = { sec_1: 'sk-1' };
    expect(await credentials.prepare(target, view, startMs)).toMatchObject({ ok: true });
  });

  it('of one call are no promise for another: both open for themselves', async () => {
    const { credentials, opened, view } = world();
    const [a, b] = [
      credentials.prepare(target, view, startMs),
      credentials.prepare(target, view, startMs),
    ];
    expect(a).not.toBe(b);
    await Promise.all([a, b]);
    expect(opened).toEqual(['sec_1', 'sec_1']);
  });

  it('are held for at most openedSecretsMax upstreams', async () => {
    const { credentials, opened, view } = world();
    const many = Array.from({ length: openedSecretsMax + 1 }, (_, i) =>
      upstream({ id: `ups_${i}`, bindings: [binding()] }),
    );
    for (const one of many) await credentials.prepare(one, view, startMs);
    const before = opened.length;
    await credentials.prepare(many[0] as (typeof many)[0], view, startMs);
    await credentials.prepare(many.at(-1) as (typeof many)[0], view, startMs);
    expect(opened.length - before).toBe(1);
  });
});

describe('a binding that cannot be made fails the call', () => {
  const setting = binding({ source: { kind: 'platform_setting', setting: 'missing' } });
  const field = binding({ source: { kind: 'secret', secretId: 'sec_1', field: 'token' } });
  const notOpened: Refusal = { code: 'secret.not_found' };
  it.each([
    ['a secret that does not exist', binding(), {}, notOpened],
    ['a secret that does not open', binding(), { sec_1: notOpened }, notOpened],
    ['a store that does not answer', binding(), { sec_1: unavailable }, unavailable],
    ['a platform setting that is missing', setting, {}, credentialless('platform_setting')],
    ['a secret without the field', field, { sec_1: '{"a":"b"}' }, credentialless('injector')],
    ['a secret that is no JSON object', field, { sec_1: 'sk' }, credentialless('injector')],
    [
      'a secret with a line end, in a header',
      binding(),
      { sec_1: 'a\r\nb' },
      credentialless('injector'),
    ],
  ])('%s', async (_, bound, values, refusal) => {
    const { credentials, view } = world(values as Record<string, string | Refusal>);
    const target = upstream({ bindings: [bound] });
    expect(await credentials.prepare(target, view, startMs)).toEqual(err(refusal));
  });

  it('secrets that the view cannot give are passed on', async () => {
    const { credentials, view } = world();
    const down = { ...view, secretsOf: () => err(unavailable) };
    const target = upstream({ bindings: [binding()] });
    expect(await credentials.prepare(target, down, startMs)).toEqual(err(unavailable));
  });
});

function credentialless(reason: 'platform_setting' | 'injector'): Refusal {
  return { code: 'credential.unavailable', reason };
}
