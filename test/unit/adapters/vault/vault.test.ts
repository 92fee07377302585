import { describe, expect, it } from 'vitest';
import { AesVault, type MasterKeys } from '../../../../src/adapters/vault/vault';
import type { SealedSecret, WrappedDataKey } from '../../../../src/ports/vault';

const master = (version: number) => ({ version, secret: new Uint8Array(32).fill(version) });
const vaultOf = (masterKeys: MasterKeys, clock = () => 0) =>
  new AesVault({ masterKeys, ttlMs: 10_000, clock });

const owner = { tenantId: 'ten_1', id: 'sec_1' };
const row = (key: WrappedDataKey, sealed: Uint8Array, fields: Partial<SealedSecret> = {}) => ({
  ...owner,
  sealed,
  dataKeyVersion: key.version,
  masterVersion: key.masterVersion,
  wrappedDataKey: key.wrapped,
  ...fields,
});

describe('a sealed secret', () => {
  it('opens for its owner and hides its value', async () => {
    const vault = vaultOf([master(1)]);
    const key = await vault.newDataKey('ten_1', 1);
    const sealed = await vault.seal(key, { ...owner, value: 'ключ-🔑' });
    expect(await vault.open(row(key, sealed))).toEqual({ ok: true, value: 'ключ-🔑' });
    expect(new TextDecoder().decode(sealed)).not.toContain('ключ');
  });

  it('is sealed differently every time', async () => {
    const vault = vaultOf([master(1)]);
    const key = await vault.newDataKey('ten_1', 1);
    const one = await vault.seal(key, { ...owner, value: 'same' });
    const two = await vault.seal(key, { ...owner, value: 'same' });
    expect(one).not.toEqual(two);
  });

  it('does not open once it is moved, renamed or touched', async () => {
    const vault = vaultOf([master(1)]);
    const key = await vault.newDataKey('ten_1', 1);
    const sealed = await vault.seal(key, { ...owner, value: 'value' });
    const flipped = sealed.map((byte, i) => (i === sealed.length - 1 ? byte ^ 1 : byte));
    const other = await vault.newDataKey('ten_2', 1);
    const moved: SealedSecret[] = [
      row(key, sealed, { tenantId: 'ten_2' }),
      row(key, sealed, { id: 'sec_2' }),
      row(key, sealed, { dataKeyVersion: 2 }),
      row(key, sealed, { tenantId: 'ten_2', wrappedDataKey: other.wrapped }),
      row(key, flipped),
      row(key, sealed.subarray(0, 5)),
      row(key, new Uint8Array()),
      row(key, sealed, { masterVersion: 7 }),
      row(key, sealed, { wrappedDataKey: other.wrapped }),
    ];
    for (const secret of moved) {
      expect(await vault.open(secret)).toEqual({ ok: false, error: { code: 'secret.not_found' } });
    }
    expect((await vault.open(row(key, sealed))).ok).toBe(true);
  });

  it('opens under the old and the new wrapping while masters rotate, and under the new one alone after', async () => {
    const before = vaultOf([master(1)]);
    const key = await before.newDataKey('ten_1', 1);
    const sealed = await before.seal(key, { ...owner, value: 'value' });
    const during = vaultOf([master(1), master(2)]);
    expect(during.newestMasterVersion).toBe(2);
    expect((await during.open(row(key, sealed))).ok).toBe(true);
    const again = await during.rewrap(key);
    if (!again.ok || again.value === null) throw new Error('not rewrapped');
    expect(again.value).toMatchObject({ version: 1, masterVersion: 2 });
    expect(await during.rewrap(again.value)).toEqual({ ok: true, value: null });
    const after = vaultOf([master(2)]);
    expect(await after.open(row(again.value, sealed))).toEqual({ ok: true, value: 'value' });
    expect((await after.open(row(key, sealed))).ok).toBe(false);
    expect((await after.rewrap(key)).ok).toBe(false);
  });

  it('is never opened with a data key older than the time to live', async () => {
    let nowMs = 0;
    const masterKeys = [master(1)];
    const vault = vaultOf(masterKeys, () => nowMs);
    const key = await vault.newDataKey('ten_1', 1);
    const sealed = await vault.seal(key, { ...owner, value: 'value' });
    const unwraps = countUnwraps();
    await vault.open(row(key, sealed));
    expect(unwraps.count).toBe(0);
    nowMs = 10_000;
    await vault.open(row(key, sealed));
    expect(unwraps.count).toBe(1);
    unwraps.restore();
  });
});

/** Counts how often a data key is unwrapped. */
function countUnwraps() {
  const original = crypto.subtle.unwrapKey;
  const counter = { count: 0, restore: () => Reflect.deleteProperty(crypto.subtle, 'unwrapKey') };
  Object.defineProperty(crypto.subtle, 'unwrapKey', {
    configurable: true,
    value: (...args: Parameters<SubtleCrypto['unwrapKey']>) => {
      counter.count += 1;
      return original.apply(crypto.subtle, args);
    },
  });
  return counter;
}
