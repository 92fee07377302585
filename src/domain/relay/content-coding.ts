/**
 * Undoes the content codings of an error body, bounded, so that masking sees the text (digest A5).
 * Promises: `null` for a coding that it does not know, a broken stream or an expansion beyond the limit; never a partial text.
 * Called by stage 10. Codings: RFC 9110 8.4.1, RFC 7932 (br), RFC 8878 (zstd).
 */
import {
  brotliDecompressSync,
  gunzipSync,
  inflateRawSync,
  inflateSync,
  zstdDecompressSync,
} from 'node:zlib';
import { contentCodingsMax } from '../../base/limits';

type Decoder = (bytes: Uint8Array, options: { maxOutputLength: number }) => Uint8Array;

const decoders: Readonly<Record<string, readonly Decoder[]>> = {
  gzip: [gunzipSync],
  'x-gzip': [gunzipSync],
  // "deflate" is zlib by the RFC and raw deflate by old servers.
  deflate: [inflateSync, inflateRawSync],
  br: [brotliDecompressSync],
  zstd: [zstdDecompressSync],
};

/** The plain bytes of a body whose Content-Encoding is `encoding` (`null`: none), or `null` when it cannot be decoded. */
export function decodeContent(
  bytes: Uint8Array,
  encoding: string | null,
  bytesMax: number,
): Uint8Array | null {
  const codings = (encoding ?? '')
    .toLowerCase()
    .split(',')
    .map((c) => c.trim())
    .filter((c) => c !== '' && c !== 'identity');
  if (codings.length > contentCodingsMax) return null;
  let plain: Uint8Array | null = bytes;
  for (const coding of codings.reverse()) {
    plain = plain === null ? null : undo(plain, decoders[coding] ?? [], bytesMax);
  }
  return plain;
}

function undo(
  bytes: Uint8Array,
  attempts: readonly Decoder[],
  bytesMax: number,
): Uint8Array | null {
  for (const decode of attempts) {
    try {
      return decode(bytes, { maxOutputLength: bytesMax });
    } catch {
      // The next attempt, or none.
    }
  }
  return null;
}
