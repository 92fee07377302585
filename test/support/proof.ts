/**
 * Proof: a named list of rows, each a guarantee that either holds or throws. `npm run prove -- NAME` runs all rows; `npm test` runs the
 * short form of the same rows, so that the two can never disagree.
 */
import type { Taken } from '../../scripts/lib/arguments.ts';

/** One guarantee. `run` throws when it does not hold; a returned text is shown behind the row. */
export interface Row {
  readonly name: string;
  readonly run: () => Promise<string | void>;
}

/** A running proof: its rows, and what to tear down. */
export interface Staged {
  readonly rows: readonly Row[];
  /** The figure that is printed last, e.g. "0 of 554 let through". */
  readonly figure: () => string;
  readonly dispose: () => Promise<void>;
}

export interface Proof {
  readonly name: string;
  /** What it shows, one line. */
  readonly title: string;
  /** What `npm run prove` lets through to it besides `--short`; the usage is what stands behind that. */
  readonly takes?: Taken;
  /** Starts gateways and origins. `short` is the form for `npm test`: the same mechanism, fewer repetitions. */
  readonly stage: (options: {
    readonly short: boolean;
    readonly args: readonly string[];
  }) => Promise<Staged>;
}

/** A named guarantee on a stand; a text that it gives is its figure. */
export type StandRow<S> = readonly [name: string, run: (stand: S) => Promise<string | void>];

/** Rows of one stand, run one by one, and how many have passed. */
export function onStand<S>(
  stand: S,
  all: readonly StandRow<S>[],
): { readonly rows: readonly Row[]; readonly passed: () => number } {
  let passed = 0;
  const rows = all.map(([name, run]) => ({
    name,
    run: async () => {
      const shown = await run(stand);
      passed += 1;
      return shown;
    },
  }));
  return { rows, passed: () => passed };
}

/** Throws with both values when they differ. */
export function same<T>(actual: T, expected: T, what: string): void {
  const [a, e] = [JSON.stringify(actual), JSON.stringify(expected)];
  if (a !== e) throw new Error(`${what}: got ${a}, wanted ${e}`);
}

/** Throws unless the condition holds. */
export function holds(condition: unknown, what: string): asserts condition {
  if (!condition) throw new Error(what);
}
