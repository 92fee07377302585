/**
 * Parts of a request that are read as they were sent, never parsed and rebuilt. Pure. Called by stages 01, 06, 09 and 11.
 */

/** The request target of an absolute URL: path and query, from the first `/` behind the authority. */
export const requestTarget = (url: string): string =>
  url.slice(url.indexOf('/', url.indexOf('://') + 3));

/** Bytes that a Content-Length declares; `null`: none, or no plain decimal number (RFC 9110 8.6). */
export const declaredLength = (contentLength: string | null): number | null =>
  contentLength !== null && /^\d{1,15}$/.test(contentLength) ? Number(contentLength) : null;
