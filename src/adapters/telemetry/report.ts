/**
 * Structured log lines: one JSON object a line.
 * Must never: carry a body, a query string, a header value or a secret; callers pass names, ids and numbers only.
 */

/** Writes one line. */
export function report(
  event: string,
  facts: Readonly<Record<string, string | number | null>>,
): void {
  console.log(JSON.stringify({ event, ...facts }));
}
