/**
 * Parts of a message that are read as they were sent, never parsed and rebuilt. Pure. Called by stages 01, 06, 09 and 11.
 */

/** The request target of an absolute URL: path and query, from the first `/` behind the authority. */
export const requestTarget = (url: string): string =>
  url.slice(url.indexOf('/', url.indexOf('://') + 3));

/** Bytes that a Content-Length declares; `null`: none, or no plain decimal number (RFC 9110 8.6). */
export const declaredLength = (contentLength: string | null): number | null =>
  contentLength !== null && /^\d{1,15}$/.test(contentLength) ? Number(contentLength) : null;

/**
 * Bytes that the body of an answer will have, as the runtime frames it: a Transfer-Encoding overrides a Content-Length (RFC 9112 6.3), a
 * length that is said twice is one (RFC 9110 8.6). `null`: known at its end.
 */
export function answerLength(headers: Headers): number | null {
  const lengths = headers.get('content-length');
  if (lengths === null || headers.has('transfer-encoding')) return null;
  const [first = '', ...others] = lengths.split(',').map((length) => length.trim());
  return others.every((other) => other === first) ? declaredLength(first) : null;
}
