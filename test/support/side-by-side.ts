/**
 * Rows of a proof that may run side by side: most of their time is waiting (for a flush, a drain, a timeout), not work.
 * Promises: at most `max` at a time, in their order; each row reports its own outcome. Called by the proofs of disconnects.
 */
import type { Row } from './proof.ts';

/** A case: its name, and what it does; a text that it gives is its figure. */
export type Case<S> = readonly [name: string, run: (stand: S) => Promise<unknown>];

type Started = (() => Promise<unknown>) | Promise<unknown>;

/** The outcome of one case; it and the next ones are started when they are not yet. */
function startedAhead(cases: Started[], at: number, max: number): Promise<unknown> {
  for (let i = at; i < Math.min(cases.length, at + max); i += 1) {
    const one = cases[i];
    if (typeof one !== 'function') continue;
    const started = one();
    started.catch(() => undefined);
    cases[i] = started;
  }
  return Promise.resolve(cases[at]);
}

/** Rows for `together`, side by side, then for `after`, one by one; and how many have passed. */
export function sideBySide<S>(
  stand: S,
  {
    together,
    after,
    max,
  }: { together: readonly Case<S>[]; after: readonly Case<S>[]; max: number },
): { readonly rows: readonly Row[]; readonly passed: () => number } {
  let passed = 0;
  const counted = (name: string, run: () => Promise<unknown>): Row => ({
    name,
    run: async () => {
      const text = await run();
      passed += 1;
      return typeof text === 'string' ? text : undefined;
    },
  });
  const ahead: Started[] = together.map(
    ([, run]) =>
      () =>
        run(stand),
  );
  const rows = [
    ...together.map(([name], at) => counted(name, () => startedAhead(ahead, at, max))),
    ...after.map(([name, run]) => counted(name, () => run(stand))),
  ];
  return { rows, passed: () => passed };
}
