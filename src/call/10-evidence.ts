/**
 * 10 evidence: no injected credential leaves in the body of an answer from 300 on (digest A5; a redirect's body repeats the URL with its
 * query); what an error said is kept, masked, for the call's row. Headers and reason are 11's.
 * Promises: an untouched answer keeps its native body; a masked body is identity-encoded with a fresh length; what cannot
 * be shown safely is replaced whole. Must never: read the body of a success, or one of a call that injected nothing. Called by run-call.
 */
import { errorBodyBytesMax, errorBodyDecodedBytesMax, errorBodyWaitMs } from '../base/limits';
import { err, type MaybePromise, ok, type Result } from '../base/result';
import { type MaskedSecret, maskText } from '../domain/credentials/masking';
import { shownAnswer } from '../domain/pricing/strip-charge';
import type { Refusal } from '../domain/refusal';
import { decodeContent } from '../domain/relay/content-coding';
import { type EvidencedCall, grow, type SettledCall } from './call';
import type { Hold } from './custody';
import { readAll } from './pump';

type BodyOutcome = Pick<EvidencedCall, 'body' | 'bodyHeaders' | 'evidence' | 'redacted'>;

/** Refuses: downstream.error, when an error body that must be read breaks before its end. */
export function evidence(
  call: SettledCall,
  hold: Pick<Hold, 'arm'>,
): MaybePromise<Result<EvidencedCall, Refusal>> {
  const { answer } = call;
  const body = call.bytes ?? answer.body;
  if (call.status < 300 && call.bytes !== null) return ok(grow(call, readAnswer(call, call.bytes)));
  if (call.status < 300 || call.credentials.masks.length === 0 || body === null)
    return ok(grow(call, { body, bodyHeaders: noEdits, evidence: null, redacted: false }));
  hold.arm();
  return judgeBody(call, call.credentials.masks).then((judged) =>
    judged === null
      ? err({ code: 'downstream.error', host: call.endpoint.host })
      : ok(grow(call, judged)),
  );
}

const noEdits: EvidencedCall['bodyHeaders'] = [];

/** A success that was read for its price: the vendor's charge may be cut out of it, after it was settled (digest A5). */
function readAnswer(
  { catalog, answer, headers }: SettledCall,
  bytes: Uint8Array,
): Omit<BodyOutcome, 'body'> & { body: Uint8Array } {
  const isPlain = answer.headers.get('content-encoding') === null;
  const body =
    isPlain && catalog !== null
      ? shownAnswer(bytes, catalog.entry.endpoint, headers.keepsReportedCharge)
      : bytes;
  const bodyHeaders = body === bytes ? noEdits : maskedBodyHeaders(body);
  return { body, bodyHeaders, evidence: null, redacted: false };
}

/** Reads, decodes, masks. `null`: the body broke. */
async function judgeBody(
  { answer, bytes: read }: SettledCall,
  masks: readonly MaskedSecret[],
): Promise<BodyOutcome | null> {
  if (answer.body === null) return withheld;
  const bytes = read ?? (await readAll(answer.body, errorBodyBytesMax, errorBodyWaitMs));
  if (bytes === 'broken') return null;
  if (bytes === 'too_large' || bytes === 'late') return withheld;
  const plain = decodeContent(
    bytes,
    answer.headers.get('content-encoding'),
    errorBodyDecodedBytesMax,
  );
  if (plain === null) return withheld;
  const { text, utf8 } = textOf(plain);
  const masking = maskText(text, masks);
  if (masking.kind === 'unsafe' || ((!utf8 || text.includes('\0')) && hiddenIn(plain, text, masks)))
    return withheld;
  if (masking.kind === 'unchanged') {
    return {
      body: bytes,
      evidence: text,
      redacted: false,
      bodyHeaders: noEdits,
    };
  }
  const masked = utf8
    ? new TextEncoder().encode(masking.text)
    : Uint8Array.from(masking.text, (c) => c.charCodeAt(0));
  return {
    body: masked,
    evidence: masking.text,
    redacted: false,
    bodyHeaders: maskedBodyHeaders(masked),
  };
}

const withheld: BodyOutcome = { body: null, evidence: null, redacted: true, bodyHeaders: noEdits };

/** A masked body has another length, no coding, and no digest that still fits. */
const maskedBodyHeaders = (body: Uint8Array): EvidencedCall['bodyHeaders'] => [
  ['content-encoding', null],
  ['content-length', String(body.byteLength)],
  ['content-md5', null],
  ['digest', null],
  ['content-digest', null],
  ['repr-digest', null],
  ['etag', null],
];

/** UTF-8 where it is, else one character per byte. */
function textOf(bytes: Uint8Array): { text: string; utf8: boolean } {
  try {
    return {
      text: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes),
      utf8: true,
    };
  } catch {
    return { text: new TextDecoder('latin1').decode(bytes), utf8: false };
  }
}

/** A body may show a secret in another encoding: lossy UTF-8, UTF-16, or letters between NULs (UTF-16 from an odd byte on, UTF-32). */
function hiddenIn(bytes: Uint8Array, text: string, masks: readonly MaskedSecret[]): boolean {
  const readings = ['utf-8', 'utf-16le', 'utf-16be'].map((label) =>
    new TextDecoder(label).decode(bytes),
  );
  return [...readings, text.replaceAll('\0', '')].some(
    (t) => t !== text && maskText(t, masks).kind !== 'unchanged',
  );
}
