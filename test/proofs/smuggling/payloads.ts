/**
 * The smuggling corpus, and how one payload is aimed at an upstream of the gateway without touching the bytes that make it dangerous.
 * Promises: only the request target changes and whole lines are added; line ends, spaces and control bytes stay.
 */
import { readFileSync } from 'node:fs';

/** One raw HTTP message of the corpus; one character per byte. */
export interface Payload {
  readonly id: string;
  readonly raw: string;
}

/** Every payload of the fixture. */
export function payloads(): readonly Payload[] {
  return readFileSync('test/fixtures/smuggling.jsonl', 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Payload);
}

/** Where a payload's request goes. */
export interface Aim {
  /** Path of the gateway without query, e.g. `/call/origin/m1`. */
  readonly path: string;
  readonly token: string;
  /** Adds a Host line where the payload has none, so that the message gets past the first check. */
  readonly withHost?: boolean;
}

/**
 * The payload with its first request aimed: its own query is kept, the key stands behind the first header line (before it, it would
 * take in an obs-fold), or behind the request line when there is no header.
 */
export function aimed(payload: Payload, aim: Aim): Buffer {
  const start = /^(\S+) ([^\s?]*)/.exec(payload.raw);
  const raw =
    start === null ? payload.raw : `${start[1]} ${aim.path}${payload.raw.slice(start[0].length)}`;
  const lineEnd = raw.indexOf('\n') + 1;
  const firstHeader = raw.slice(lineEnd).search(/\r?\n/) > 0;
  const at = firstHeader ? raw.indexOf('\n', lineEnd) + 1 : lineEnd;
  const host = aim.withHost === true && !hasHost(payload) ? 'Host: gateway.test\r\n' : '';
  const added = `X-Weir-Key: ${aim.token}\r\n${host}`;
  return Buffer.from(raw.slice(0, at) + added + raw.slice(at), 'latin1');
}

/** Whether the first message has a Host line. */
export const hasHost = (payload: Payload): boolean =>
  /\nhost:/i.test(payload.raw.split('\r\n\r\n')[0] ?? '');
