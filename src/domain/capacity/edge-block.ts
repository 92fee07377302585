/**
 * Edge block: the vendor's CDN refused the shape of a request before the vendor saw it. Promises:
 * decided on what the CDN itself writes: its headers, its JSON members, its page; never on the
 * caller's User-Agent, never on words within a vendor's error. It says nothing of an account. Pure.
 * Called by `classify.ts`.
 */
import type { ErrorText } from './error-text';
import type { HeaderOf } from './retry-after';

/** Whether an answer is Cloudflare's own no (digest A12, step 1). */
export function isEdgeBlock(status: number, header: HeaderOf, body: ErrorText): boolean {
  if (status !== 403 && status !== 503) return false;
  if (header('cf-mitigated') !== null) return true;
  if (status !== 403) return false;
  const isCloudflare = header('server')?.trim().toLowerCase() === 'cloudflare';
  const isPage = /^\s*text\/html\b/i.test(header('content-type') ?? '');
  return (isCloudflare && isPage) || namesEdgeError(body);
}

/** Cloudflare's 1xxx errors: a JSON document for clients that accept one, a line of text, or a page. */
function namesEdgeError(body: ErrorText): boolean {
  switch (body.kind) {
    case 'json':
      return isEdgeDocument(body.document);
    case 'plain':
      return /^error code: 1\d{3}$/i.test(body.text);
    case 'page':
      return (
        /^<(?:!doctype html|html|!--)/i.test(body.text) &&
        /\berror(?: code:?)?\s{0,9}(?:<[^>]{0,99}>\s{0,9}){0,4}1\d{3}\b/i.test(body.text) &&
        /\bcloudflare\b/i.test(body.text)
      );
    default:
      return false;
  }
}

/** Its members name the document as Cloudflare's, and one of them the error. */
function isEdgeDocument(document: unknown): boolean {
  if (typeof document !== 'object' || document === null) return false;
  const {
    cloudflare_error: isMarked,
    type,
    title,
    error_code: code,
  } = { ...emptyError, ...document };
  const page = typeof type === 'string' && type.startsWith(documentation) ? type : '';
  if (isMarked !== true && page === '') return false;
  return (
    /^1\d{3}$/.test(String(code)) ||
    /^Error 1\d{3}\b/.test(String(title)) ||
    /\berror-1\d{3}\b/.test(page)
  );
}

const documentation = 'https://developers.cloudflare.com/';
const emptyError: {
  readonly cloudflare_error: unknown;
  readonly type: unknown;
  readonly title: unknown;
  readonly error_code: unknown;
} = { cloudflare_error: null, type: null, title: null, error_code: null };
