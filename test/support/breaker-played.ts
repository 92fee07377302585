/**
 * What the simulations of the proof breaker-model give; the simulations themselves (`test/unit/durable-objects/breaker-model/`) know the
 * platform's types, which a proof does not.
 */

/** What one history was. `fault`: the first rule that was broken. */
export interface Played {
  readonly fault: string | null;
  readonly operations: number;
  readonly calls: number;
  readonly hits: number;
  readonly counts: Readonly<Record<string, number>>;
}

/** A named history; it throws when it does not hold, and may say a figure. */
export interface Scene {
  readonly name: string;
  readonly run: () => Promise<string | undefined>;
}

/** The bundled simulations. */
export interface Simulations {
  readonly scenes: readonly Scene[];
  /** Histories from a seed on; the first that fails ends it. */
  readonly playAll: (
    from: number,
    count: number,
  ) => Promise<{ readonly seed: number; readonly fault: string } | { readonly total: Played }>;
}
