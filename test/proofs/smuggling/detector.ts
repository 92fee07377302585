/**
 * Reads what reached an origin as strictly as RFC 9112 allows and names everything that a smuggler could use.
 * Promises: written from the RFC, not from the gateway; every byte belongs to exactly one request or is a defect.
 * Called by the smuggling proof, first on planted defects, then on every payload.
 */

/** Something at the origin that must not be there. */
export interface Defect {
  readonly kind:
    | 'second request'
    | 'stray bytes'
    | 'request line'
    | 'header line'
    | 'control byte'
    | 'length and chunked'
    | 'transfer coding'
    | 'content length'
    | 'chunk framing'
    | 'dropped header'
    | 'mangled name'
    | 'second credential';
  readonly detail: string;
  /** Target of the request that it belongs to or stands behind; empty at the start of a connection. */
  readonly owner: string;
}

type Found = Omit<Defect, 'owner'>;

/** What one connection carried. */
export interface StrictReading {
  readonly targets: readonly string[];
  readonly defects: readonly Defect[];
}

/** What the reader needs to know of the run. */
export interface Wanted {
  /** How every relayed path starts; any other is a hidden request. Each path is sent once. */
  readonly marker: string;
  /** The injected header line's value: at most one per request. */
  readonly credential: string;
}

/** RFC 9110 7.6.1, the gateway's own and the edge's (docs/relay-contract.md): none of them may arrive. */
const droppedNames = [
  'connection',
  'keep-alive',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'upgrade',
  'via',
  'forwarded',
  'x-real-ip',
  'true-client-ip',
  'cdn-loop',
];
const droppedPrefixes = ['x-weir-', 'x-forwarded-', 'cf-'];
const framingNames = ['transfer-encoding', 'content-length', 'host'];

interface Cursor {
  readonly bytes: Buffer;
  at: number;
}

/** Reads one connection's bytes. A request that is cut at the end is one request; the connection was closed. */
export function readStrictly(bytes: Buffer, wanted: Wanted): StrictReading {
  const cursor: Cursor = { bytes, at: 0 };
  const targets: string[] = [];
  const defects: Defect[] = [];
  while (cursor.at < bytes.length) {
    const start = cursor.at;
    const head = takeHead(cursor);
    if (head === null) {
      const detail = shown(bytes.subarray(start));
      defects.push({ kind: 'stray bytes', detail, owner: targets.at(-1) ?? '' });
      break;
    }
    const { target, found } = readHead(head, wanted);
    if (!takeBody(cursor, head.split('\r\n')))
      found.push({ kind: 'chunk framing', detail: quote(head) });
    const carried = bytes.toString('latin1', start, cursor.at).split(wanted.credential).length - 1;
    if (carried > 1) found.push({ kind: 'second credential', detail: `${carried} in one request` });
    if (target !== null && targets.includes(target))
      found.push({ kind: 'second request', detail: quote(target) });
    if (target !== null) targets.push(target);
    const owner = targets.at(-1) ?? '';
    defects.push(...found.map((defect) => ({ ...defect, owner })));
  }
  return { targets, defects };
}

function readHead(head: string, wanted: Wanted): { target: string | null; found: Found[] } {
  const [requestLine = '', ...lines] = head.split('\r\n');
  const target = targetOf(requestLine);
  const found = [...lines.flatMap(lineDefects), ...framingDefects(lines)];
  if (target === null) found.push({ kind: 'request line', detail: quote(requestLine) });
  else if (!target.startsWith(wanted.marker))
    found.push({ kind: 'second request', detail: quote(requestLine) });
  return { target, found };
}

function takeHead(cursor: Cursor): string | null {
  const end = cursor.bytes.indexOf('\r\n\r\n', cursor.at);
  if (end < 0) return null;
  const head = cursor.bytes.toString('latin1', cursor.at, end);
  cursor.at = end + 4;
  return head;
}

const targetOf = (line: string): string | null =>
  /^[A-Z]+ (\/[\x21-\x7e]*) HTTP\/1\.1$/.exec(line)?.[1] ?? null;

/** One header line: a token, a colon, a value without control bytes (RFC 9112 5.1, RFC 9110 5.5). */
function lineDefects(line: string): Found[] {
  const defects: Found[] = [];
  if (/[\x00-\x08\x0a-\x1f\x7f]/.test(line))
    defects.push({ kind: 'control byte', detail: quote(line) });
  const name = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):/.exec(line)?.[1];
  if (name === undefined) return [...defects, { kind: 'header line', detail: quote(line) }];
  const lower = name.toLowerCase();
  if (isDropped(lower)) defects.push({ kind: 'dropped header', detail: quote(line) });
  const squeezed = lower.replaceAll('_', '-').replace(/[^a-z0-9-]/g, '');
  const disguised = squeezed !== lower && (isDropped(squeezed) || framingNames.includes(squeezed));
  if (disguised) defects.push({ kind: 'mangled name', detail: quote(line) });
  return defects;
}

const isDropped = (name: string): boolean =>
  droppedNames.includes(name) || droppedPrefixes.some((prefix) => name.startsWith(prefix));

/** Exactly one way to know the length (RFC 9112 6.1, 6.3). */
function framingDefects(lines: readonly string[]): Found[] {
  const lengths = valuesOf(lines, 'content-length');
  const codings = valuesOf(lines, 'transfer-encoding');
  const defects: Found[] = [];
  if (lengths.length > 0 && codings.length > 0)
    defects.push({
      kind: 'length and chunked',
      detail: quote([...lengths, ...codings].join('; ')),
    });
  if (codings.length > 1 || codings.some((coding) => coding !== 'chunked'))
    defects.push({ kind: 'transfer coding', detail: quote(codings.join('; ')) });
  if (lengths.length > 1 || lengths.some((length) => !/^(?:0|[1-9]\d*)$/.test(length)))
    defects.push({ kind: 'content length', detail: quote(lengths.join('; ')) });
  return defects;
}

const valuesOf = (lines: readonly string[], name: string): string[] =>
  lines
    .filter((line) => line.toLowerCase().startsWith(`${name}:`))
    .map((line) => line.slice(name.length + 1).replace(/^[ \t]+|[ \t]+$/g, ''));

/** Moves behind the body; false when chunked framing is broken. */
function takeBody(cursor: Cursor, lines: readonly string[]): boolean {
  if (valuesOf(lines, 'transfer-encoding').length > 0) return takeChunks(cursor);
  const declared = valuesOf(lines, 'content-length')[0] ?? '0';
  const length = /^\d{1,15}$/.test(declared) ? Number(declared) : 0;
  cursor.at = Math.min(cursor.bytes.length, cursor.at + length);
  return true;
}

function takeChunks(cursor: Cursor): boolean {
  const { bytes } = cursor;
  for (;;) {
    const end = bytes.indexOf('\r\n', cursor.at);
    // Cut inside the framing: the connection was closed, nothing behind it can be read as a request.
    if (end < 0) return finish(cursor);
    const size = bytes.toString('latin1', cursor.at, end);
    if (!/^[0-9a-fA-F]{1,8}$/.test(size)) return false;
    const length = Number.parseInt(size, 16);
    const next = end + 2 + length + 2;
    if (next > bytes.length) return finish(cursor);
    if (bytes.toString('latin1', next - 2, next) !== '\r\n') return false;
    cursor.at = next;
    if (length === 0) return true;
  }
}

function finish(cursor: Cursor): true {
  cursor.at = cursor.bytes.length;
  return true;
}

const quote = (text: string): string => JSON.stringify(text.slice(0, 120));
const shown = (bytes: Buffer): string => quote(bytes.toString('latin1'));
