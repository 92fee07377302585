/** The decoders of workerd's node:zlib: of stage 10, and of the public suffixes; the full Node types would replace the Worker's globals. */
declare module 'node:zlib' {
  interface Decompressed {
    readonly buffer: Uint8Array;
    /** `bytesWritten`: how much of the input was used, up to the end of the coded stream. */
    readonly engine: { readonly bytesWritten: number };
  }
  export type Decompress = (
    bytes: Uint8Array,
    options: { readonly maxOutputLength: number; readonly info: true },
  ) => Decompressed;
  export const gunzipSync: Decompress;
  export const inflateSync: Decompress;
  export const inflateRawSync: Decompress;
  export const brotliDecompressSync: Decompress & ((bytes: Uint8Array) => Uint8Array);
  export const zstdDecompressSync: Decompress;
}
