/**
 * JSON as text: finds the members of a document and sets some of them; every byte that is not set
 * stays. Promises: RFC 8259 exactly; a name that repeats at any level is a fault, so that we and
 * the origin cannot read two documents out of one; linear time, no recursion, depth bounded by the
 * caller. Number spellings, escapes (`"\ud800"`) and whitespace survive. Must never: parse and
 * print again, or put a name of the document on a plain object (`__proto__`). Called by the JSON
 * binding and body rules (stages 04, 08) and by the management API.
 */
import { assert } from './assert';
import { err, ok, type Result } from './result';

/** Why a JSON text cannot be read by us. */
export type JsonFault =
  | 'empty'
  | 'not_utf8'
  | 'bom'
  | 'syntax'
  | 'duplicate_key'
  | 'too_deep'
  | 'not_object';

/** What a JSON value is. */
export type JsonKind = 'object' | 'array' | 'string' | 'number' | 'boolean' | 'null';

/**
 * One top-level member. `name` is decoded; the spans are UTF-16 offsets, ends exclusive;
 * `nameStart` is at the opening quote.
 */
export interface JsonMember {
  readonly name: string;
  readonly nameStart: number;
  readonly valueStart: number;
  readonly valueEnd: number;
  readonly kind: JsonKind;
}

/** `depthMax`: levels of nesting that are read, the top one included. */
export interface JsonOptions {
  readonly depthMax: number;
}

/** A field to set: its name, decoded, and its value, already JSON. */
export type JsonField = readonly [name: string, valueJson: string];

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * Reads UTF-8 strictly. A byte order mark is a fault (RFC 8259 8.1: none may be added; decided:
 * refused with 400).
 */
export function decodeUtf8(bytes: Uint8Array): Result<string, JsonFault> {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) return err('bom');
  try {
    return ok(utf8.decode(bytes));
  } catch {
    return err('not_utf8');
  }
}

/**
 * The members of a JSON object in their order, or the first fault of the text. A valid document of
 * another kind: `not_object`.
 */
export function scanObject(
  text: string,
  options: JsonOptions,
): Result<readonly JsonMember[], JsonFault> {
  const scanner = new Scanner(text, options.depthMax);
  const kind = scanner.run();
  if (!kind.ok) return kind;
  return kind.value === 'object' ? ok(scanner.members) : err('not_object');
}

/**
 * `JSON.parse` of a text that the scanner accepted. A member `__proto__` becomes an own property
 * like any other, no prototype changes; the schema that reads the value has to refuse names that it
 * does not know.
 */
export function parseJson(text: string, options: JsonOptions): Result<unknown, JsonFault> {
  const kind = new Scanner(text, options.depthMax).run();
  if (!kind.ok) return kind;
  const value: unknown = JSON.parse(text);
  return ok(value);
}

/**
 * The string as JSON: UTF-8 for everything that UTF-8 can say, ASCII escapes for lone surrogates
 * only (digest A3).
 */
export const jsonString = (value: string): string => JSON.stringify(value);

/**
 * Sets top-level members: the value of a present one is replaced in place, an absent one goes after
 * the last, in the style of the last. Field names must be distinct and each value one JSON
 * document: our own promise, asserted.
 */
export function setTopLevelFields(
  text: string,
  fields: readonly JsonField[],
  options: JsonOptions,
): Result<string, JsonFault> {
  const scanned = scanObject(text, options);
  if (!scanned.ok) return scanned;
  const values = checkedFields(fields, options);
  const pieces: string[] = [];
  let kept = 0;
  for (const member of scanned.value) {
    const value = values.get(member.name);
    if (value === undefined) continue;
    pieces.push(text.slice(kept, member.valueStart), value);
    kept = member.valueEnd;
    values.delete(member.name);
  }
  const end = scanned.value.at(-1)?.valueEnd ?? text.indexOf('{') + 1;
  pieces.push(text.slice(kept, end), appended(text, scanned.value, values), text.slice(end));
  return ok(pieces.join(''));
}

function checkedFields(fields: readonly JsonField[], options: JsonOptions): Map<string, string> {
  const values = new Map(fields);
  assert(values.size === fields.length, 'a JSON field is set twice');
  for (const value of values.values()) {
    assert(new Scanner(value, options.depthMax).run().ok, 'a JSON field value is not JSON');
  }
  return values;
}

