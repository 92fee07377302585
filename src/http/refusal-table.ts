/**
 * The one place with statuses: every refusal's status, title, blame and next step; those of the catalog and of money are beside it.
 * Promises: exhaustive (the compiler checks it); texts never contain a secret, a stack, a hidden name or a value that was not sent.
 * Called by `problem.ts`, the call log and docs/failure-modes.md's generator.
 */
import { bodyExpansionMax } from '../base/limits';
import type { BodyFault, FramingFault, Refusal, RefusalCode } from '../domain/refusal';
import type { Blame } from '../ports/evidence';
import { capacityRefusals } from './capacity-refusals';
import { catalogRefusals } from './catalog-refusals';
import { moneyRefusals } from './money-refusals';
import { type RefusalRows, retryAfterS } from './refusal-row';

const urlFaults: Record<Extract<Refusal, { code: 'request.url_invalid' }>['reason'], string> = {
  scheme: 'only https:// targets can be called',
  userinfo:
    'user names and passwords in a URL are not relayed; register the credential as a secret',
  backslash: 'a backslash is not part of a URL',
  host: 'the host is not a valid host name',
  numeric_host: 'write an IP address in its canonical form',
  private_address: 'the address is not publicly routable',
  reserved_name: 'the name is reserved for private use',
  port: 'the port must be 1 to 65535',
  whitespace: 'the URL contains white space or control characters',
};

const framingFaults: Record<FramingFault, string> = {
  transfer_encoding: 'Only Transfer-Encoding: chunked is accepted.',
  content_length: 'Send one Content-Length with a non-negative integer.',
  chunked_get: 'Send the body of a GET or HEAD with a Content-Length.',
};

const bodyFaults: Record<BodyFault, string> = {
  unknown: 'X-Weir-Body-Encoding is base64, gzip or base64+gzip.',
  base64: 'The body is no base64, or was cut. Encode the whole of it.',
  gzip: 'The body is no gzip, or was cut. Compress the whole of it.',
  expansion: `A body may be ${bodyExpansionMax} times larger when it is decoded. Send it plain.`,
};

const jsonFaults: Record<Extract<Refusal, { code: 'binding.body_invalid' }>['reason'], string> = {
  empty: 'send a JSON object as the body',
  not_utf8: 'the body is not valid UTF-8',
  bom: 'remove the byte order mark',
  syntax: 'the body is not valid JSON',
  duplicate_key: 'an object names a member twice',
  too_deep: 'the body is nested too deeply',
  not_object: 'the body must be a JSON object',
  encoded: 'send the body without a Content-Encoding',
  method: 'GET and HEAD carry no JSON body; use another method',
};

const bodyReasons: Record<Extract<Refusal, { code: 'payload.too_large' }>['what'], string> = {
  body: 'A body',
  management_body: 'A body',
  json_binding_body: 'This upstream gets a credential in its JSON body, so a body',
  keyed_body: 'With an Idempotency-Key on a platform account, a body',
  metered_body: 'The price of this call is read from its body, so a body',
};

const authFaults: Record<Extract<Refusal, { code: 'auth.failed' }>['reason'], string> = {
  missing: 'No Weir key was sent. Put it in X-Weir-Key, or where the SDK puts its API key.',
  malformed: 'The Weir key is not valid.',
  unknown: 'The Weir key is not valid.',
  expired: 'The Weir key has expired. Ask for a new one.',
  revoked: 'The Weir key was revoked. Ask for a new one.',
  secret_denied: 'The upstream needs a secret that its tenant may not use.',
};

