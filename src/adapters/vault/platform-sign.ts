/**
 * PlatformSigner: HMAC-SHA256 under the deployment's newest check secret, for what a platform account's vendor is told instead of a key
 * or a tenant. Promises: inputs begin with the name of what is signed, so no output is a token's check. Made by wiring.ts.
 */
import { assert } from '../../base/assert';
import type { CheckSecrets } from './token-check';

/** Signs; the key is imported once per isolate (the key, never its promise: that belongs to one request). */
export function platformSigner(secrets: CheckSecrets): (input: Uint8Array) => Promise<Uint8Array> {
  const newest = secrets[secrets.length - 1];
  assert(newest, 'no key check secret');
  let key: CryptoKey | null = null;
  return async (input) => {
    const algorithm = { name: 'HMAC', hash: 'SHA-256' };
    key ??= await crypto.subtle.importKey('raw', newest.secret, algorithm, false, ['sign']);
    return new Uint8Array(await crypto.subtle.sign('HMAC', key, input));
  };
}
