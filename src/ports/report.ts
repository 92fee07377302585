/**
 * Report: how a part of the gateway says what an operator should know. Implemented by `adapters/telemetry/report.ts`.
 * Must never: be given a body, a query string, a header value or a secret; names, ids and numbers only.
 */

/** Writes one structured log line. */
export type Report = (
  event: string,
  facts: Readonly<Record<string, string | number | null>>,
) => void;
