/**
 * TokenMint: makes access key tokens and checks the HMAC they end in, so that a made-up key costs no look-up.
 * Promises: several check secrets may be valid during rotation, chosen by the version character; comparison is constant-time.
 * Must never: log or keep a token. Called by the config adapter (check) and the management API (mint).
 */
import { assert } from '../../base/assert';
import { hexOf } from '../../base/text-codings';
import { checkText, splitToken, tokenBody } from '../../domain/tenancy/token';

/** Versioned check secrets; the last one signs new tokens. */
export type CheckSecrets = readonly { readonly version: string; readonly secret: Uint8Array }[];

const encoder = new TextEncoder();

export class TokenMint {
  readonly #secrets: CheckSecrets;
  readonly #keys = new Map<string, CryptoKey>();

  constructor(secrets: CheckSecrets) {
    assert(secrets.length > 0, 'no key check secret');
    this.#secrets = secrets;
  }

  /** A new token under the newest check secret. */
  async mint(): Promise<string> {
    const newest = this.#secrets[this.#secrets.length - 1];
    assert(newest, 'no key check secret');
    for (;;) {
      const body = tokenBody(newest.version, crypto.getRandomValues(new Uint8Array(64)));
      if (body !== null) return body + (await this.#check(newest, body));
    }
  }

  /** Whether the token was minted under one of the check secrets. */
  async genuine(token: string): Promise<boolean> {
    const { version, body, check } = splitToken(token);
    const secret = this.#secrets.find((s) => s.version === version);
    if (secret === undefined) return false;
    return crypto.subtle.timingSafeEqual(
      encoder.encode(await this.#check(secret, body)),
      encoder.encode(check),
    );
  }

  async #check(secret: CheckSecrets[number], body: string): Promise<string> {
    const mac = await crypto.subtle.sign('HMAC', await this.#key(secret), encoder.encode(body));
    return checkText(new Uint8Array(mac));
  }

  /** Keeps the key, never its promise: a promise belongs to the request that made it. */
  async #key(secret: CheckSecrets[number]): Promise<CryptoKey> {
    const known = this.#keys.get(secret.version);
    if (known !== undefined) return known;
    const algorithm = { name: 'HMAC', hash: 'SHA-256' };
    const made = await crypto.subtle.importKey('raw', secret.secret, algorithm, false, ['sign']);
    this.#keys.set(secret.version, made);
    return made;
  }
}

/** Lower-case hex SHA-256 of a token: what the store knows of it. */
export async function tokenHash(token: string): Promise<string> {
  return hexOf(new Uint8Array(await crypto.subtle.digest('SHA-256', encoder.encode(token))));
}
