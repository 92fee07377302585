/**
 * RefusalRow: what the refusal table says of one refusal. Called by the files of the table.
 */
import type { Refusal, RefusalCode } from '../domain/refusal';
import type { Blame } from '../ports/evidence';

/** How a refusal looks on the wire. `detail` says what happened and what to do. */
export interface RefusalRow<C extends RefusalCode = RefusalCode> {
  readonly status: number;
  readonly title: string;
  readonly blame: Blame;
  readonly detail: (refusal: Extract<Refusal, { code: C }>) => string;
  /** Machine-readable members besides type, title, status, detail, instance. */
  readonly members?: (refusal: Extract<Refusal, { code: C }>) => Record<string, unknown>;
  /** Seconds for Retry-After. */
  readonly retryAfterS?: (refusal: Extract<Refusal, { code: C }>) => number;
}

/** {@link RefusalRow.retryAfterS} of a wait, rounded up: a client that comes back earlier is refused again. */
export const retryAfterS = ({ retryAfterMs }: { readonly retryAfterMs: number }): number =>
  Math.max(1, Math.ceil(retryAfterMs / 1000));

/** Rows of some of the refusals. */
export type RefusalRows<C extends RefusalCode> = { readonly [Code in C]: RefusalRow<Code> };
