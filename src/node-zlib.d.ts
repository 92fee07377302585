/** The decoders of workerd's node:zlib: of stage 10, and of the public suffixes; the full Node types would replace the Worker's globals. */
declare module 'node:zlib' {
  type Decompress = (bytes: Uint8Array, options?: { maxOutputLength: number }) => Uint8Array;
  export const gunzipSync: Decompress;
  export const inflateSync: Decompress;
  export const inflateRawSync: Decompress;
  export const brotliDecompressSync: Decompress;
  export const zstdDecompressSync: Decompress;
}
