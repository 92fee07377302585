/** What the rows about the platform account share: calls of the provider `meter`. Called by them. */
import { headerOf, type RawAnswer } from '../../support/raw-client.ts';
import { sized } from './stand.ts';

/** The line of a JSON body. */
export const json = 'Content-Type: application/json';
/** What is sent. */
export const body = '{"a":1}';
/** Its header lines. */
export const framed = [json, sized(body)];
/** An answer that tells its units. */
export const units = (n: number): string => `{"ok":true,"usage":{"units":${n}}}`;
/** The parts of a POST of a row. */
export const post = (name: string, headers: readonly string[] = []) =>
  ({
    method: 'POST',
    target: `/catalog/call/meter.${name}`,
    headers: [...headers, ...framed],
    body,
  }) as const;

/** Header lines with their names in lower case, sorted. */
export const lowered = (lines: readonly string[]): string[] =>
  lines.map((line) => line.replace(/^[^:]+/, (name) => name.toLowerCase())).sort();

/** `X-Weir-Cost-Micro` of an answer. */
export function costOf(answer: RawAnswer): string | null {
  return headerOf(answer.lines, 'x-weir-cost-micro');
}
