/**
 * How an origin may write a value that we injected, and how to undo such writing. Promises: the
 * spellings that common encoders produce (percent, form, JSON, HTML, base64 and the usual pairs of
 * them), distinct, longest first; decoders that never throw, take any text and are linear. What no
 * list can hold (`\u0070`-style escapes of any character, base64 of a longer text) is the decoders'
 * work. Must never: guess (no case folding, no prefixes of a secret). Called by `masking.ts` only.
 */
import { normaliseRoundsMax } from '../../base/limits';
import { base64Of, percentEncoded } from '../../base/text-codings';

type Encode = (text: string) => string;

/**
 * Every listed spelling of `secret`, itself included, distinct, longest first (a short one must not
 * cut a long one apart). For `Basic` the caller passes what it injects: the pair, and its parts
 * where they are long enough.
 */
export function spellingsOf(secret: string): readonly string[] {
  if (secret === '') return [];
  const once = encoders.map((encode) => encode(secret));
  const twice = once.flatMap((text) => outerEncoders.map((encode) => encode(text)));
  return [...new Set([secret, ...once, ...twice])].sort((a, b) => b.length - a.length);
}

/**
 * What base64 shows of `secret` inside a longer text, at each of the three alignments, in both
 * alphabets: the characters that depend on the secret alone (RFC 4648 4: four characters carry
 * three bytes).
 */
export function base64Fragments(secret: string): readonly string[] {
  const bytes = utf8.encode(secret.toWellFormed());
  const fragments = [0, 1, 2].flatMap((before) => {
    const shifted = new Uint8Array(before + bytes.length);
    shifted.set(bytes, before);
    const known = base64Of(shifted).slice(
      Math.ceil((before * 8) / 6),
      Math.floor((shifted.length * 8) / 6),
    );
    return [known, urlAlphabet(known)];
  });
  return [...new Set(fragments)];
}

/**
 * Undoes JSON escapes, percent-escapes and HTML references, in that order, until nothing changes
 * (bounded rounds).
 */
export function normalise(text: string): string {
  let known = text;
  for (let round = 0; round < normaliseRoundsMax; round += 1) {
    const next = htmlDecoded(percentDecoded(jsonDecoded(known)));
    if (next === known) break;
    known = next;
  }
  return known;
}

// ── encoders ──

const utf8 = new TextEncoder();

const percent: Encode = (text) => encodeURIComponent(text.toWellFormed());
/** RFC 3986 unreserved only, as our own query injection writes it. */
const percentStrict: Encode = percentEncoded;
/** Python's `quote`: the slash stays. */
const percentPath: Encode = (text) => percentStrict(text).replaceAll('%2F', '/');
/** Reserved characters stay. */
const percentUri: Encode = (text) => encodeURI(text.toWellFormed());
/** HTML forms: a space is `+`. */
const percentForm: Encode = (text) => percentStrict(text).replaceAll('%20', '+');
const lowerHex: Encode = (text) => text.replace(/%[0-9A-F]{2}/g, (octet) => octet.toLowerCase());

