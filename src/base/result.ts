/**
 * Result: an expected "no" is a value, never an exception.
 * Promises: `ok` and `err` are the only two shapes; narrowing on `.ok` is enough.
 * Must never: carry text for people or a status. Called by everyone.
 */
export type Result<T, E> = { readonly ok: true; readonly value: T } | Err<E>;
export type Err<E> = { readonly ok: false; readonly error: E };

/** A value that may already be there: the warm path must not pay for a promise it does not need. */
export type MaybePromise<T> = T | Promise<T>;

/** Wraps a success. */
export const ok = <T>(value: T): { readonly ok: true; readonly value: T } => ({ ok: true, value });

/** Wraps an expected "no". */
export const err = <E>(error: E): Err<E> => ({ ok: false, error });

/** Goes on with a success that may already be there; a refusal ends the chain. */
export const whenOk = <T, U, E, F>(
  step: MaybePromise<Result<T, E>>,
  next: (value: T) => MaybePromise<Result<U, F>>,
): MaybePromise<Result<U, E | F>> =>
  whenHere<Result<T, E>, Result<U, E | F>>(step, (result) =>
    result.ok ? next(result.value) : result,
  );

/** Goes on with a value that may already be there, without a promise when it is. */
export function whenHere<T, U>(
  value: MaybePromise<T>,
  next: (value: T) => MaybePromise<U>,
): MaybePromise<U> {
  return value instanceof Promise ? value.then(next) : next(value);
}
