/**
 * Judging a request path before a credential goes near it (decisions section 5, "path judgement").
 * Promises: a path that passes means the same to us, to fetch's URL parser and to an origin that decodes once. Pure.
 * The attack: `%2e%2e` and `\` are path operators to a WHATWG parser, so `/v1/x/%2e%2e/secret` would leave the base path with the key.
 * Called by stages 01, 03 and 04 and by the management API for base paths and route paths.
 */

const utf8 = new TextEncoder();

/** Why a path is refused; `null` when it may pass. `path` starts with `/` or is empty, without query. */
export function pathFault(path: string): 'dot_segment' | 'backslash' | null {
  if (!path.includes('.') && !path.includes('\\') && !path.includes('%')) return null;
  const decoded = path.includes('%') ? decodeOnce(path) : path;
  if (path.includes('\\') || decoded.includes('\\')) return 'backslash';
  for (const segment of decoded.split('/')) {
    // `..;x` climbs too: servlet containers take a segment's parameters (RFC 3986 3.3) off before they resolve it.
    const [name] = segment.split(';', 1);
    if (name === '.' || name === '..') return 'dot_segment';
  }
  return null;
}

/**
 * One percent-decoding as an origin would do it, in bytes: one character each. So one escape that is not UTF-8 changes nothing of how the
 * others read, and a character that came raw reads as its escapes do; invalid escapes stay as they are.
 */
function decodeOnce(path: string): string {
  return path.replace(/%([0-9a-fA-F]{2})|[^\x00-\x7f]+/g, (text, hex?: string) =>
    hex === undefined
      ? String.fromCharCode(...utf8.encode(text))
      : String.fromCharCode(Number.parseInt(hex, 16)),
  );
}

/** The decoded path with runs of slashes merged: the second form that prefixes and deny rules are judged on. To be compared, never sent. */
export const mergedPath = (path: string): string => merged(decodeOnce(path));

const merged = (path: string): string => path.replace(/\/{2,}/g, '/');

const withoutParameters = (path: string): string => path.replace(/;[^/]*/g, '');

/**
 * What an origin may read in a path: it decoded and merged, and the same without the parameters of its segments (`/a;v=1/b` is `/a/b`),
 * which servlet containers take off before they decode (`/a;%2F/b` is `/a/b`) and others afterwards.
 */
export function readings(path: string): readonly string[] {
  const plain = mergedPath(path);
  if (!plain.includes(';')) return [plain];
  const bare = mergedPath(withoutParameters(path));
  return [plain, bare, merged(withoutParameters(plain)), merged(withoutParameters(bare))];
}

/** Whether `prefix` (`''` or `/a/b`) covers `path` at a segment boundary: `/v1` covers `/v1` and `/v1/x`, never `/v10`. */
export function covers(prefix: string, path: string): boolean {
  const bare = prefix.endsWith('/') ? prefix.slice(0, -1) : prefix;
  if (!path.startsWith(bare)) return false;
  return path.length === bare.length || path.charCodeAt(bare.length) === 47;
}