const json: Encode = (text) => JSON.stringify(text).slice(1, -1);
const jsonSlash: Encode = (text) => json(text).replaceAll('/', '\\/');
const jsonAscii: Encode = (text) => json(text).replace(/[^\x20-\x7e]/g, unicodeOf);
const jsonAsciiSlash: Encode = (text) => jsonAscii(text).replaceAll('/', '\\/');
/** Go, Rails and .NET: what HTML could read is escaped too. */
const jsonHtmlSafe: Encode = (text) => jsonAscii(text).replace(/[&<>]/g, unicodeOf);
const jsonHtmlSafest: Encode = (text) =>
  upperUnicode(jsonAscii(text).replace(/\\"|[&<>'+`]/g, unicodeOf));
const upperUnicode: Encode = (text) =>
  text.replace(/\\u([0-9a-f]{4})/g, (_escape, hex: string) => `\\u${hex.toUpperCase()}`);

const html: Encode = (text) => text.replace(/[&<>"']/g, (char) => htmlNames.get(char) ?? char);
const htmlApos: Encode = (text) => html(text).replaceAll('&#39;', '&apos;');
const htmlHexApos: Encode = (text) => html(text).replaceAll('&#39;', '&#x27;');
const htmlHexSlash: Encode = (text) => htmlHexApos(text).replaceAll('/', '&#x2F;');
const htmlTextOnly: Encode = (text) =>
  text.replace(/[&<>]/g, (char) => htmlNames.get(char) ?? char);
/** Go: quotes are decimal. */
const htmlDecimalQuotes: Encode = (text) => html(text).replaceAll('&quot;', '&#34;');
const htmlDecimal: Encode = (text) =>
  text.replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`);
const htmlHex: Encode = (text) =>
  text.replace(/[&<>"']/g, (char) => `&#x${char.charCodeAt(0).toString(16)};`);

const base64Text: Encode = (text) => base64Of(utf8.encode(text.toWellFormed()));
const base64Url: Encode = (text) => urlAlphabet(base64Text(text));
const unpadded =
  (encode: Encode): Encode =>
  (text) =>
    encode(text).replace(/=+$/, '');

const percentEncoders: readonly Encode[] = [
  percent,
  percentStrict,
  percentPath,
  percentUri,
  percentForm,
];
const encoders: readonly Encode[] = [
  ...percentEncoders,
  ...percentEncoders.map(
    (encode): Encode =>
      (text) =>
        lowerHex(encode(text)),
  ),
  json,
  jsonSlash,
  jsonAscii,
  (text) => upperUnicode(jsonAscii(text)),
  jsonAsciiSlash,
  jsonHtmlSafe,
  jsonHtmlSafest,
  html,
  htmlApos,
  htmlHexApos,
  htmlHexSlash,
  htmlTextOnly,
  htmlDecimalQuotes,
  htmlDecimal,
  htmlHex,
  base64Text,
  base64Url,
  unpadded(base64Text),
  unpadded(base64Url),
];
/**
 * What is written around a spelling: an escaped value that is printed into JSON, a URL or a page.
 */
const outerEncoders: readonly Encode[] = [
  json,
  jsonSlash,
  percentStrict,
  (text) => lowerHex(percentStrict(text)),
  html,
];

const htmlNames: ReadonlyMap<string, string> = new Map([
  ['&', '&amp;'],
  ['<', '&lt;'],
  ['>', '&gt;'],
  ['"', '&quot;'],
  ["'", '&#39;'],
]);

/** `\u` and the last character: `\"` becomes `\u0022`. */
function unicodeOf(text: string): string {
  return `\\u${text
    .charCodeAt(text.length - 1)
    .toString(16)
    .padStart(4, '0')}`;
}

function urlAlphabet(base64: string): string {
  return base64.replaceAll('+', '-').replaceAll('/', '_');
}

// ── decoders ──

const lossyUtf8 = new TextDecoder('utf-8', { fatal: false, ignoreBOM: true });

const jsonLetters: ReadonlyMap<string, string> = new Map([
  ['b', '\b'],
  ['f', '\f'],
  ['n', '\n'],
  ['r', '\r'],
  ['t', '\t'],
]);

/** One layer of JSON escapes undone, `\x41` of other languages too; an unknown escape stays. */
export function jsonDecoded(text: string): string {
  if (!text.includes('\\')) return text;
  return text.replace(
    /\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(["'\\/bfnrt]))/g,
    (
      _escape,
      unicode: string | undefined,
      byte: string | undefined,
      letter: string | undefined,
    ) => {
      const hex = unicode ?? byte;
      if (hex !== undefined) return String.fromCharCode(Number.parseInt(hex, 16));
      return letter === undefined ? '' : (jsonLetters.get(letter) ?? letter);
    },
  );
}

/**
 * One layer of percent-escapes undone, either hex case; bytes that are not UTF-8 become U+FFFD, a
 * wrong escape stays.
 */
export function percentDecoded(text: string): string {
  if (!text.includes('%')) return text;
  const bytes = utf8.encode(text);
  let length = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    const code = bytes[at] ?? 0;
    const byte =
      code === 0x25 ? hexValue(bytes[at + 1]) * 16 + hexValue(bytes[at + 2]) : Number.NaN;
    if (!Number.isNaN(byte)) at += 2;
    bytes[length] = Number.isNaN(byte) ? code : byte;
    length += 1;
  }
  return lossyUtf8.decode(bytes.subarray(0, length));
}

function hexValue(code: number | undefined): number {
  if (code === undefined) return Number.NaN;
  if (code >= 0x30 && code <= 0x39) return code - 0x30;
  const letter = code | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : Number.NaN;
}

/**
 * HTML names of ASCII characters (WHATWG HTML 13.5), each with its character behind it; thorough
 * encoders write them all.
 */
const htmlNamed =
  'amp& AMP& lt< LT< gt> GT> quot" QUOT" apos\' sol/ bsol\\ plus+ equals= commat@ colon: ' +
  'semi; num# percnt% ast* midast* lpar( rpar) lsqb[ lbrack[ rsqb] rbrack] lcub{ lbrace{ ' +
  'rcub} rbrace} excl! quest? dollar$ comma, period. lowbar_ UnderBar_ grave` ' +
  'DiacriticalGrave` Hat^ vert| verbar| VerticalLine|';
const htmlCharacters: ReadonlyMap<string, string> = new Map([
  ...htmlNamed.split(' ').map((entry) => [entry.slice(0, -1), entry.slice(-1)] as const),
  ['nbsp', '\u00a0'],
  ['Tab', '\t'],
  ['NewLine', '\n'],
]);

/**
 * One layer of HTML references undone: numeric ones with or without `;`, named ones of ASCII
 * characters; others stay.
 */
export function htmlDecoded(text: string): string {
  if (!text.includes('&')) return text;
  return text.replace(
    /&(?:#([0-9]{1,10});?|#[xX]([0-9a-fA-F]{1,8});?|(amp|lt|gt|quot|[A-Za-z]{2,16}(?=;));?)/g,
    (reference, decimal: string | undefined, hex: string | undefined, name: string | undefined) => {
      if (name !== undefined) return htmlCharacters.get(name) ?? reference;
      const code =
        decimal === undefined ? Number.parseInt(hex ?? '', 16) : Number.parseInt(decimal, 10);
      return code <= 0x10ffff ? String.fromCodePoint(code) : reference;
    },
  );
}

const base64Values: Uint8Array = base64Table();

function base64Table(): Uint8Array {
  const values = new Uint8Array(128).fill(255);
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
  for (let value = 0; value < alphabet.length; value += 1)
    values[alphabet.charCodeAt(value)] = value;
  for (const [char, value] of [
    ['+', 62],
    ['-', 62],
    ['/', 63],
    ['_', 63],
  ] as const)
    values[char.charCodeAt(0)] = value;
  return values;
}

/** A stretch of base64 characters, offsets into the text. */
interface Run {
  readonly from: number;
  readonly to: number;
}

/**
 * What the base64 runs of a text hold, with spaces between: `''` when there is none, `null` when it
 * would be over `bytesMax`. A run has `charsMin` characters of either alphabet or more, line ends
 * inside it are skipped (RFC 2045 6.8), and it is read from each of its first four characters,
 * since what stands before it may look like base64 too.
 */
export function base64Decoded(
  text: string,
  limits: { readonly charsMin: number; readonly bytesMax: number },
): string | null {
  const runs = base64Runs(text, limits.charsMin);
  let size = 0;
  for (const run of runs) size += (run.to - run.from) * 3 + 4;
  if (size > limits.bytesMax) return null;
  const bytes = new Uint8Array(size);
  let length = 0;
  for (const run of runs) {
    const characters = text.slice(run.from, run.to).replace(/[\r\n]+/g, '');
    for (let skip = 0; skip < 4; skip += 1)
      length = writeRun(bytes, length, characters.slice(skip));
  }
  return lossyUtf8.decode(bytes.subarray(0, length));
}

function base64Runs(text: string, charsMin: number): readonly Run[] {
  const runs: Run[] = [];
  let from = 0;
  let chars = 0;
  for (let at = 0; at <= text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (base64Value(code) < 64) {
      if (chars === 0) from = at;
      chars += 1;
    } else if (!isLineEnd(code)) {
      if (chars >= charsMin) runs.push({ from, to: at });
      chars = 0;
    }
  }
  return runs;
}

const base64Value = (code: number): number => base64Values[code] ?? 255;
const isLineEnd = (code: number): boolean => code === 0x0a || code === 0x0d;

/**
 * Writes the bytes of a run and a space, which no run goes on behind, to `out` from `start`; gives
 * the new end.
 */
function writeRun(out: Uint8Array, start: number, run: string): number {
  let end = start;
  let bits = 0;
  let bitCount = 0;
  for (let at = 0; at < run.length; at += 1) {
    bits = ((bits & 0xff) << 6) | base64Value(run.charCodeAt(at));
    bitCount += 6;
    if (bitCount < 8) continue;
    bitCount -= 8;
    out[end] = bits >> bitCount;
    end += 1;
  }
  out[end] = 0x20;
  return end + 1;
}
