/**
 * CodedUsageTap: reads usage from an event stream that came coded although no coding was asked for. Its bytes are kept as they pass and
 * decoded once, at its end: what the vendor told is the price, coded or not.
 * Promises: at most `meteredAnswerBytesMax` bytes are kept; a stream that is larger, broken or in an unknown coding says nothing, and
 * that it may have said more. Must never: change a chunk. Called by stage 09; see `sse-usage-tap.ts`.
 */
import { errorBodyDecodedBytesMax } from '../../base/limits';
import { meteredAnswerBytesMax } from '../../base/limits-money';
import { decodeContent } from '../relay/content-coding';
import { ByteBuffer } from './byte-buffer';
import type { Usage, UsagePlan } from './meters';
import { SseUsageTap, type UsageTap } from './sse-usage-tap';

export class CodedUsageTap implements UsageTap {
  readonly #coding: string;
  readonly #plain: SseUsageTap;
  readonly #kept = new ByteBuffer();
  #isOver = false;
  #isUnread = false;

  constructor(plan: UsagePlan, coding: string) {
    this.#coding = coding;
    this.#plain = new SseUsageTap(plan);
  }

  /** Known when the stream is over. */
  get hasEnded(): boolean {
    return this.#plain.hasEnded;
  }

  usage(): Usage {
    const usage = this.#plain.usage();
    return this.#isUnread ? { ...usage, isPartial: true } : usage;
  }

  push(chunk: Uint8Array): void {
    if (this.#isUnread) return;
    this.#isUnread = this.#kept.length + chunk.length > meteredAnswerBytesMax;
    if (this.#isUnread) this.#kept.clear();
    else this.#kept.append(chunk);
  }

  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const plain = this.#isUnread
      ? null
      : decodeContent(this.#kept.view(), this.#coding, errorBodyDecodedBytesMax);
    this.#isUnread = plain === null;
    if (plain !== null) this.#plain.push(plain);
    this.#plain.end();
    this.#kept.clear();
  }
}
