/**
 * The hand-made path: the wire work of an unmetered call, written by hand for one tenant that is known beforehand: header scan and strip,
 * key look-up, deny loop, credential, no edge cache, answer scan, copy, four headers, call rows in batches. A comparison and never a bar:
 * it has no tenancy, no custody, no limits, and a client that leaves leaves no row.
 */
interface HandmadeBindings {
  readonly ORIGIN: string;
  readonly CREDENTIAL: string;
  readonly KEY: string;
  readonly DB: D1Database;
}

type Cell = string | number | null;

const surface = '/call/origin';
const hop = new Set([
  'cf-connecting-ip',
  'connection',
  'forwarded',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'via',
  'x-real-ip',
]);
const denied = ['/admin', '/internal'];
const columns =
  'id, tenant_id, key_id, principal_id, upstream_id, surface, method, host, path, outcome, status, code, blame, started_at, latency_ms, request_bytes, response_bytes, evidence';
const insert = `insert or ignore into calls (${columns}) select ${columns
  .split(', ')
  .map((_, i) => `value->>${i}`)
  .join(', ')} from json_each(?)`;
const rowsMax = 256;
const some = '01KBABCDEFGHJKMNPQRSTVWXYZ';

const keys = new Map<string, { readonly id: string }>();
let rows: Cell[][] = [];
let made = 0;

const isOurs = (name: string): boolean =>
  hop.has(name) || name.startsWith('cf-') || name.startsWith('x-weir-');

export default {
  async fetch(
    request: Request,
    bindings: HandmadeBindings,
    context: ExecutionContext,
  ): Promise<Response> {
    const startedAt = Date.now();
    const { url } = request;
    const target = url.slice(url.indexOf('/', url.indexOf('://') + 3));
    const mark = target.indexOf('?');
    const path = target.slice(surface.length, mark < 0 ? undefined : mark);
    const headers = new Headers(request.headers);
    let token = '';
    let accepts = false;
    for (const [name, value] of headers) {
      if (name === 'x-weir-key') token = value;
      else if (name === 'accept-encoding') accepts = true;
      if (isOurs(name)) headers.delete(name);
    }
    if (keys.size === 0) keys.set(bindings.KEY, { id: `key_${some}` });
    const key = keys.get(token);
    if (key === undefined) return new Response(null, { status: 401 });
    if (denied.some((prefix) => path.startsWith(prefix)))
      return new Response(null, { status: 403 });
    if (!accepts) headers.set('accept-encoding', 'identity');
    headers.set('authorization', bindings.CREDENTIAL);
    const answer = await fetch(
      `http://${bindings.ORIGIN}${path}${mark < 0 ? '' : target.slice(mark)}`,
      {
        method: request.method,
        headers,
        body: request.body,
        redirect: 'manual',
        encodeResponseBody: 'manual',
        cf: { cacheTtl: -1 },
      } as RequestInit,
    );
    const out = new Response(answer.body, answer);
    let text = answer.statusText;
    const dropped: string[] = [];
    for (const [name, value] of out.headers) {
      if (isOurs(name)) dropped.push(name);
      text += `\n${value}`;
    }
    for (const name of dropped) out.headers.delete(name);
    if (text.includes(bindings.CREDENTIAL.slice('Bearer '.length)) || /[%\\&]/.test(text))
      return new Response(null, { status: 502 });
    made += 1;
    const id = `call_01KB${(startedAt + made).toString(36).toUpperCase()}XXXXXXXXXX`;
    out.headers.set('x-weir-call-id', id);
    out.headers.set('x-weir-error-source', 'upstream');
    out.headers.set('x-content-type-options', 'nosniff');
    out.headers.append('content-security-policy', 'sandbox');
    rows.push([
      id,
      `ten_${some}`,
      key.id,
      `prn_${some}`,
      `ups_${some}`,
      'call',
      request.method,
      bindings.ORIGIN,
      path,
      'answered',
      answer.status,
      null,
      null,
      startedAt,
      Date.now() - startedAt,
      null,
      null,
      null,
    ]);
    if (rows.length >= rowsMax) {
      const batch = JSON.stringify(rows);
      rows = [];
      context.waitUntil(bindings.DB.prepare(insert).bind(batch).run());
    }
    return out;
  },
};
