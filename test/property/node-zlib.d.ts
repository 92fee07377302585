/** The coders of workerd's node:zlib, beside the decoders that the Worker uses (src/node-zlib.d.ts). */
declare module 'node:zlib' {
  type Compress = (bytes: Uint8Array) => Uint8Array;
  export const gzipSync: Compress;
  export const deflateSync: Compress;
  export const deflateRawSync: Compress;
  export const brotliCompressSync: Compress;
  export const zstdCompressSync: Compress;
}
