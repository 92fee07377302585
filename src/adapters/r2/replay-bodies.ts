/**
 * R2ReplayBodies: bodies of recorded answers in an R2 bucket, one object a record.
 * Promises: never throws. The bucket's lifecycle rule forgets them (docs/operations.md). Implements ports/replay-bodies.ts. Made by wiring.ts.
 */
import type { ReplayBodies } from '../../ports/replay-bodies';

export class R2ReplayBodies implements ReplayBodies {
  readonly #bucket: R2Bucket;

  constructor(bucket: R2Bucket) {
    this.#bucket = bucket;
  }

  async put(recordId: string, bytes: Uint8Array): Promise<string | undefined> {
    const key = `records/${recordId}`;
    try {
      await this.#bucket.put(key, bytes);
      return key;
    } catch {
      return undefined;
    }
  }

  async get(ref: string): Promise<ReadableStream | undefined> {
    try {
      return (await this.#bucket.get(ref))?.body;
    } catch {
      return undefined;
    }
  }
}
