/**
 * Leak detector: finds a canary in recorded bytes in whatever spelling it left: raw, percent, JSON, HTML, base64 at any alignment,
 * inside gzip, zlib, brotli and zstd members, behind chunked framing, and in encodings of one another.
 * Promises: written from the encodings' documents, not from the product's masking, so that the two cannot share a mistake.
 * Must never: be trusted before its planted rows have passed (`npm run prove -- secrets` runs them first).
 */
import zlib from 'node:zlib';
import { dechunk } from './raw-client.ts';

/** A secret to look for. `core` is a part that is a leak by itself (random, long enough not to occur by chance). */
export interface Canary {
  readonly name: string;
  readonly value: string;
  readonly core: string;
}

/** One find: whose canary, and which decoders showed it, outermost first. */
export interface Leak {
  readonly canary: string;
  readonly spelling: string;
}

/** A decoded form of the bytes; text is one character per byte. */
interface View {
  readonly text: string;
  readonly spelling: string;
}

/** Encodings of one another that are undone. */
const depthMax = 3;
/** Views of one stream: what goes beyond is a bug of a test, not a leak. */
const viewsMax = 4_000;
const expandedBytesMax = 64 * 1024 * 1024;

/** Every canary that `bytes` show, once, with the plainest spelling that shows it. */
export function leaksIn(bytes: Buffer, canaries: readonly Canary[]): readonly Leak[] {
  const wanted = canaries.map(({ name, value, core }) => ({
    name,
    texts: [Buffer.from(value).toString('latin1'), core],
  }));
  const found = new Map<string, Leak>();
  for (const { text, spelling } of viewsOf(bytes)) {
    for (const { name, texts } of wanted) {
      if (found.has(name) || !texts.some((part) => text.includes(part))) continue;
      found.set(name, { canary: name, spelling });
    }
  }
  return [...found.values()];
}

/** The bytes and everything that they can be decoded to, breadth first. */
function viewsOf(bytes: Buffer): readonly View[] {
  const raw: View = { text: bytes.toString('latin1'), spelling: 'raw' };
  const views: View[] = [raw];
  const seen = new Set([raw.text]);
  let level: readonly View[] = views;
  for (let depth = 0; depth < depthMax && level.length > 0; depth += 1) {
    const next: View[] = [];
    for (const view of level) {
      for (const decoded of decodedOnce(view)) {
        if (decoded.text === '' || seen.has(decoded.text)) continue;
        seen.add(decoded.text);
        next.push(decoded);
      }
    }
    views.push(...next);
    if (views.length > viewsMax) throw new Error(`more than ${viewsMax} views of one stream`);
    level = next;
  }
  return views;
}

function decodedOnce(view: View): readonly View[] {
  const name = (by: string): string => (view.spelling === 'raw' ? by : `${view.spelling} > ${by}`);
  const texts = textViews(view, name);
  // What is printable throughout holds no compressed member and no chunk border worth undoing.
  if (!/[^\t\n\x20-\x7e]/.test(view.text)) return texts;
  const bytes = Buffer.from(view.text, 'latin1');
  // Most of what base64 decodes to is noise: only what has a magic number is looked at there.
  const starts = view.spelling.includes('base64') ? [] : [0, ...bodyStarts(bytes)];
  const found = members(bytes, starts);
  return [
    ...texts,
    ...bodies(bytes).map((body) => ({ text: body.toString('latin1'), spelling: name('chunked') })),
    ...found.map(({ by, plain }) => ({ text: plain.toString('latin1'), spelling: name(by) })),
  ];
}

function textViews(view: View, name: (by: string) => string): readonly View[] {
  return [
    { text: percentDecoded(view.text), spelling: name('percent') },
    { text: view.text.replaceAll('+', ' '), spelling: name('form') },
    { text: jsonDecoded(view.text), spelling: name('json') },
    { text: htmlDecoded(view.text), spelling: name('html') },
    { text: base64Decoded(view.text), spelling: name('base64') },
    { text: view.text.replaceAll('\0', ''), spelling: name('utf-16') },
  ];
}

// ── text encodings ──

const percentDecoded = (text: string): string =>
  text.replace(/%([0-9a-fA-F]{2})/g, (_, hex: string) => byteOf(hex));

const byteOf = (hex: string): string => String.fromCharCode(Number.parseInt(hex, 16));

/** A code point as the UTF-8 bytes that the canary is searched as. */
const utf8Of = (code: number): string =>
  code > 0x10ffff ? '' : Buffer.from(String.fromCodePoint(code)).toString('latin1');

function jsonDecoded(text: string): string {
  const letters: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' };
  return text.replace(/(?:\\u[0-9a-fA-F]{4})+|\\x([0-9a-fA-F]{2})|\\(.)/gs, (all, byte, letter) => {
    if (typeof byte === 'string') return byteOf(byte);
    if (typeof letter === 'string') return letters[letter] ?? letter;
    const units = all.match(/[0-9a-fA-F]{4}/g) ?? [];
    const decoded = String.fromCharCode(...units.map((unit: string) => Number.parseInt(unit, 16)));
    return Buffer.from(decoded).toString('latin1');
  });
}

const htmlNames: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  sol: '/',
  plus: '+',
  equals: '=',
  commat: '@',
  percnt: '%',
};

