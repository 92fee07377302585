/**
 * Which request and answer headers do not pass (digest A3, B5; docs/relay-contract.md rows of the same names).
 * Promises: a name is dropped only by a line here; everything else is relayed as it came. Pure. Called by `header-scan.ts` and
 * `answer-headers.ts`; the management API refuses rules that name them.
 */
import { weirPrefix } from '../../http/header-names';

/** RFC 9110 7.6.1 hop-by-hop fields, and the proxy fields that are addressed to us. */
const hopByHop = [
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
];

/** What edges, tunnels and load balancers add: a vendor behind the same edge refuses a call that carries them. */
const edge = [
  'x-real-ip',
  'forwarded',
  'via',
  'true-client-ip',
  'cdn-loop',
  'x-client-ip',
  'x-cluster-client-ip',
  'fastly-client-ip',
  'fly-client-ip',
];

const dropped: ReadonlySet<string> = new Set([...hopByHop, ...edge]);
const droppedFromAnswer: ReadonlySet<string> = new Set(hopByHop);

/** Whether a request header (lower-case) must not reach the upstream. `clientIp` are the deployment's own client-IP headers. */
export function dropsFromRequest(name: string, clientIp: ReadonlySet<string>): boolean {
  if (dropped.has(name) || clientIp.has(name)) return true;
  switch (name.charCodeAt(0)) {
    case 99: // c
      return name.startsWith('cf-');
    case 110: // n
      return name.startsWith('ngrok-');
    case 120: // x
      return name.startsWith(weirPrefix) || name.startsWith('x-forwarded-');
    default:
      return false;
  }
}

/** Whether an answer header (lower-case) must not reach the caller: hop-by-hop, or a forged header of ours. */
export function dropsFromAnswer(name: string): boolean {
  return droppedFromAnswer.has(name) || name.startsWith(weirPrefix);
}

const headerName = /^[!#$%&'*+.^_`|~0-9a-z-]+$/;
/** What a Connection says of the connection itself, and what is ours whatever it says: framing, host and the upgrade. */
const keptDespiteConnection: ReadonlySet<string> = new Set([
  'close',
  'keep-alive',
  'upgrade',
  'host',
  'content-length',
]);

const none: readonly string[] = [];

/** The headers (lower-case) that a Connection makes those of this hop alone, in both directions (RFC 9110 7.6.1). */
export function nominated(connection: string): readonly string[] {
  // All that most messages say.
  if (keptDespiteConnection.has(connection)) return none;
  return connection
    .toLowerCase()
    .split(',')
    .map((option) => option.trim())
    .filter((name) => headerName.test(name) && !keptDespiteConnection.has(name));
}

const untouchable: ReadonlySet<string> = new Set([...hopByHop, 'host', 'content-length', 'expect']);

/** Whether no binding, header rule or catalog file may touch a header (lower-case): framing and routing belong to the gateway. */
export const isUntouchable = (name: string): boolean =>
  untouchable.has(name) || name.startsWith(weirPrefix);
