/**
 * 10 evidence: no injected credential leaves in an answer: header values and reason on every status, bodies from 300 on (digest A5;
 * a redirect's body repeats the URL with its query).
 * Promises: an untouched answer keeps its native headers and body; a masked body is identity-encoded with a fresh length; what cannot
 * be shown safely is replaced whole. Must never: read the body of a success, or one of a call that injected nothing. Called by run-call.
 */
import {
  errorBodyBytesMax,
  errorBodyDecodedBytesMax,
  errorBodyWaitMs,
  evidenceBodyBytesMax,
} from '../base/limits';
import { err, type MaybePromise, ok, type Result } from '../base/result';
import { headerHit, type MaskedSecret, maskText, maskValue } from '../domain/credentials/masking';
import type { Refusal } from '../domain/refusal';
import { decodeContent } from '../domain/relay/content-coding';
import { mentionsOwnCookie, setsOwnCookie } from '../domain/relay/cookies';
import { dropsFromAnswer } from '../domain/relay/header-policy';
import { type AnsweredCall, type EvidencedCall, grow } from './call';
import type { Hold } from './custody';
import { readAll } from './pump';

type Edit = readonly [name: string, value: string | null];
type HeaderOutcome = Pick<EvidencedCall, 'headerEdits' | 'setCookies' | 'reason'>;
type BodyOutcome = Pick<EvidencedCall, 'body' | 'evidence' | 'redacted'> & {
  readonly edits: readonly Edit[];
};

/** Refuses: downstream.error, when an error body that must be read breaks before its end. */
export function evidence(
  call: AnsweredCall,
  hold: Pick<Hold, 'arm'>,
): MaybePromise<Result<EvidencedCall, Refusal>> {
  const { answer } = call;
  const headers = judgeHeaders(answer, call.credentials.masks);
  const { body } = answer;
  if (call.status < 300 || call.credentials.masks.length === 0 || body === null) {
    return ok(grow(call, { ...headers, body, evidence: null, redacted: false }));
  }
  hold.arm();
  return judgeBody(answer, call.credentials.masks).then((judged) => {
    if (judged === null) return err({ code: 'downstream.error', host: call.endpoint.host });
    const { edits, ...outcome } = judged;
    const headerEdits = [...headers.headerEdits, ...edits];
    return ok(grow(call, { ...headers, ...outcome, headerEdits }));
  });
}

const noEdits: readonly Edit[] = [];

/** One pass over the answer's headers and its reason phrase. `forEach` is the cheapest way through native headers. */
function judgeHeaders(
  { headers, statusText }: Response,
  masks: readonly MaskedSecret[],
): HeaderOutcome {
  let edits: Edit[] | null = null;
  let joined = statusText;
  let cookies = false;
  headers.forEach((value, name) => {
    if (dropsFromAnswer(name)) {
      edits ??= [];
      edits.push([name, null]);
      return;
    }
    joined += `\n${value}`;
    if (name === 'set-cookie' && mentionsOwnCookie(value)) cookies = true;
  });
  const hit = masks.length > 0 && headerHit(joined, masks);
  if (!hit && !cookies)
    return { headerEdits: edits ?? noEdits, setCookies: null, reason: statusText };
  return {
    ...rewriteHeaders(headers, [...headers], masks, edits ?? []),
    reason: maskValue(statusText, masks),
  };
}

function rewriteHeaders(
  headers: Headers,
  pairs: string[][],
  masks: readonly MaskedSecret[],
  edits: Edit[],
): Pick<EvidencedCall, 'headerEdits' | 'setCookies'> {
  for (const [name = '', value = ''] of pairs) {
    if (name === 'set-cookie' || dropsFromAnswer(name)) continue;
    const masked = maskValue(value, masks);
    if (masked !== value) edits.push([name, masked]);
  }
  const lines = headers.getSetCookie().filter((line) => !setsOwnCookie(line));
  return { headerEdits: edits, setCookies: lines.map((line) => maskValue(line, masks)) };
}

/** Reads, decodes, masks. `null`: the body broke. */
async function judgeBody(
  answer: Response,
  masks: readonly MaskedSecret[],
): Promise<BodyOutcome | null> {
  if (answer.body === null) return withheld;
  const bytes = await readAll(answer.body, errorBodyBytesMax, errorBodyWaitMs);
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
      evidence: text.slice(0, evidenceBodyBytesMax),
      redacted: false,
      edits: [],
    };
  }
  const masked = utf8
    ? new TextEncoder().encode(masking.text)
    : Uint8Array.from(masking.text, (c) => c.charCodeAt(0));
  return {
    body: masked,
    evidence: masking.text.slice(0, evidenceBodyBytesMax),
    redacted: false,
    edits: maskedBodyEdits(masked),
  };
}

const withheld: BodyOutcome = { body: null, evidence: null, redacted: true, edits: [] };

/** A masked body has another length, no coding, and no digest that still fits. */
const maskedBodyEdits = (body: Uint8Array): readonly Edit[] => [
  ['content-encoding', null],
  ['content-length', String(body.byteLength)],
  ...['content-md5', 'digest', 'content-digest', 'repr-digest', 'etag'].map(
    (name): Edit => [name, null],
  ),
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

/** A body may show a secret in another encoding: lossy UTF-8, or UTF-16 (which is valid UTF-8 too). */
function hiddenIn(bytes: Uint8Array, text: string, masks: readonly MaskedSecret[]): boolean {
  const readings = ['utf-8', 'utf-16le', 'utf-16be'].map((label) =>
    new TextDecoder(label).decode(bytes),
  );
  return readings.some((t) => t !== text && maskText(t, masks).kind !== 'unchanged');
}
