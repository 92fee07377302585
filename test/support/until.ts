/**
 * The wait of proofs: looks until a probe gives a value.
 * Promises: ends with the value or with a failure that names what was waited for. Must never: stand in for a pause.
 * Called by the proofs.
 */

/** Between two looks, milliseconds. */
const lookEveryMs = 5;

/** Waits until `probe` gives a value; fails after `timeoutMs`. */
export async function until<T>(
  what: string,
  probe: () => T | undefined | Promise<T | undefined>,
  timeoutMs = 10_000,
): Promise<T> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const value = await probe();
    if (value !== undefined) return value;
    if (performance.now() > deadline) throw new Error(`not within ${timeoutMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, lookEveryMs));
  }
}
