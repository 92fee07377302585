/**
 * One pass over the request headers: what must not reach the upstream, what carries our key, what later stages ask for.
 * Promises: every header is looked at once; the first fault wins; a header that
 * is rewritten never loses a byte that JavaScript cannot see. Pure. Called by stage 01.
 */
import { headerBytesMax, headerCountMax } from '../../base/limits';
import { err, ok, type Result } from '../../base/result';
import { utf8Bytes } from '../../base/utf8';
import { idempotencyKey, weirHeaders } from '../../http/header-names';
import type { Refusal } from '../refusal';
import { mayCarry, readCarrier } from '../tenancy/carriers';
import { mentionsOwnCookie, withoutOwnCookies } from './cookies';
import { dropsFromRequest, nominated } from './header-policy';

/** What the pass found; names are lower-case. */
export interface HeaderScan {
  /** Headers that must not reach the upstream. */
  readonly drop: readonly string[];
  /** Headers that lose a token or a cookie but keep the rest. */
  readonly rewrite: readonly (readonly [name: string, value: string])[];
  /** Weir keys, in the order of their headers. */
  readonly tokens: readonly string[];
  readonly targetHost: string | null;
  readonly upgrade: boolean;
  readonly acceptEncoding: string | null;
  readonly contentEncoding: boolean;
  readonly contentLength: string | null;
  readonly transferEncoding: string | null;
  /** How the caller has encoded its body for the way to us; `null`: not at all. */
  readonly bodyEncoding: string | null;
  /** The caller's Idempotency-Key; relayed as it came, except on tier 4. */
  readonly idempotencyKey: string | null;
  readonly meta: string | null;
  readonly maxCostMicro: string | null;
  /** The caller wants the vendor's charge left in the answer. */
  readonly keepsReportedCharge: boolean;
}

const controlBytes = /[\x00-\x08\x0a-\x1f\x7f]/;
/** What JavaScript sees in place of a byte that is not UTF-8: a rewritten header would send it instead of the byte. */
const replacement = '\ufffd';

/** How a switch in a header is turned off. */
const saysNo = /^(?:|0|false|no|off)$/i;

/** Scans the headers of a request. Refuses: request.headers_too_large, request.header_invalid. */
export function scanHeaders(
  { headers, method }: Pick<Request, 'headers' | 'method'>,
  clientIp: ReadonlySet<string>,
): Result<HeaderScan, Refusal> {
  const scanner = new Scanner(method, clientIp);
  for (const [name, value] of headers) scanner.see(name, value);
  return scanner.found(headers);
}

/** A byte that is no UTF-8 shows as one replacement, and is one byte. */
function bytesOf(headers: Headers): number {
  let bytes = 0;
  for (const [name, value] of headers)
    bytes += name.length + utf8Bytes(value.replaceAll(replacement, '?'));
  return bytes;
}

class Scanner implements HeaderScan {
  readonly drop: string[] = [];
  readonly rewrite: [string, string][] = [];
  readonly tokens: string[] = [];
  targetHost: string | null = null;
  upgrade = false;
  acceptEncoding: string | null = null;
  contentEncoding = false;
  contentLength: string | null = null;
  transferEncoding: string | null = null;
  bodyEncoding: string | null = null;
  idempotencyKey: string | null = null;
  meta: string | null = null;
  maxCostMicro: string | null = null;
  keepsReportedCharge = false;
  #fault: Refusal | null = null;
  #nominated: string | null = null;
  #chars = 0;
  #count = 0;
  readonly #method: string;
  readonly #clientIp: ReadonlySet<string>;

  constructor(method: string, clientIp: ReadonlySet<string>) {
    this.#method = method;
    this.#clientIp = clientIp;
  }

  see(name: string, value: string): void {
    this.#count += 1;
    this.#chars += name.length + value.length;
    // The one thing that the runtime's parser lets through and an origin may read as a new line or field.
    if (controlBytes.test(value)) this.#refuse({ code: 'request.header_invalid', header: name });
    if (mayCarry(name, value) && this.#takeTokens(name, value)) return;
    this.#note(name, value);
    if (dropsFromRequest(name, this.#clientIp) && !(this.upgrade && name === 'upgrade')) {
      this.drop.push(name);
    }
  }

  found(headers: Headers): Result<HeaderScan, Refusal> {
    if (this.#count > headerCountMax)
      return err({ code: 'request.headers_too_large', limit: 'count', max: headerCountMax });
    if (this.#isTooLarge(headers))
      return err({ code: 'request.headers_too_large', limit: 'bytes', max: headerBytesMax });
    if (this.#fault !== null) return err(this.#fault);
    if (this.#nominated !== null) this.#dropNominated(this.#nominated);
    return ok(this);
  }

  /** No character takes more than three bytes: the bytes of most requests need not be counted. */
  #isTooLarge(headers: Headers): boolean {
    if (this.#chars > headerBytesMax) return true;
    return 3 * this.#chars > headerBytesMax && bytesOf(headers) > headerBytesMax;
  }

  #refuse(fault: Refusal): void {
    this.#fault ??= fault;
  }

  #takeTokens(name: string, value: string): boolean {
    const carried = readCarrier(name, value);
    if (carried === null) return false;
    this.tokens.push(...carried.tokens);
    const isGone = carried.rest === null || dropsFromRequest(name, this.#clientIp);
    this.#keep(name, isGone ? null : carried.rest);
    return true;
  }

  #note(name: string, value: string): void {
    switch (name) {
      case 'upgrade':
        // fetch opens a WebSocket with GET (RFC 6455 4.1) whatever the method was, which a route or a deny rule had judged.
        this.upgrade = this.#method === 'GET' && value.toLowerCase() === 'websocket';
        break;
      case 'accept-encoding':
        this.acceptEncoding = value;
        break;
      case 'content-encoding':
        this.contentEncoding = true;
        break;
      case 'content-length':
        this.contentLength = value;
        break;
      case 'transfer-encoding':
        this.transferEncoding = value;
        break;
      case 'connection':
        this.#nominated = value;
        break;
      case 'cookie':
        if (mentionsOwnCookie(value)) this.#scrubCookie(value);
        break;
      case idempotencyKey:
        this.idempotencyKey = value;
        break;
      case weirHeaders.targetHost:
        this.targetHost = value;
        break;
      case weirHeaders.bodyEncoding:
        this.bodyEncoding = value;
        // The length is that of the encoded body.
        this.drop.push('content-length');
        break;
      case weirHeaders.meta:
        this.meta = value;
        break;
      case weirHeaders.maxCostMicro:
        this.maxCostMicro = value;
        break;
      case weirHeaders.keepReportedCharge:
        this.keepsReportedCharge = !saysNo.test(value);
        break;
    }
  }

  #scrubCookie(value: string): void {
    const kept = withoutOwnCookies(value);
    if (kept !== value) this.#keep('cookie', kept);
  }

  /** What is left of a header that had something of ours in it. */
  #keep(name: string, rest: string | null): void {
    if (rest === null) this.drop.push(name);
    else if (rest.includes(replacement))
      this.#refuse({ code: 'request.header_invalid', header: name });
    else this.rewrite.push([name, rest]);
  }

  #dropNominated(connection: string): void {
    for (const name of nominated(connection)) {
      this.drop.push(name);
      if (name === 'accept-encoding') this.acceptEncoding = null;
    }
  }
}