/** Every refusal there is. */
export const refusalTable: RefusalRows<RefusalCode> = {
  'validation.error': {
    status: 400,
    title: 'The request is not valid',
    blame: 'caller',
    detail: (r) =>
      r.issues.map((i) => (i.path === '' ? i.message : `${i.path}: ${i.message}`)).join('; '),
    members: (r) => ({ errors: r.issues }),
  },
  'request.header_invalid': {
    status: 400,
    title: 'A header value is not allowed',
    blame: 'caller',
    detail: () => 'A header value contains a control character. Remove it.',
    members: (r) => ({ header: r.header }),
  },
  'request.framing_invalid': {
    status: 400,
    title: 'The body framing is not valid',
    blame: 'caller',
    detail: (r) => framingFaults[r.reason],
    members: (r) => ({ reason: r.reason }),
  },
  'request.path_invalid': {
    status: 400,
    title: 'The path is not allowed',
    blame: 'caller',
    detail: () =>
      'The path may not contain . or .. segments or backslashes, raw or percent-encoded.',
    members: (r) => ({ reason: r.reason }),
  },
  'request.url_invalid': {
    status: 400,
    title: 'The target URL is not allowed',
    blame: 'caller',
    detail: (r) => `The target URL is refused: ${urlFaults[r.reason]}.`,
    members: (r) => ({ reason: r.reason }),
  },
  'request.url_too_long': {
    status: 414,
    title: 'The URL is too long',
    blame: 'caller',
    detail: (r) => `A request target may have ${r.bytesMax} bytes.`,
    members: (r) => ({ bytes_max: r.bytesMax }),
  },
  'request.headers_too_large': {
    status: 431,
    title: 'The request headers are too large',
    blame: 'caller',
    detail: (r) =>
      r.limit === 'count'
        ? `Send at most ${r.max} headers.`
        : `Send at most ${r.max} bytes of headers.`,
    members: (r) => ({ limit: r.limit, max: r.max }),
  },
  'request.path_unknown': {
    status: 404,
    title: 'Nothing is at this path',
    blame: 'caller',
    detail: () =>
      'Weir answers at /call/, /catalog/call/ and /proxy/ for calls, and at /api/v1/ for management, which GET /openapi.json lists. Check the base URL.',
  },
  'request.method_not_allowed': {
    status: 405,
    title: 'The method is not allowed here',
    blame: 'caller',
    detail: (r) => `Use ${r.allowed.join(', ')}.`,
    members: (r) => ({ allowed: r.allowed }),
  },
  'payload.too_large': {
    status: 413,
    title: 'The body is too large',
    blame: 'caller',
    detail: (r) => `${bodyReasons[r.what]} may have ${r.bytesMax} bytes.`,
    members: (r) => ({ bytes_max: r.bytesMax }),
  },
  'request.body_incomplete': {
    status: 400,
    title: 'The body ended before it was complete',
    blame: 'caller',
    detail: () =>
      'The connection broke or stalled in the middle of the body. Send the request again.',
  },
  'request.body_encoding_invalid': {
    status: 400,
    title: 'The body cannot be decoded',
    blame: 'caller',
    detail: (r) => bodyFaults[r.reason],
    members: (r) => ({ reason: r.reason }),
  },
  'auth.failed': {
    status: 401,
    title: 'Authentication failed',
    blame: 'caller',
    detail: (r) => authFaults[r.reason],
  },
  'auth.key_conflict': {
    status: 400,
    title: 'Two different Weir keys were sent',
    blame: 'caller',
    detail: () =>
      'Send one Weir key. The same key may stand in several places, two different ones may not.',
  },
  'authz.forbidden': {
    status: 403,
    title: 'The key does not allow this',
    blame: 'caller',
    detail: (r) => `The key needs: ${r.needs}.`,
    members: (r) => ({ needs: r.needs }),
  },
  'authz.upstream_forbidden': {
    status: 403,
    title: 'The key may not call this upstream',
    blame: 'caller',
    detail: (r) => `The key may not call ${r.named}. Ask for access to its upstream.`,
    members: (r) => ({ named: r.named }),
  },
  'authz.denied': {
    status: 403,
    title: 'A deny rule forbids this call',
    blame: 'caller',
    detail: (r) =>
      `Deny rule ${r.rule} forbids this call for every role. Change the rule or the request.`,
    members: (r) => ({ rule: r.rule }),
  },
  'routing.not_found': {
    status: 404,
    title: 'No such upstream',
    blame: 'caller',
    detail: () =>
      'No upstream of yours has this name, alias or URL. Register it, or check the spelling.',
  },
  'routing.ambiguous': {
    status: 409,
    title: 'Several upstreams match this URL',
    blame: 'caller',
    detail: (r) => `Call one of them by name: ${r.names.map((n) => `/call/${n}/…`).join(', ')}.`,
    members: (r) => ({ names: r.names }),
  },
  'routing.upstream_disabled': {
    status: 503,
    title: 'The upstream is disabled',
    blame: 'gateway',
    detail: () => 'The upstream is switched off. Enable it, or use another.',
  },
  'routing.missing_target_host': {
    status: 400,
    title: 'X-Weir-Target-Host is missing',
    blame: 'caller',
    detail: (r) =>
      `This upstream serves several hosts. Name one in X-Weir-Target-Host: ${r.hosts.join(', ')}.`,
    members: (r) => ({ hosts: r.hosts }),
  },
  'routing.invalid_target_host': {
    status: 400,
    title: 'X-Weir-Target-Host is not a host',
    blame: 'caller',
    detail: () => 'Send a host name, or host:port, without scheme or path.',
  },
  'routing.unknown_target_host': {
    status: 400,
    title: 'X-Weir-Target-Host names no endpoint of this upstream',
    blame: 'caller',
    detail: () => 'The host is not in the pool of this upstream.',
  },
  'route.not_found': {
    status: 404,
    title: 'No route of the upstream matches',
    blame: 'caller',
    detail: () => 'The upstream allows only its routes; none matches this method and path.',
  },
  'guard.query_not_allowed': {
    status: 400,
    title: 'A query parameter is not allowed on this route',
    blame: 'caller',
    detail: () => 'The route has a list of allowed query parameters. Remove the others.',
    members: (r) => ({ names: r.names }),
  },
  ...capacityRefusals,
  ...catalogRefusals,
  ...moneyRefusals,
  'secret.not_found': {
    status: 500,
    title: 'A secret of the upstream cannot be opened',
    blame: 'gateway',
    detail: () =>
      'The secret that the upstream is bound to is missing or cannot be opened. Store it again.',
  },
  'credential.unavailable': {
    status: 502,
    title: 'The credential cannot be injected',
    blame: 'gateway',
    detail: (r) =>
      r.reason === 'platform_setting'
        ? 'This gateway has no value for a platform setting that the upstream needs.'
        : 'The stored secret does not fit its binding. Store it again in the form that the binding expects.',
  },
  'binding.body_invalid': {
    status: 400,
    title: 'The body cannot take the credential',
    blame: 'caller',
    detail: (r) => `This upstream gets a credential in its JSON body: ${jsonFaults[r.reason]}.`,
    members: (r) => ({ reason: r.reason }),
  },
  'egress.blocked': {
    status: 502,
    title: 'The host does not resolve to a public address',
    blame: 'upstream',
    detail: (r) => `${r.host} has an address that is not publicly routable; nothing was sent.`,
    members: (r) => ({ host: r.host }),
  },
  'egress.unresolved': {
    status: 502,
    title: 'The host cannot be resolved',
    blame: 'upstream',
    detail: (r) => `No usable address was found for ${r.host}; nothing was sent.`,
    members: (r) => ({ host: r.host }),
  },
  'downstream.error': {
    status: 502,
    title: 'The upstream did not answer',
    blame: 'connection',
    detail: (r) =>
      `The connection to ${r.host} failed before an answer came. It may have received the request.`,
    members: (r) => ({ host: r.host }),
  },
  'timeout.request': {
    status: 504,
    title: 'The upstream did not answer in time',
    blame: 'upstream',
    detail: (r) =>
      `No answer began within ${r.timeoutMs} ms. The upstream may still be working on the request.`,
    members: (r) => ({ timeout_ms: r.timeoutMs }),
  },
  'response.redacted': {
    status: 502,
    title: 'The error body was withheld',
    blame: 'upstream',
    detail: (r) =>
      `The upstream answered ${r.upstreamStatus}; its body could not be shown without risk to a credential.`,
    members: (r) => ({ upstream_status: r.upstreamStatus }),
  },
  'config.unavailable': {
    status: 503,
    title: 'The configuration store does not answer',
    blame: 'gateway',
    detail: () => 'Nothing was sent. Try again.',
    retryAfterS,
  },
  'state.unavailable': {
    status: 503,
    title: 'A part of the gateway does not answer',
    blame: 'gateway',
    detail: (r) =>
      `The objects that keep the state of ${r.what} did not answer; nothing was changed. Calls go on meanwhile. Try again.`,
    members: (r) => ({ what: r.what }),
    retryAfterS,
  },
  'resource.not_found': {
    status: 404,
    title: 'No such resource',
    blame: 'caller',
    detail: () => 'No resource of your tenant has this id.',
  },
  'resource.conflict': {
    status: 409,
    title: 'The resource conflicts with another',
    blame: 'caller',
    detail: (r) => `Another resource of this tenant stands in the way: ${r.field}.`,
    members: (r) => ({ field: r.field }),
  },
  'internal.error': {
    status: 500,
    title: 'Weir failed',
    blame: 'gateway',
    detail: () => 'A fault in the gateway; the call id finds it in the log.',
  },
};

/** The row of a refusal. */
export function rowOf(refusal: Refusal): { status: number; title: string; blame: Blame } {
  return refusalTable[refusal.code];
}
