/**
 * How an origin may write a credential that it was sent: the spellings that the detector must see and the gateway must not let out.
 * Promises: each is what a common encoder writes, at full strength (every character escaped where the encoding allows it).
 */
import zlib from 'node:zlib';

/** One spelling; `coding` is a Content-Encoding that goes with the bytes. */
export interface Spelling {
  readonly name: string;
  readonly write: (secret: string) => Buffer;
  readonly coding?: string;
  /** Printable text without line ends: can stand in a header. */
  readonly text: boolean;
}

const text = (name: string, write: (secret: string) => string): Spelling => ({
  name,
  write: (secret) => Buffer.from(`{"error":"bad key ${write(secret)} was sent"}`),
  text: true,
});

/** Every UTF-8 byte as `%XX`. */
const percentAll = (secret: string, digits: (hex: string) => string): string =>
  [...Buffer.from(secret)].map((byte) => `%${digits(byte.toString(16).padStart(2, '0'))}`).join('');

/** Every UTF-16 unit as `\uXXXX`. */
const unicodeAll = (secret: string): string =>
  Array.from(secret, (char) =>
    [...Array(char.length).keys()]
      .map((i) => `\\u${char.charCodeAt(i).toString(16).padStart(4, '0')}`)
      .join(''),
  ).join('');

const htmlAll = (secret: string, write: (code: number) => string): string =>
  Array.from(secret, (char) => write(char.codePointAt(0) ?? 0)).join('');

const htmlNamed = (secret: string): string =>
  secret
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;');

/** Base64 of a longer text in which the secret starts at this offset modulo three. */
const base64At = (secret: string, offset: number, coding: BufferEncoding = 'base64'): string =>
  Buffer.from(`${'k='.padStart(3 + offset, '=')}${secret} and what stands behind it`).toString(
    coding,
  );

/** What can stand in the name of a header (RFC 9110 5.6.2): a key as it is, and base64 in the alphabet of URLs. */
export const nameSpellings: readonly {
  readonly name: string;
  readonly write: (secret: string) => string;
}[] = [
  { name: 'as it is, or as base64url', write: (secret) => asName(secret) },
  { name: 'in upper case', write: (secret) => asName(secret).toUpperCase() },
  ...[0, 1, 2].map((offset) => ({
    name: `inside base64url at ${offset}`,
    write: (secret: string) => base64At(secret, offset, 'base64url'),
  })),
];

const asName = (secret: string): string =>
  /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(secret) ? secret : Buffer.from(secret).toString('base64url');

const packed = (name: string, coding: string, pack: (plain: Buffer) => Buffer): Spelling => ({
  name,
  coding,
  write: (secret) =>
    pack(Buffer.from(`{"error":"bad key ${secret} was sent","pad":"${'x'.repeat(64)}"}`)),
  text: false,
});

const utf16 = (name: string, order: (bytes: Buffer) => Buffer): Spelling => ({
  name,
  write: (secret) => order(Buffer.from(`{"error":"bad key ${secret} was sent"}`, 'utf16le')),
  text: false,
});

/** All of them, plain ones first. */
export const spellings: readonly Spelling[] = [
  text('raw', (secret) => secret),
  text('percent, component', encodeURIComponent),
  text('percent, every byte, upper case', (secret) =>
    percentAll(secret, (hex) => hex.toUpperCase()),
  ),
  text('percent, every byte, lower case', (secret) => percentAll(secret, (hex) => hex)),
  text('percent, form', (secret) => new URLSearchParams({ q: secret }).toString()),
  text('JSON, as written', (secret) => JSON.stringify(secret)),
  text('JSON, escaped slash', (secret) => JSON.stringify(secret).replaceAll('/', '\\/')),
  text('JSON, every character \\u00XX', unicodeAll),
  text('JSON in JSON', (secret) => JSON.stringify(JSON.stringify({ key: secret }))),
  text('HTML, named', htmlNamed),
  text('HTML, every character decimal', (secret) => htmlAll(secret, (code) => `&#${code};`)),
  text('HTML, every character hexadecimal', (secret) =>
    htmlAll(secret, (code) => `&#x${code.toString(16)};`),
  ),
  text('base64', (secret) => Buffer.from(secret).toString('base64')),
  text('base64 in a longer text, first alignment', (secret) => base64At(secret, 0)),
  text('base64 in a longer text, second alignment', (secret) => base64At(secret, 1)),
  text('base64 in a longer text, third alignment', (secret) => base64At(secret, 2)),
  text('base64url', (secret) => Buffer.from(secret).toString('base64url')),
  text('base64url in a longer text', (secret) => base64At(secret, 1, 'base64url')),
  text('percent of base64', (secret) => encodeURIComponent(Buffer.from(secret).toString('base64'))),
  text('base64 of JSON', (secret) => Buffer.from(JSON.stringify({ secret })).toString('base64')),
  utf16('UTF-16, little end first', (bytes) => bytes),
  utf16('UTF-16, big end first', (bytes) => bytes.swap16()),
  packed('gzip', 'gzip', (plain) => zlib.gzipSync(plain)),
  packed('deflate', 'deflate', (plain) => zlib.deflateSync(plain)),
  packed('raw deflate', 'deflate', (plain) => zlib.deflateRawSync(plain)),
  packed('brotli', 'br', (plain) => zlib.brotliCompressSync(plain)),
  packed('zstd', 'zstd', (plain) => zlib.zstdCompressSync(plain)),
  packed('gzip of gzip', 'gzip, gzip', (plain) => zlib.gzipSync(zlib.gzipSync(plain))),
];
