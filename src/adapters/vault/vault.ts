/**
 * AesVault: the vault over WebCrypto. A master key wraps one data key per tenant and version; the
 * data key seals secrets; both with AES-256-GCM, a random 12-byte nonce in front, and additional
 * data that names the owner (NIST SP 800-38D). Promises: a row moved to another tenant, id or
 * version does not open; data keys are held non-extractable, for at most `ttlMs`. Must never: keep
 * a promise across requests (it belongs to the request that made it), log, or say why a row did not
 * open. Called by the credentials adapter (open) and the management API (the rest).
 */
import { assert } from '../../base/assert';
import { dataKeysHeldMax } from '../../base/limits';
import { Lru } from '../../base/lru';
import { err, ok, type Result } from '../../base/result';
import type { Refusal } from '../../domain/refusal';
import type { SealedSecret, Vault, WrappedDataKey } from '../../ports/vault';

/** Versioned master keys of 32 bytes, oldest first. */
export type MasterKeys = readonly { readonly version: number; readonly secret: Uint8Array }[];

/**
 * `ttlMs` bounds the life of an unwrapped data key, milliseconds; `clock` is epoch milliseconds.
 */
export interface AesVaultNeeds {
  readonly masterKeys: MasterKeys;
  readonly ttlMs: number;
  readonly clock: () => number;
}

const nonceBytes = 12;
const keyBytes = 32;
const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

const secretOwner = (secret: { readonly tenantId: string; readonly id: string }): Uint8Array =>
  encoder.encode(`weir:secret:${secret.tenantId}:${secret.id}`);
const dataKeyOwner = (key: { readonly tenantId: string; readonly version: number }): Uint8Array =>
  encoder.encode(`weir:datakey:${key.tenantId}:${key.version}`);

interface Held {
  readonly key: CryptoKey;
  readonly untilMs: number;
}

export class AesVault implements Vault {
  readonly newestMasterVersion: number;
  readonly masterVersions: readonly number[];
  readonly #needs: AesVaultNeeds;
  readonly #masters = new Map<number, CryptoKey>();
  readonly #held = new Lru<string, Held>(dataKeysHeldMax);

  constructor(needs: AesVaultNeeds) {
    const newest = needs.masterKeys.at(-1);
    assert(newest !== undefined, 'no master key');
    this.#needs = needs;
    this.newestMasterVersion = newest.version;
    this.masterVersions = needs.masterKeys.map(({ version }) => version);
  }

  async open(secret: SealedSecret): Promise<Result<string, Refusal>> {
    const key = await this.#dataKey({
      tenantId: secret.tenantId,
      version: secret.dataKeyVersion,
      masterVersion: secret.masterVersion,
      wrapped: secret.wrappedDataKey,
    });
    const value = key === null ? null : await decrypted(key, secret.sealed, secretOwner(secret));
    return value === null ? err({ code: 'secret.not_found' }) : ok(decoder.decode(value));
  }

  async opens(key: WrappedDataKey): Promise<boolean> {
    return (await this.#dataKey(key)) !== null;
  }

  async newDataKey(tenantId: string, version: number): Promise<WrappedDataKey> {
    const raw = crypto.getRandomValues(new Uint8Array(keyBytes));
    return this.#wrap({ tenantId, version }, raw);
  }

  async seal(
    key: WrappedDataKey,
    secret: { tenantId: string; id: string; value: string },
  ): Promise<Uint8Array> {
    assert(key.tenantId === secret.tenantId, 'a secret is sealed under its own tenant');
    const dataKey = await this.#dataKey(key);
    assert(dataKey !== null, 'the data key of a tenant does not open');
    return encrypted(dataKey, encoder.encode(secret.value), secretOwner(secret));
  }

  async rewrap(key: WrappedDataKey): Promise<Result<WrappedDataKey | null, Refusal>> {
    if (key.masterVersion === this.newestMasterVersion) return ok(null);
    const master = await this.#master(key.masterVersion);
    const raw = master === null ? null : await decrypted(master, key.wrapped, dataKeyOwner(key));
    return raw === null ? err({ code: 'secret.not_found' }) : ok(await this.#wrap(key, raw));
  }

  /** Wraps and wipes `raw`: the caller's copy of the key ends here. */
  async #wrap(
    key: { readonly tenantId: string; readonly version: number },
    raw: Uint8Array,
  ): Promise<WrappedDataKey> {
    const masterVersion = this.newestMasterVersion;
    const master = await this.#master(masterVersion);
    assert(master !== null, 'no master key');
    const wrapped = await encrypted(master, raw, dataKeyOwner(key));
    raw.fill(0);
    return { tenantId: key.tenantId, version: key.version, masterVersion, wrapped };
  }

  /** The unwrapped data key, or `null` when it does not authenticate or its master key is gone. */
  async #dataKey(key: WrappedDataKey): Promise<CryptoKey | null> {
    const nowMs = this.#needs.clock();
    // The wrapping's own bytes are in the name: a restored row never meets another row's key.
    const name = `${key.tenantId}:${key.version}:${key.masterVersion}:${key.wrapped.join(',')}`;
    const held = this.#held.get(name);
    if (held !== undefined && held.untilMs > nowMs) return held.key;
    const master = await this.#master(key.masterVersion);
    const made = master === null ? null : await unwrapped(master, key);
    if (made !== null) this.#held.set(name, { key: made, untilMs: nowMs + this.#needs.ttlMs });
    return made;
  }

  async #master(version: number): Promise<CryptoKey | null> {
    const known = this.#masters.get(version);
    if (known !== undefined) return known;
    const configured = this.#needs.masterKeys.find((k) => k.version === version);
    if (configured === undefined) return null;
    const usages = ['encrypt', 'decrypt', 'unwrapKey'];
    const made = await crypto.subtle.importKey('raw', configured.secret, 'AES-GCM', false, usages);
    this.#masters.set(version, made);
    return made;
  }
}

async function encrypted(
  key: CryptoKey,
  plain: Uint8Array,
  owner: Uint8Array,
): Promise<Uint8Array> {
  const iv = crypto.getRandomValues(new Uint8Array(nonceBytes));
  const algorithm = { name: 'AES-GCM', iv, additionalData: owner };
  const sealed = new Uint8Array(await crypto.subtle.encrypt(algorithm, key, plain));
  const out = new Uint8Array(nonceBytes + sealed.length);
  out.set(iv);
  out.set(sealed, nonceBytes);
  return out;
}

/** The plain bytes, or `null` when the bytes do not authenticate for this owner. */
async function decrypted(
  key: CryptoKey,
  sealed: Uint8Array,
  owner: Uint8Array,
): Promise<Uint8Array | null> {
  const iv = sealed.subarray(0, nonceBytes);
  const algorithm = { name: 'AES-GCM', iv, additionalData: owner };
  try {
    return new Uint8Array(await crypto.subtle.decrypt(algorithm, key, sealed.subarray(nonceBytes)));
  } catch {
    return null;
  }
}

async function unwrapped(master: CryptoKey, key: WrappedDataKey): Promise<CryptoKey | null> {
  const iv = key.wrapped.subarray(0, nonceBytes);
  const algorithm = { name: 'AES-GCM', iv, additionalData: dataKeyOwner(key) };
  const body = key.wrapped.subarray(nonceBytes);
  const usages = ['encrypt', 'decrypt'];
  try {
    return await crypto.subtle.unwrapKey('raw', body, master, algorithm, 'AES-GCM', false, usages);
  } catch {
    return null;
  }
}
