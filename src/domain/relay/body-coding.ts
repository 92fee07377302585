/**
 * Body coding: how a caller may write the body of its request so that nothing between it and us reads it (`X-Weir-Body-Encoding`, digest
 * A3): base64, gzip, or gzip in base64. Promises: base64 in either alphabet (RFC 4648 4 and 5), with or without padding, lines of any
 * length; what is not base64 is told, never passed over. Pure. Called by stage 01 and by `encoded-body.ts`.
 */
import { bytesOfBase64 } from '../../base/text-codings';

/** What is undone, the outer one first. */
export type BodyCoding = readonly ('base64' | 'gzip')[];

const codings: ReadonlyMap<string, BodyCoding> = new Map([
  ['base64', ['base64']],
  ['gzip', ['gzip']],
  ['base64+gzip', ['base64', 'gzip']],
]);

/** The coding that a header value names; null: none of ours. */
export const readBodyCoding = (value: string): BodyCoding | null =>
  codings.get(value.trim().toLowerCase()) ?? null;

/** Decodes base64 piece by piece, wherever the pieces are cut. */
export class Base64Decoder {
  #open = '';
  #isPadded = false;

  /** What can be decoded by now; null: this is no base64. */
  push(chunk: Uint8Array): Uint8Array | null {
    const text = latin1.decode(chunk).replace(/[\t\r\n ]+/g, '');
    if (text !== '' && this.#isPadded) return null;
    const all = this.#open + text;
    const whole = all.length - (all.length % 4);
    this.#open = all.slice(whole);
    const decoded = bytesOf(all.slice(0, whole));
    this.#isPadded ||= all.slice(0, whole).endsWith('=');
    return decoded === null || (this.#isPadded && this.#open !== '') ? null : decoded;
  }

  /** What is left when the body has ended; null: it was cut, or was no base64. */
  end(): Uint8Array | null {
    return bytesOf(this.#open);
  }
}

const latin1 = new TextDecoder('latin1');

/** `atob` takes text without its padding, and refuses padding in the middle. */
function bytesOf(base64: string): Uint8Array | null {
  try {
    return bytesOfBase64(base64.replaceAll('-', '+').replaceAll('_', '/'));
  } catch {
    return null;
  }
}