/** The new members as text, with the separators that the document's last member has. */
function appended(
  text: string,
  members: readonly JsonMember[],
  values: ReadonlyMap<string, string>,
): string {
  const style = styleOf(text, members);
  const added = [...values].map(([name, value]) => jsonString(name) + style.colon + value);
  const joined = added.join(style.comma);
  return members.length > 0 && joined !== '' ? style.comma + joined : joined;
}

/** What stands between two members, and between a name and its value. */
interface Style {
  readonly comma: string;
  readonly colon: string;
}

function styleOf(text: string, members: readonly JsonMember[]): Style {
  const last = members.at(-1);
  if (last === undefined) return { comma: ',', colon: ':' };
  const between = text.slice(stringEnd(text, last.nameStart), last.valueStart);
  const before = members.at(-2);
  if (before !== undefined)
    return { comma: text.slice(before.valueEnd, last.nameStart), colon: between };
  return { comma: `,${text.slice(text.indexOf('{') + 1, last.nameStart)}`, colon: between };
}

// ── the scanner ──

/**
 * An object or array that is open. `names` holds quoted names: a name with digits only must not
 * hash as an array index.
 */
interface Frame {
  readonly isObject: boolean;
  names: string[] | Set<string>;
}

/** Names of one object that are compared one by one before a set pays for itself. */
const listedNames = 8;

const quoteCode = 0x22;
const commaCode = 0x2c;
const colonCode = 0x3a;
const openArrayCode = 0x5b;
const backslashCode = 0x5c;
const closeArrayCode = 0x5d;
const openObjectCode = 0x7b;
const closeObjectCode = 0x7d;

/** One pass over one document. `at` is the next unread character; the first fault ends the pass. */
class Scanner {
  readonly members: JsonMember[] = [];
  private readonly text: string;
  private readonly depthMax: number;
  private readonly frames: Frame[] = [];
  private at = 0;
  private fault: JsonFault | null = null;
  /** The top-level member that is being read; `null` between members and in an array. */
  private pendingName: string | null = null;
  private nameStart = 0;
  private valueStart = 0;

  constructor(text: string, depthMax: number) {
    this.text = text;
    this.depthMax = depthMax;
  }

  run(): Result<JsonKind, JsonFault> {
    if (this.text.charCodeAt(0) === 0xfeff) return err('bom');
    this.skip();
    if (this.at >= this.text.length) return err('empty');
    const kind = kindAt(this.text, this.at);
    do {
      while (this.opened()) {
        // goes down: each turn opens one container and stands at its first value
      }
    } while (this.follows());
    if (this.fault !== null) return err(this.fault);
    return this.at === this.text.length && kind !== null ? ok(kind) : err('syntax');
  }

  /**
   * Reads one value. True: it was the start of a container and `at` is at its first value. False:
   * the value is complete, or a fault.
   */
  private opened(): boolean {
    if (this.frames.length === 1) this.valueStart = this.at;
    const kind = kindAt(this.text, this.at);
    if (kind === 'object' || kind === 'array') return this.open(kind === 'object');
    const end = kind === null ? -1 : scalarEnd(this.text, this.at, kind);
    if (end < 0) return this.fail('syntax');
    this.at = end;
    return false;
  }

  private open(isObject: boolean): boolean {
    if (this.frames.length >= this.depthMax) return this.fail('too_deep');
    this.at += 1;
    this.skip();
    if (this.text.charCodeAt(this.at) === (isObject ? closeObjectCode : closeArrayCode)) {
      this.at += 1;
      return false;
    }
    const frame: Frame = { isObject, names: [] };
    this.frames.push(frame);
    return isObject ? this.name(frame) : true;
  }

  /**
   * After a complete value: closes what ends here. True: another value follows and `at` is at it.
   */
  private follows(): boolean {
    while (this.fault === null) {
      const valueEnd = this.at;
      this.skip();
      const frame = this.frames.at(-1);
      if (frame === undefined) return false;
      if (this.frames.length === 1) this.keepMember(valueEnd);
      const code = this.text.charCodeAt(this.at);
      if (code === commaCode) {
        this.at += 1;
        this.skip();
        return frame.isObject ? this.name(frame) : true;
      }
      if (code !== (frame.isObject ? closeObjectCode : closeArrayCode)) return this.fail('syntax');
      this.at += 1;
      this.frames.pop();
    }
    return false;
  }

