/**
 * Vendor key: the `Idempotency-Key` that a platform account's vendor gets instead of the caller's
 * (tier 4). All tenants share that account: sent as it is, one tenant's key could fetch another's
 * answer. Promises: differs by tenant, scope, key and pins; tells nothing about them; the same call
 * repeated gives the same key. Must never: be used on an own key, where the caller's is relayed
 * verbatim. Pure: an adapter computes the HMAC-SHA256. Called by stage 07.
 */
import { assert } from '../../base/assert';
import { hexOf } from '../../base/text-codings';

/** What the vendor key is derived from. `pins`: what the caller's key is bound to, in any order. */
export interface VendorKeyParts {
  readonly tenantId: string;
  /** `idempotencyScope`. */
  readonly scope: string;
  readonly key: string;
  readonly pins: readonly string[];
}

/** The bytes to sign. */
export function vendorKeyInput(parts: VendorKeyParts): Uint8Array {
  const { tenantId, scope, key, pins } = parts;
  return lengthPrefixed(['weir.vendor-key.v1', tenantId, scope, key, ...[...pins].sort()]);
}

/** Every part stands behind its length, so no two lists of parts read alike. The first one names what is signed. */
export function lengthPrefixed(parts: readonly string[]): Uint8Array {
  return new TextEncoder().encode(parts.map((part) => `${part.length}:${part}`).join(''));
}

/**
 * The key as it is sent: a UUID of version 8 (RFC 9562 5.8) from the first 16 bytes of the HMAC.
 * Vendors differ in what they accept (45 characters, a UUID, any text); this suits all.
 */
export function vendorKeyText(hmac: Uint8Array): string {
  assert(hmac.length >= 16, 'an HMAC-SHA256 has 32 bytes');
  const bytes = hmac.slice(0, 16);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x80;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  return hexOf(bytes).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
