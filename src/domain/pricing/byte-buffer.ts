/**
 * ByteBuffer: bytes that have to outlive the chunk they came in. Promises: grows by doubling, so
 * that appending is linear; gives a large block back when it is cleared. Must never: bound itself,
 * its owner does. Called by `sse-usage-tap.ts` and `call/pump.ts`.
 */
import { byteBufferKeptMax } from '../../base/limits-money';

export class ByteBuffer {
  #bytes = new Uint8Array(0);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** Copies `piece` behind what is there. */
  append(piece: Uint8Array): void {
    const length = this.#length + piece.length;
    if (length > this.#bytes.length) {
      const larger = new Uint8Array(Math.max(length, 2 * this.#bytes.length));
      larger.set(this.#bytes.subarray(0, this.#length));
      this.#bytes = larger;
    }
    this.#bytes.set(piece, this.#length);
    this.#length = length;
  }

  /** What is there, as a view that the next change makes invalid. */
  view(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }

  clear(): void {
    this.#length = 0;
    if (this.#bytes.length > byteBufferKeptMax) this.#bytes = new Uint8Array(0);
  }
}
