/**
 * The stand of the bounds proof, and what a refusal has to look like. Called by the tables beside
 * this file.
 */
import { resolveSrcModules } from '../../../scripts/lib/src-modules.ts';
import type { Gateway } from '../../support/gateway.ts';
import { same } from '../../support/proof.ts';
import { headerOf, type RawAnswer } from '../../support/raw-client.ts';
import type { RecordingOrigin } from '../../support/recording-origin.ts';
import type { Scenario } from '../../support/scenario.ts';
import type { Known } from './documents.ts';

export interface Stand {
  readonly gateway: Gateway;
  readonly origin: RecordingOrigin;
  readonly scenario: Scenario;
  readonly known: Known;
  /** Where the upstream that only counts bytes listens. */
  readonly countingPort: number;
}
export type Named = readonly [name: string, run: (stand: Stand) => Promise<unknown>];

/** Holds an answer against a typed refusal of ours; gives the problem. */
export function refused(answer: RawAnswer, status: number, code: string): Record<string, unknown> {
  same(answer.status, status, 'status');
  same(headerOf(answer.lines, 'content-type'), 'application/problem+json', 'Content-Type');
  same(headerOf(answer.lines, 'x-weir-error'), '1', 'X-Weir-Error');
  const problem = JSON.parse(answer.body.toString());
  same(problem.type, `urn:weir:problem:${code}`, 'type');
  return problem;
}

let canImport = false;

/** From here on modules of `src/` can be imported, for what no request reaches. */
export function openSrc(): void {
  if (!canImport) resolveSrcModules();
  canImport = true;
}

/**
 * A module of `src/` by its path. The caller says what it uses of it: the Worker's own types are not
 * known to Node.
 */
export async function srcModule<T>(path: string): Promise<T> {
  openSrc();
  return (await import(new URL(`../../../src/${path}.ts`, import.meta.url).href)) as T;
}

/** A body with its length. */
export const sized = (body: string): string => `Content-Length: ${body.length}\r\n\r\n${body}`;
/** The same in one chunk. */
export const chunked = (body: string): string =>
  `Transfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
/** A JSON object of exactly that many bytes. */
export const object = (bytes: number): string => `{"a":"${'a'.repeat(bytes - 8)}"}`;
/** A JSON object that nests so deep. */
export const nested = (depth: number): string =>
  `${'{"a":'.repeat(depth - 1)}{}${'}'.repeat(depth - 1)}`;
