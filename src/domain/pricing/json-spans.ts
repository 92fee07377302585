/**
 * JSON spans: where the members and entries of one value are in a text that `JSON.parse` has
 * accepted. Promises: linear, no recursion; offsets are UTF-16, ends exclusive. Must never: be
 * given a text that is not valid JSON; it does not check. `base/json.ts` does, and refuses names
 * that repeat anywhere, which an answer of a vendor may do. Called by `strip-charge.ts`
 * and by the envelopes of overflow.
 */

/** A value; `end` may include white space behind it only at the top of a document. */
export interface ValueSpan {
  readonly start: number;
  readonly end: number;
}

/** A member of an object: its decoded name, from the opening quote on, and its value. */
export interface MemberSpan extends ValueSpan {
  readonly name: string;
  readonly nameStart: number;
}

/** Members of the object at `span`; none when it is another kind of value. */
export function objectMembers(text: string, span: ValueSpan): readonly MemberSpan[] {
  const open = afterSpace(text, span.start);
  if (text.charCodeAt(open) !== openObject) return [];
  const members: MemberSpan[] = [];
  let at = afterSpace(text, open + 1);
  while (text.charCodeAt(at) === quote) {
    const nameStart = at;
    const nameEnd = stringEnd(text, nameStart);
    const start = afterSpace(text, afterSpace(text, nameEnd) + 1);
    const end = valueEnd(text, start);
    const name = String(JSON.parse(text.slice(nameStart, nameEnd)));
    members.push({ name, nameStart, start, end });
    at = afterComma(text, end);
  }
  return members;
}

/** Entries of the array at `span`; none when it is another kind of value. */
export function arrayEntries(text: string, span: ValueSpan): readonly ValueSpan[] {
  const open = afterSpace(text, span.start);
  if (text.charCodeAt(open) !== openArray) return [];
  const entries: ValueSpan[] = [];
  let at = afterSpace(text, open + 1);
  while (at < text.length && text.charCodeAt(at) !== closeArray) {
    const end = valueEnd(text, at);
    entries.push({ start: at, end });
    at = afterComma(text, end);
  }
  return entries;
}

const quote = 0x22;
const comma = 0x2c;
const backslash = 0x5c;
const openArray = 0x5b;
const closeArray = 0x5d;
const openObject = 0x7b;
const closeObject = 0x7d;

const isSpace = (code: number): boolean =>
  code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;

function afterSpace(text: string, start: number): number {
  let at = start;
  while (isSpace(text.charCodeAt(at))) at += 1;
  return at;
}

/** The next member or entry, or the bracket that closes them. */
function afterComma(text: string, end: number): number {
  const at = afterSpace(text, end);
  return text.charCodeAt(at) === comma ? afterSpace(text, at + 1) : at;
}

function stringEnd(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length) {
    const code = text.charCodeAt(at);
    if (code === quote) break;
    at += code === backslash ? 2 : 1;
  }
  return at + 1;
}

function valueEnd(text: string, start: number): number {
  const first = text.charCodeAt(start);
  if (first === quote) return stringEnd(text, start);
  if (first === openObject || first === openArray) return containerEnd(text, start);
  let at = start;
  while (at < text.length && !endsScalar(text.charCodeAt(at))) at += 1;
  return at;
}

const endsScalar = (code: number): boolean =>
  code === comma || code === closeArray || code === closeObject || isSpace(code);

/** Brackets of both kinds are balanced in a valid text, so one depth counts both. */
function containerEnd(text: string, start: number): number {
  let depth = 0;
  let at = start;
  while (at < text.length) {
    const code = text.charCodeAt(at);
    if (code === quote) {
      at = stringEnd(text, at);
      continue;
    }
    if (code === openObject || code === openArray) depth += 1;
    else if (code === closeObject || code === closeArray) depth -= 1;
    at += 1;
    if (depth === 0) return at;
  }
  return at;
}
