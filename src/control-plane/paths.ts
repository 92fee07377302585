/**
 * Paths that are stored: base paths, route paths, paths of deny rules. Promises: one meaning for
 * us, for fetch and for an origin (RFC 3986 section 3.3 characters, no dot segment in any spelling,
 * no empty segment). Pure. Called by upstreams, routes, deny rules.
 */
import { pathCharsMax } from '../base/limits';
import { err, ok, type Result } from '../base/result';
import { pathFault } from '../domain/relay/path';

/** RFC 3986 `pchar`, and the slash. */
const pathChars = /^(?:\/(?:[A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})*)*$/;

/**
 * A base path: `''`, or starts with `/` and ends without one. The error is a message for the field.
 */
export function basePath(text: string): Result<string, string> {
  const path = text.replace(/\/$/, '');
  const fault = pathMessage(path);
  return fault === null ? ok(path) : err(fault);
}

/**
 * A path prefix: starts with `/`, ends without one unless it is all there is. The error is a
 * message for the field.
 */
export function prefixPath(text: string): Result<string, string> {
  if (!text.startsWith('/')) return err('must start with /');
  const path = basePath(text);
  if (!path.ok) return path;
  return ok(path.value === '' ? '/' : path.value);
}

function pathMessage(path: string): string | null {
  if (path.length > pathCharsMax) return `may have at most ${pathCharsMax} characters`;
  if (path !== '' && !path.startsWith('/')) return 'must be empty or start with /';
  const fault = pathFault(path);
  if (fault === 'dot_segment') return 'may not contain . or .. segments, raw or percent-encoded';
  if (fault === 'backslash') return 'may not contain a backslash, raw or percent-encoded';
  if (path.includes('//') || path.endsWith('/')) return 'may not contain an empty segment';
  if (!pathChars.test(path)) return 'may hold path characters only; percent-encode the others';
  return null;
}
