/**
 * Undoes the content codings of an error body, bounded, so that masking sees the text (digest A5).
 * Promises: `null` for a coding that it does not know, a broken stream, bytes behind its end or an expansion beyond the limit; never a
 * partial text: what a client decodes has been decoded here. Nothing is nothing in every coding. Called by stages 09, 10 and the branch resend.
 * Codings: RFC 9110 8.4.1, RFC 7932 (br), RFC 8878 (zstd).
 */
import {
  brotliDecompressSync,
  type Decompress,
  gunzipSync,
  inflateRawSync,
  inflateSync,
  zstdDecompressSync,
} from 'node:zlib';
import { contentCodingsMax } from '../../base/limits';

/** A Map, for the name is the origin's: a plain object knows `constructor`. */
const decoders: ReadonlyMap<string, readonly Decompress[]> = new Map([
  ['gzip', [gunzipSync]],
  ['x-gzip', [gunzipSync]],
  // "deflate" is zlib by the RFC and raw deflate by old servers.
  ['deflate', [inflateSync, inflateRawSync]],
  ['br', [brotliDecompressSync]],
  ['zstd', [zstdDecompressSync]],
]);

/** The plain bytes of a body whose Content-Encoding is `encoding` (`null`: none), or `null` when it cannot be decoded. */
export function decodeContent(
  bytes: Uint8Array,
  encoding: string | null,
  bytesMax: number,
): Uint8Array | null {
  // Servers keep the header on an empty answer; no decoder takes nothing for a stream of its own.
  if (bytes.length === 0) return bytes;
  const codings = codingsOf(encoding);
  if (codings.length > contentCodingsMax) return null;
  let plain: Uint8Array | null = bytes;
  for (const coding of codings.reverse()) {
    plain = plain === null ? null : undo(plain, decoders.get(coding) ?? [], bytesMax);
  }
  return plain;
}

/** The codings of a Content-Encoding in the order in which they were applied; none where the bytes are what they are. */
export const codingsOf = (encoding: string | null): string[] =>
  (encoding ?? '')
    .toLowerCase()
    .split(',')
    .map((coding) => coding.trim())
    .filter((coding) => coding !== '' && coding !== 'identity');

function undo(
  bytes: Uint8Array,
  attempts: readonly Decompress[],
  bytesMax: number,
): Uint8Array | null {
  for (const decode of attempts) {
    try {
      const { buffer, engine } = decode(bytes, { maxOutputLength: bytesMax, info: true });
      // A decoder stops at the end of its stream; a client goes on where another frame follows (RFC 8878 3), and may see a secret there.
      if (engine.bytesWritten === bytes.byteLength) return buffer;
    } catch {
      // The next attempt, or none.
    }
  }
  return null;
}
