/**
 * assert: a broken promise of our own code. The call becomes one bare 500 with its call id; the text is for the log only.
 * Must never: be used for bad input (that is a Refusal) or an upstream's answer. Called by everyone.
 */
export class AssertionError extends Error {
  override readonly name = 'AssertionError';
}

/** Throws {@link AssertionError} unless `condition` holds. `message` goes to the log, never to a caller. */
export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new AssertionError(message);
}

/** Ends an exhaustive `switch`: the compiler proves that it is never reached. */
export function assertNever(value: never): never {
  throw new AssertionError(`unreachable: ${String(value)}`);
}
