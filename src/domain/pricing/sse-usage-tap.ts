/**
 * SseUsageTap: reads usage from a server-sent event stream as its chunks pass on their way to the
 * client. Promises: any split of the bytes gives the same usage; a chunk is neither changed nor
 * kept (after `push` returns, only the one open event is held, in a copy, at most
 * `sseEventBytesMax` of it and of its open line); an event that cannot hold a reading is not
 * parsed. Must never: throw on a stream, whatever it holds. Made by stage 09, fed by what
 * follows the body. Format: WHATWG HTML 9.2.6, except that the last event needs no blank line.
 */
import { readJson } from '../../base/json-path';
import { sseEventBytesMax } from '../../base/limits-money';
import { ByteBuffer } from './byte-buffer';
import { EventNeedles } from './event-needles';
import { observe, type Reading, type Seen, type Usage, type UsagePlan } from './meters';

const lf = 0x0a;
const cr = 0x0d;
const colon = 0x3a;
const space = 0x20;
const encoder = new TextEncoder();
const dataField = encoder.encode('data');
const eventField = encoder.encode('event');
const newline = Uint8Array.of(lf);

/** What reads the usage of a stream as its chunks pass. */
export interface UsageTap {
  /** Whether an event that ends the stream in good order has passed. */
  readonly hasEnded: boolean;
  /** What was seen so far; a snapshot. */
  usage(): Usage;
  /** Reads the next bytes of the stream; `chunk` is the caller's again when this returns. */
  push(chunk: Uint8Array): void;
  /** The stream is over: what is open counts as complete. Idempotent. */
  end(): void;
}

export class SseUsageTap implements UsageTap {
  readonly #readings: readonly Reading[];
  readonly #needles: EventNeedles;
  readonly #endTexts: readonly Uint8Array[];
  readonly #endNames: readonly Uint8Array[];
  readonly #seen = new Map<string, Seen>();
  /** The open line, as far as it came in earlier chunks. */
  readonly #line = new ByteBuffer();
  #isFirstLine = true;
  #isLineTooLong = false;
  /** The last chunk ended in CR: an LF at the start of the next one belongs to it. */
  #isAfterCr = false;
  /** Data of the open event: a view into the chunk that is being read, or our own copy. */
  #borrowed: Uint8Array | null = null;
  readonly #data = new ByteBuffer();
  #hasData = false;
  #isWanted = false;
  #isTooLarge = false;
  #isNamedEnd = false;
  #hasEnded = false;
  #unreadEvents = 0;

  constructor(plan: UsagePlan) {
    this.#readings = plan.readings;
    this.#needles = new EventNeedles(plan.readings);
    const { ends } = plan;
    this.#endTexts = ends.flatMap((end) => (end.kind === 'data' ? [encoder.encode(end.text)] : []));
    this.#endNames = ends.flatMap((end) =>
      end.kind === 'event' ? [encoder.encode(end.name)] : [],
    );
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Events that passed unread: too large, or they named a reading and were no JSON. */
  get unreadEvents(): number {
    return this.#unreadEvents;
  }

