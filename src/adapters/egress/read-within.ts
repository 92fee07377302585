/**
 * Read within: the body of an answer that nobody relays, up to a bound. Promises: beyond it the stream is cancelled and nothing is kept.
 * Called by the adapters that ask vendors and aggregators on the operator's behalf.
 */

/** All bytes; null: there are more than `bytesMax`. Rejects when the body breaks. */
export async function readWithin(
  body: ReadableStream<Uint8Array> | null,
  bytesMax: number,
): Promise<Uint8Array | null> {
  if (body === null) return new Uint8Array();
  const chunks: Uint8Array[] = [];
  let total = 0;
  for await (const chunk of body) {
    total += chunk.byteLength;
    // Leaving the loop cancels the stream.
    if (total > bytesMax) return null;
    chunks.push(chunk);
  }
  const bytes = new Uint8Array(total);
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.byteLength;
  }
  return bytes;
}
