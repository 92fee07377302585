/**
 * EncodedBody: a request body that came encoded (`X-Weir-Body-Encoding`), as the upstream is to get it.
 * Promises: nothing is read before somebody reads `body`; bounded memory; a body that does not decode breaks, and `fault` says why: it
 * never ends as if it were whole. Must never: be made for a body that names no coding. Called by stages 01, 04 and 08.
 */
import { bodyExpansionMax, pumpChunkBytes, requestBodyBytesMax } from '../base/limits';
import type { BodyFault } from '../domain/refusal';
import { Base64Decoder, type BodyCoding } from '../domain/relay/body-coding';

export class EncodedBody {
  /** Why the body could not be decoded; `too_large`: as it came, before it is decoded; null: it could, so far. */
  fault: BodyFault | 'too_large' | null = null;
  readonly #source: ReadableStream;
  readonly #coding: BodyCoding;
  #decoded: ReadableStream | null = null;
  #reader: ReadableStreamBYOBReader | null = null;
  #encodedBytes = 0;
  #decodedBytes = 0;

  constructor(source: ReadableStream, coding: BodyCoding) {
    this.#source = source;
    this.#coding = coding;
  }

  get body(): ReadableStream {
    this.#decoded ??= this.#open();
    return this.#decoded;
  }

  /** The runtime's own stream at the end: a reader with a buffer of its own can read it. */
  #open(): ReadableStream {
    const { readable, writable } = new IdentityTransformStream();
    const pieces = this.#coding.includes('base64') ? this.#unquoted() : this.#chunks();
    const decoded = this.#coding.includes('gzip') ? this.#inflated(pieces) : pieces;
    void this.#write(decoded, writable.getWriter());
    return readable;
  }

  async #write(
    decoded: AsyncIterable<Uint8Array>,
    writer: WritableStreamDefaultWriter,
  ): Promise<void> {
    try {
      for await (const piece of decoded) {
        this.#decodedBytes += piece.length;
        if (this.#decodedBytes > bodyExpansionMax * this.#encodedBytes) this.#fail('expansion');
        if (piece.length > 0) await writer.write(piece);
      }
      await writer.close();
    } catch (broken) {
      await writer.abort(broken).catch(() => undefined);
    }
  }

  #fail(fault: BodyFault | 'too_large'): never {
    this.fault ??= fault;
    throw new Error(fault);
  }

  async *#chunks(): AsyncGenerator<Uint8Array> {
    const reader = this.#source.getReader({ mode: 'byob' });
    this.#reader = reader;
    try {
      for (;;) {
        const { value, done } = await reader.read(new Uint8Array(pumpChunkBytes));
        if (done) return;
        this.#encodedBytes += value.length;
        // White space in base64 decodes to nothing, for ever.
        if (this.#encodedBytes > requestBodyBytesMax) this.#fail('too_large');
        yield value;
      }
    } finally {
      this.#letGo();
    }
  }

  /** Nobody wants more of the body: a read that waits for its caller ends too. */
  #letGo(): void {
    void this.#reader?.cancel().catch(() => undefined);
  }

  async *#unquoted(): AsyncGenerator<Uint8Array> {
    const decoder = new Base64Decoder();
    for await (const chunk of this.#chunks()) yield decoder.push(chunk) ?? this.#fail('base64');
    yield decoder.end() ?? this.#fail('base64');
  }

  async *#inflated(pieces: AsyncGenerator<Uint8Array>): AsyncGenerator<Uint8Array> {
    const { readable, writable } = new DecompressionStream('gzip');
    let isSourceBroken = false;
    const writer = writable.getWriter();
    const feed = async (): Promise<void> => {
      try {
        for await (const piece of pieces) if (piece.length > 0) await writer.write(piece);
      } catch (broken) {
        isSourceBroken = true;
        return writer.abort(broken);
      }
      await writer.close();
    };
    void feed().catch(() => undefined);
    try {
      for await (const piece of readable as AsyncIterable<Uint8Array>) yield piece;
    } catch (broken) {
      if (isSourceBroken) throw broken;
      this.#fail('gzip');
    } finally {
      this.#letGo();
    }
  }
}