function htmlDecoded(text: string): string {
  const reference = /&(?:#(\d{1,7});?|#[xX]([0-9a-fA-F]{1,6});?|([a-z]{2,8});)/g;
  return text.replace(reference, (all, decimal?: string, hex?: string, name?: string) => {
    if (name !== undefined) return htmlNames[name] ?? all;
    return utf8Of(decimal === undefined ? Number.parseInt(hex ?? '', 16) : Number(decimal));
  });
}

/**
 * Every run of base64 characters, read from each of its first four characters, both alphabets. A reading that is neither text for the
 * most part nor a compressed member is noise: an id, or a run at the wrong alignment.
 */
function base64Decoded(text: string): string {
  const runs = text.match(/(?:[A-Za-z0-9+/_-][\r\n]*){16,}/g) ?? [];
  const out: string[] = [];
  for (const run of runs) {
    const plain = run
      .replace(/[\r\n]/g, '')
      .replaceAll('-', '+')
      .replaceAll('_', '/');
    for (let skip = 0; skip < 4; skip += 1) {
      const reading = Buffer.from(plain.slice(skip), 'base64').toString('latin1');
      if (isWorthReading(reading)) out.push(reading);
    }
  }
  return out.join(' ');
}

function isWorthReading(text: string): boolean {
  if (/^(?:\x1f\x8b\x08|\x78[\x01\x5e\x9c\xda]|\x28\xb5\x2f\xfd)/.test(text)) return true;
  const printable = text.match(/[\x20-\x7e]/g)?.length ?? 0;
  return printable >= text.length * 0.6;
}

// ── framing and compression ──

/** The bodies of chunked messages: a canary may be cut in two by a chunk border. */
function bodies(bytes: Buffer): readonly Buffer[] {
  const found: Buffer[] = [];
  for (const start of bodyStarts(bytes)) {
    const { body } = dechunk(bytes.subarray(start));
    if (body.length > 0) found.push(body);
  }
  return found;
}

/** Where a message body may start: behind every empty line. */
function bodyStarts(bytes: Buffer): readonly number[] {
  const starts: number[] = [];
  for (let at = bytes.indexOf('\r\n\r\n'); at >= 0; at = bytes.indexOf('\r\n\r\n', at + 1))
    starts.push(at + 4);
  return starts;
}

interface Member {
  readonly by: string;
  readonly plain: Buffer;
}

/** Compressed members: by their magic number anywhere; brotli and raw deflate have none and are tried where a body may start. */
function members(bytes: Buffer, starts: readonly number[]): readonly Member[] {
  return [
    ...at(bytes, Buffer.from([0x1f, 0x8b, 0x08])).flatMap((i) => inflated(bytes, i, 'gzip')),
    ...[0x01, 0x5e, 0x9c, 0xda]
      .flatMap((level) => at(bytes, Buffer.from([0x78, level])))
      .flatMap((i) => inflated(bytes, i, 'deflate')),
    ...at(bytes, Buffer.from([0x28, 0xb5, 0x2f, 0xfd])).flatMap((i) => inflated(bytes, i, 'zstd')),
    ...starts.flatMap((i) => inflated(bytes, i, 'br')),
    ...starts.flatMap((i) => inflated(bytes, i, 'deflate-raw')),
  ];
}

function at(bytes: Buffer, magic: Buffer): readonly number[] {
  const found: number[] = [];
  for (let i = bytes.indexOf(magic); i >= 0; i = bytes.indexOf(magic, i + 1)) found.push(i);
  return found;
}

/** Tolerates a cut end and bytes behind the member: a partial secret is a secret. */
function inflated(bytes: Buffer, from: number, by: string): readonly Member[] {
  const slice = bytes.subarray(from);
  if (slice.length < 8) return [];
  const flush = { finishFlush: zlib.constants.Z_SYNC_FLUSH, maxOutputLength: expandedBytesMax };
  const brotli = {
    finishFlush: zlib.constants.BROTLI_OPERATION_FLUSH,
    maxOutputLength: expandedBytesMax,
  };
  try {
    const plain = inflate(slice, by, { flush, brotli });
    return plain.length === 0 ? [] : [{ by, plain }];
  } catch {
    return [];
  }
}

function inflate(
  slice: Buffer,
  by: string,
  options: { readonly flush: zlib.ZlibOptions; readonly brotli: zlib.BrotliOptions },
): Buffer {
  switch (by) {
    case 'gzip':
      // Not gunzip: it refuses bytes behind the member that are not another one.
      return zlib.inflateRawSync(slice.subarray(gzipHeaderBytes(slice)), options.flush);
    case 'deflate':
      return zlib.inflateSync(slice, options.flush);
    case 'deflate-raw':
      return zlib.inflateRawSync(slice, options.flush);
    case 'br':
      return zlib.brotliDecompressSync(slice, options.brotli);
    default:
      return zlib.zstdDecompressSync(slice);
  }
}

/** Length of a gzip member's header (RFC 1952 2.3). */
function gzipHeaderBytes(member: Buffer): number {
  const flags = member[3] ?? 0;
  let at = 10;
  if (flags & 4) at += 2 + member.readUInt16LE(at);
  for (const named of [8, 16]) if (flags & named) at = member.indexOf(0, at) + 1;
  return flags & 2 ? at + 2 : at;
}
