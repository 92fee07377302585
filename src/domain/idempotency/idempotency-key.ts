/**
 * Caller idempotency: the key, its scope, its record and what the request's fingerprint covers.
 * Promises: two requests that differ in method, path, query or body never have one fingerprint
 * input; two principals, or two values of the primary tag, never share a key. Must never: cut a
 * key (two long keys would become one), take one whose bytes it cannot see, or read anything into
 * it: it is the caller's. Pure; the stage hashes. Called by stages 01 and 06. Decided: digest A10,
 * decisions section 5.
 */
import { assert } from '../../base/assert';
import { recordKeyCharsMax, recordScopeCharsMax } from '../../base/limits-money';
import { err, ok, type Result } from '../../base/result';
import { hexOf } from '../../base/text-codings';
import type { Tags } from '../ledger/operations';
import { tagValue } from '../ledger/tally';
import type { RawQuery } from '../relay/query';

/** Why a key cannot be honoured (400). */
export type KeyFault =
  | { readonly reason: 'empty' | 'not_utf8' }
  | { readonly reason: 'too_long'; readonly charsMax: number };

/** What JavaScript sees in place of any byte that is not UTF-8: keys that differ there would be one. */
const replacement = '\ufffd';

/**
 * The key of a metered call; `null` when it has none. Opaque: `"abc"` and `abc` are two keys, as
 * they are for vendors that do not read structured fields.
 */
export function readIdempotencyKey(header: string | null): Result<string | null, KeyFault> {
  if (header === null) return ok(null);
  if (header === '') return err({ reason: 'empty' });
  if (header.length > recordKeyCharsMax) {
    return err({ reason: 'too_long', charsMax: recordKeyCharsMax });
  }
  return header.includes(replacement) ? err({ reason: 'not_utf8' }) : ok(header);
}

/** Between the parts of a scope; neither an id nor a tag can hold it. */
const unit = '\u001f';

/**
 * Whose key it is: the principal (its access keys share it) and the value of the tenant's primary
 * budget dimension. A call without that tag has a scope of its own.
 */
export function idempotencyScope(who: {
  readonly principalId: string;
  readonly tags: Tags | null;
  readonly primaryDimension: string | null;
}): string {
  const { principalId, tags, primaryDimension } = who;
  const value =
    tags === null || primaryDimension === null ? null : tagValue(tags, primaryDimension);
  const scope = value === null ? principalId : `${principalId}${unit}${value}`;
  assert(scope.length <= recordScopeCharsMax, 'an idempotency scope is too long');
  return scope;
}

/** What a fingerprint covers; path and query as the caller sent them, on our own surface. */
export interface FingerprintedRequest {
  readonly method: string;
  readonly path: string;
  readonly query: RawQuery;
  readonly body: Uint8Array;
}

/**
 * The bytes to hash with SHA-256, in their order: method, path, query and body behind NULs, which
 * no request line can hold. A bare `?` is not the same as none; re-spaced JSON is another request.
 */
export function fingerprintChunks(request: FingerprintedRequest): readonly Uint8Array[] {
  const { method, path, query, body } = request;
  const head = [method, path, query === null ? '' : `?${query}`];
  assert(
    head.every((part) => !part.includes('\0')),
    'a request line holds a NUL',
  );
  return [new TextEncoder().encode(`${head.join('\0')}\0`), body];
}

/** The fingerprint as a claim carries it: 64 hex digits of the SHA-256. */
export function fingerprintText(sha256: Uint8Array): string {
  assert(sha256.length === 32, 'a SHA-256 has 32 bytes');
  return hexOf(sha256);
}

/** The record of a call's claim: one a hold, so that a repeated `place` names the same record. */
export function recordIdOf(holdId: string): string {
  const at = holdId.indexOf('_') + 1;
  assert(at > 0 && at < holdId.length, 'a hold id is a prefix and a ULID');
  return `idm_${holdId.slice(at)}`;
}
