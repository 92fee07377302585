/**
 * Client code: what a platform account's vendor gets in the provider's `client_header`, so that it can tell our tenants apart on one
 * account without learning who they are (seed 000, platform tier). Promises: one tenant has another code at every provider, so two vendors
 * cannot join what they know of it. Pure: an adapter computes the HMAC-SHA256. Called by stage 07.
 */
import { assert } from '../../base/assert';
import { hexOf } from '../../base/text-codings';
import { lengthPrefixed } from './vendor-key';

/** The bytes to sign. */
export const clientCodeInput = (provider: string, tenantId: string): Uint8Array =>
  lengthPrefixed(['weir.client-code.v1', provider, tenantId]);

/** `t_` and the first 24 hex characters of the HMAC. */
export function clientCodeText(hmac: Uint8Array): string {
  assert(hmac.length >= 12, 'an HMAC-SHA256 has 32 bytes');
  return `t_${hexOf(hmac.subarray(0, 12))}`;
}
