/**
 * R2ReplayBodies: bodies of recorded answers in an R2 bucket, one object a record.
 * Promises: never throws; bounded in time, since an answer waits for its record. The bucket's lifecycle rule forgets them (docs/operations.md).
 * Implements ports/replay-bodies.ts. Made by wiring.ts.
 */
import { replayBodyWaitMs } from '../../base/limits-money';
import type { DeskTime } from '../../ports/ledger';
import type { ReplayBodies } from '../../ports/replay-bodies';
import { orLate } from '../time';

export class R2ReplayBodies implements ReplayBodies {
  readonly #bucket: R2Bucket;
  readonly #time: DeskTime;

  constructor(bucket: R2Bucket, time: DeskTime) {
    this.#bucket = bucket;
    this.#time = time;
  }

  put(recordId: string, bytes: Uint8Array): Promise<string | undefined> {
    const key = `records/${recordId}`;
    return this.#inTime(async () => {
      await this.#bucket.put(key, bytes);
      return key;
    });
  }

  get(ref: string): Promise<ReadableStream | undefined> {
    return this.#inTime(async () => (await this.#bucket.get(ref))?.body);
  }

  /** What the bucket gives; `undefined` when it fails or does not answer. */
  #inTime<T>(ask: () => Promise<T | undefined>): Promise<T | undefined> {
    const work = ask().catch(() => undefined);
    return orLate(work, { time: this.#time, ms: replayBodyWaitMs, late: undefined });
  }
}
