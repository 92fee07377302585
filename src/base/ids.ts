/**
 * Typed ids: a prefix and a ULID (48 bits of time, 80 of randomness, Crockford base 32; sorts by time).
 * Must never: be used as a secret. Called by whoever makes a row; randomness and time come in, so that rules stay pure.
 * Source: the ULID specification.
 */
const alphabet = [...'0123456789ABCDEFGHJKMNPQRSTVWXYZ'].map((letter) => letter.charCodeAt(0));

/** What each prefix names. */
export type IdPrefix =
  | 'ten'
  | 'prj'
  | 'prn'
  | 'key'
  | 'sec'
  | 'ups'
  | 'rte'
  | 'den'
  | 'call'
  | 'hld'
  | 'snp';

/** A ULID of `nowMs` (epoch milliseconds) and 10 random bytes; made in one piece, since a text of many joined ones stays a tree. */
export function ulid(nowMs: number, random: Uint8Array): string {
  const codes: number[] = new Array(26);
  for (let t = nowMs, i = 9; i >= 0; i--, t = Math.floor(t / 32)) codes[i] = alphabet[t % 32] ?? 0;
  let bits = 0;
  let held = 0;
  for (let i = 0, at = 10; i < 10; i++) {
    held = (held << 8) | (random[i] ?? 0);
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      codes[at++] = alphabet[(held >>> bits) & 31] ?? 0;
    }
    held &= (1 << bits) - 1;
  }
  return String.fromCharCode.apply(null, codes);
}

/** Random bytes for the next ids: one call for many, since each call costs as much as an id. */
const pool = new Uint8Array(640);
let unused = 0;

/** Makes an id such as `ups_01J…`. */
export function newId(prefix: IdPrefix, nowMs: number): string {
  if (unused === 0) {
    crypto.getRandomValues(pool);
    unused = pool.length;
  }
  unused -= 10;
  return `${prefix}_${ulid(nowMs, pool.subarray(unused, unused + 10))}`;
}

/** Whether `text` has the shape of an id with that prefix. */
export function isId(prefix: IdPrefix, text: string): boolean {
  return (
    text.startsWith(`${prefix}_`) && /^[0-9A-HJKMNP-TV-Z]{26}$/.test(text.slice(prefix.length + 1))
  );
}