  /** Reads a name and its colon; `at` is then at the value. */
  private name(frame: Frame): boolean {
    const nameStart = this.at;
    const end =
      this.text.charCodeAt(nameStart) === quoteCode ? stringEnd(this.text, nameStart) : -1;
    if (end < 0) return this.fail('syntax');
    const quoted = decodedName(this.text.slice(nameStart, end));
    if (!isNew(frame, quoted)) return this.fail('duplicate_key');
    if (this.frames.length === 1) {
      this.pendingName = quoted.slice(1);
      this.nameStart = nameStart;
    }
    this.at = end;
    this.skip();
    if (this.text.charCodeAt(this.at) !== colonCode) return this.fail('syntax');
    this.at += 1;
    this.skip();
    return true;
  }

  /** A top-level value is complete; in an array it has no name and is not kept. */
  private keepMember(valueEnd: number): void {
    const kind = kindAt(this.text, this.valueStart);
    if (this.pendingName === null || kind === null) return;
    const { nameStart, valueStart } = this;
    this.members.push({ name: this.pendingName, nameStart, valueStart, valueEnd, kind });
    this.pendingName = null;
  }

  private skip(): void {
    while (isSpace(this.text.charCodeAt(this.at))) this.at += 1;
  }

  private fail(fault: JsonFault): false {
    this.fault = fault;
    return false;
  }
}

/**
 * Opening quote and decoded name, no closing quote. The text is a valid JSON string, so
 * `JSON.parse` gives a string.
 */
function decodedName(raw: string): string {
  return raw.includes('\\') ? `"${String(JSON.parse(raw))}` : raw.slice(0, -1);
}

/** Notes the name; false when the object has it already. */
function isNew(frame: Frame, name: string): boolean {
  if (frame.names instanceof Set) {
    const before = frame.names.size;
    return frame.names.add(name).size > before;
  }
  if (frame.names.includes(name)) return false;
  frame.names.push(name);
  if (frame.names.length > listedNames) frame.names = new Set(frame.names);
  return true;
}

// ── characters ──

const isSpace = (code: number): boolean =>
  code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
const isDigit = (code: number): boolean => code >= 0x30 && code <= 0x39;
const isHex = (code: number): boolean =>
  isDigit(code) || ((code | 0x20) >= 0x61 && (code | 0x20) <= 0x66);

/**
 * The kind of the value that starts here, judged by its first character; `null` when none starts
 * so.
 */
function kindAt(text: string, at: number): JsonKind | null {
  const code = text.charCodeAt(at);
  if (code === quoteCode) return 'string';
  if (code === openObjectCode) return 'object';
  if (code === openArrayCode) return 'array';
  if (code === 0x74 || code === 0x66) return 'boolean';
  if (code === 0x6e) return 'null';
  return code === 0x2d || isDigit(code) ? 'number' : null;
}

/** End of a string, number or literal; -1 when it is not one. */
function scalarEnd(text: string, at: number, kind: JsonKind): number {
  if (kind === 'string') return stringEnd(text, at);
  if (kind === 'number') return numberEnd(text, at);
  for (const literal of ['true', 'false', 'null']) {
    if (text.startsWith(literal, at)) return at + literal.length;
  }
  return -1;
}

/**
 * End of the string whose opening quote is at `start`; -1 for a bare control character, a wrong
 * escape or no end.
 */
function stringEnd(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length) {
    const code = text.charCodeAt(at);
    if (code === quoteCode) return at + 1;
    if (code < 0x20) return -1;
    if (code !== backslashCode) at += 1;
    else {
      at = escapeEnd(text, at);
      if (at < 0) return -1;
    }
  }
  return -1;
}

function escapeEnd(text: string, at: number): number {
  const letter = text.charAt(at + 1);
  if (letter !== 'u') return letter !== '' && '"\\/bfnrt'.includes(letter) ? at + 2 : -1;
  for (let digit = at + 2; digit < at + 6; digit += 1) {
    if (!isHex(text.charCodeAt(digit))) return -1;
  }
  return at + 6;
}

/** RFC 8259 6: no leading zero, no bare dot, no empty exponent. */
function numberEnd(text: string, start: number): number {
  const first = text.charAt(start) === '-' ? start + 1 : start;
  let at = text.charAt(first) === '0' ? first + 1 : digitsEnd(text, first);
  if (at >= 0 && text.charAt(at) === '.') at = digitsEnd(text, at + 1);
  if (at >= 0 && (text.charCodeAt(at) | 0x20) === 0x65) {
    const sign = text.charAt(at + 1);
    at = digitsEnd(text, sign === '+' || sign === '-' ? at + 2 : at + 1);
  }
  return at;
}

/** End of at least one digit; -1 when there is none. */
function digitsEnd(text: string, start: number): number {
  let at = start;
  while (isDigit(text.charCodeAt(at))) at += 1;
  return at > start ? at : -1;
}