  usage(): Usage {
    return { seen: new Map(this.#seen), isPartial: this.#unreadEvents > 0 };
  }

  push(chunk: Uint8Array): void {
    let at = this.#isAfterCr && chunk[0] === lf ? 1 : 0;
    if (chunk.length > 0) this.#isAfterCr = false;
    let nextLf = chunk.indexOf(lf, at);
    let nextCr = chunk.indexOf(cr, at);
    while (nextLf >= 0 || nextCr >= 0) {
      const isCr = nextLf < 0 || (nextCr >= 0 && nextCr < nextLf);
      const end = isCr ? nextCr : nextLf;
      this.#lineEnds(chunk.subarray(at, end));
      this.#isAfterCr = isCr && end + 1 === chunk.length;
      at = isCr && nextLf === end + 1 ? end + 2 : end + 1;
      if (isCr) nextCr = chunk.indexOf(cr, at);
      if (nextLf >= 0 && nextLf < at) nextLf = chunk.indexOf(lf, at);
    }
    this.#lineGoesOn(chunk.subarray(at));
    this.#own();
  }

  end(): void {
    if (this.#line.length > 0 || this.#isLineTooLong) this.#lineEnds(new Uint8Array(0));
    this.#dispatch();
  }

  // ── lines ──

  #lineGoesOn(piece: Uint8Array): void {
    if (this.#line.length + piece.length > sseEventBytesMax) this.#isLineTooLong = true;
    if (this.#isLineTooLong) this.#line.clear();
    else if (piece.length > 0) this.#line.append(piece);
  }

  #lineEnds(piece: Uint8Array): void {
    const isWhole = this.#line.length === 0 && !this.#isLineTooLong;
    if (isWhole && piece.length <= sseEventBytesMax) {
      this.#read(piece);
      return;
    }
    this.#lineGoesOn(piece);
    if (this.#isLineTooLong) this.#tooLarge();
    else this.#read(this.#line.view());
    this.#own();
    this.#isLineTooLong = false;
    this.#line.clear();
  }

  #read(whole: Uint8Array): void {
    const line = this.#isFirstLine ? withoutBom(whole) : whole;
    this.#isFirstLine = false;
    if (line.length === 0) this.#dispatch();
    else if (isField(line, dataField)) this.#addData(fieldValue(line, dataField));
    else if (isField(line, eventField)) {
      // the last name of an event is its name
      this.#isNamedEnd = isOneOf(fieldValue(line, eventField), this.#endNames);
    }
  }

  // ── the open event ──

  #addData(value: Uint8Array): void {
    this.#isWanted ||= this.#needles.areIn(value);
    if (!this.#hasData) this.#borrowed = value;
    else {
      this.#own();
      this.#data.append(newline);
      if (this.#data.length + value.length <= sseEventBytesMax) this.#data.append(value);
      else this.#tooLarge();
    }
    this.#hasData = true;
  }

  /** Copies what still points into a chunk or into the line buffer. */
  #own(): void {
    if (this.#borrowed === null) return;
    this.#data.append(this.#borrowed);
    this.#borrowed = null;
  }

  #tooLarge(): void {
    this.#isTooLarge = true;
    this.#borrowed = null;
    this.#data.clear();
  }

  #dispatch(): void {
    if (this.#isTooLarge) this.#unreadEvents += 1;
    else if (this.#hasData) this.#readEvent(this.#borrowed ?? this.#data.view());
    this.#hasEnded ||= this.#isNamedEnd;
    this.#borrowed = null;
    this.#data.clear();
    this.#hasData = false;
    this.#isWanted = false;
    this.#isTooLarge = false;
  }

  #readEvent(data: Uint8Array): void {
    this.#hasEnded ||= isOneOf(data, this.#endTexts);
    if (!this.#isWanted) return;
    const document = readJson(data);
    if (document.ok) observe(this.#seen, document.value, this.#readings);
    else this.#unreadEvents += 1;
  }
}

const withoutBom = (line: Uint8Array): Uint8Array =>
  line[0] === 0xef && line[1] === 0xbb && line[2] === 0xbf ? line.subarray(3) : line;

/** Whether a line is the field: its name alone, or its name and a colon. */
const isField = (line: Uint8Array, name: Uint8Array): boolean =>
  startsWith(line, name) && (line.length === name.length || line[name.length] === colon);

/** What follows the colon, without one leading space. */
function fieldValue(line: Uint8Array, name: Uint8Array): Uint8Array {
  const start = name.length + 1;
  return line.subarray(line[start] === space ? start + 1 : start);
}

function startsWith(bytes: Uint8Array, start: Uint8Array): boolean {
  for (let i = 0; i < start.length; i += 1) {
    if (bytes[i] !== start[i]) return false;
  }
  return true;
}

const isOneOf = (bytes: Uint8Array, options: readonly Uint8Array[]): boolean =>
  options.some((option) => option.length === bytes.length && startsWith(bytes, option));
