/**
 * Followed answer: one whose end matters, a tracked upstream's or a stream that says its price as it passes.
 * Promises: the end is told once, before the caller's side is closed; a stream is settled by what it said, and its record is on disk before
 * the caller sees the end; a small body that comes in one piece is never pumped. Made by run-call.
 */
import { recordAnswerBytesMax } from '../base/limits-money';
import type { MaybePromise } from '../base/result';
import { finalize, shortLength } from './11-finalize';
import type { EvidencedCall } from './call';
import { type BodyEnd, type BodyWatch, KeptBytes, oneChunk, Silence } from './pump';
import { answerOf, closeStream, recordedHeaders } from './stream-end';

/** What the call is told of its body. `hasEnded`: its last event has passed. */
export interface Told {
  readonly onBytes: (total: number) => void;
  readonly onEnd: (end: BodyEnd, hasEnded: boolean) => void;
}

export class FollowedAnswer {
  readonly #call: EvidencedCall;
  readonly #told: Told;
  readonly #silence: Silence;
  readonly #kept: KeptBytes | null;
  #headers: readonly string[] = [];

  constructor(call: EvidencedCall, told: Told) {
    this.#call = call;
    this.#told = told;
    this.#silence = new Silence(call.upstream.idleTimeoutMs);
    this.#kept = call.money?.recordId == null ? null : new KeptBytes(recordAnswerBytesMax);
  }

  /** From here somebody looks how long the upstream is silent, and the caller waits for its first bytes no longer. */
  watch(): void {
    this.#silence.watch();
  }

  /** The answer; at once, unless its body may be here in one piece. */
  response(): MaybePromise<Response> {
    const call = this.#call;
    const { body } = call;
    const length = shortLength(call);
    if (length !== null && body instanceof ReadableStream) return this.#short(body, length);
    const response = finalize(call, this.#watch());
    if (this.#kept !== null) this.#headers = recordedHeaders(response.headers);
    return response;
  }

  async #short(body: ReadableStream, length: number): Promise<Response> {
    const got = await oneChunk(body, length, this.#silence);
    if (!(got instanceof Uint8Array)) return finalize(this.#call, { ...this.#watch(), begun: got });
    this.#told.onBytes(length);
    this.#told.onEnd('complete', false);
    return finalize({ ...this.#call, body: got }, null);
  }

  #watch(): BodyWatch {
    const { money, tap } = this.#call;
    return {
      silence: this.#silence,
      drains: money !== null && !money.isCancellable,
      whenLeft: money === null ? undefined : (then) => money.whenLeft(then),
      onChunk: (chunk) => {
        tap?.push(chunk);
        this.#kept?.add(chunk);
      },
      onBytes: this.#told.onBytes,
      onEnd: (end) => this.#ended(end),
    };
  }

  #ended(end: BodyEnd): Promise<void> | undefined {
    const call = this.#call;
    const { money, tap, status } = call;
    const hasEnded = tap?.hasEnded ?? false;
    const answer = answerOf(this.#kept, status, this.#headers);
    const closed =
      money === null || tap === null ? undefined : closeStream(money, { call, tap, end, answer });
    this.#told.onEnd(end, hasEnded);
    return closed;
  }
}
