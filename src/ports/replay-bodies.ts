/**
 * ReplayBodies: recorded answers that are too large for a row of the ledger object.
 * Promises: what `put` named can be got for at least as long as its record lives; a store that does not answer gives `undefined`, never a
 * part. Implemented by `adapters/r2/replay-bodies.ts`.
 */
export interface ReplayBodies {
  /** Keeps a body; gives its reference, `undefined` when it was not kept. */
  put(recordId: string, bytes: Uint8Array): Promise<string | undefined>;
  /** The body, `undefined` when it is not there. */
  get(ref: string): Promise<ReadableStream | undefined>;
}
