/**
 * Error text: what a vendor says itself in the body of a refusal, kept apart from what it repeats
 * of the request. Promises: only the fields of `errorFields` are the vendor's own text; a phrase
 * counts in the vendor's own sentence, never in quotes, behind a colon or beside words that speak
 * of an input; linear time. Must never: throw on a body. Pure. Called by `classify.ts`.
 */
import { pathOf, readPath } from '../../base/json-path';
import { capacityErrorCharsMax, capacityRequestCharsMax } from '../../base/limits-capacity';

/** The head of a body. `plain`: a short text; `page`: HTML, a longer text, or JSON that is cut off. */
export type ErrorText =
  | { readonly kind: 'none' }
  | { readonly kind: 'json'; readonly document: unknown }
  | { readonly kind: 'plain' | 'page'; readonly text: string };

/** Where vendors put their own words. Titles, names and statuses are not here: callers send such. */
export const errorFields: readonly string[] = [
  ...['error', 'detail', 'errors[*]'].flatMap((at) =>
    ['message', 'code', 'type', 'detail', 'details', 'status', 'id'].map((f) => `${at}.${f}`),
  ),
  ...['error', 'detail', 'errors', 'message', 'messages', 'msg', 'details', 'code', 'reason'],
  'issue',
  ...['error_code', 'error_message', 'error_description', 'errorCode', 'err_code', 'err_msg'],
];

/** Name of the only field of a plain text. */
const plainField = 'body';

/** Reads a decoded head; null: it could not be read. Of an array (Gemini's streams) the first entry. */
export function errorTextOf(head: string | null): ErrorText {
  const text = head?.trim() ?? '';
  if (text === '') return { kind: 'none' };
  if (/^[[{"]/.test(text)) return jsonText(text);
  const isPage = text.startsWith('<') || text.length > capacityErrorCharsMax;
  return { kind: isPage ? 'page' : 'plain', text };
}

function jsonText(text: string): ErrorText {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'string') return { kind: 'plain', text: value };
    return { kind: 'json', document: Array.isArray(value) ? value[0] : value };
  } catch {
    return { kind: 'page', text };
  }
}

/** A field that has a text. */
export interface Field {
  readonly at: string;
  readonly text: string;
}

/** The texts at these paths, in their order; of a list of texts each: `{"errors": ["…"]}`, `{"message": ["…"]}`. */
export function textsAt(body: ErrorText, paths: readonly string[]): readonly Field[] {
  if (body.kind === 'plain')
    return paths === errorFields ? [{ at: plainField, text: body.text }] : [];
  if (body.kind !== 'json') return [];
  return paths.flatMap((at) => {
    const found = readPath(body.document, pathOf(at));
    if (found.kind !== 'values') return [];
    return found.values
      .flat()
      .filter((value) => typeof value === 'string')
      .map((text) => ({ at, text }));
  });
}

// ── phrases ──

/** Words that head an error and are not an echo, with what separates them from its text. */
const opening =
  /^(?:[a-z]* ?(?:error|exception)|forbidden|payment required|too many requests|bad request|unprocessable entity|(?:rate |usage )?limit (?:reached|exceeded)|quota exceeded)\s*[:-]\s*/;
/** In front of a phrase: it belongs to something that is repeated. A quote within a word is none. */
const repeats = /[":=<>{}[\]`«»\\]|(?<![a-z])'|'(?![a-z])/;
/** In the same sentence, or in front of it: the text speaks of an input. */
const speaksOfInput =
  /\b(?:in|not )?valid\b|\bun(?:known|expected|supported|recogni[sz]ed)\b|\b(?:value|prompt|input|param|parameter|argument|field|string|title|subject|keyword)s?\b|\b(?:contain|receiv|pars|reject|flagg)\w*|\b(?:got|said|wrote|not (?:allowed|found|permitted))\b/;

/**
 * Whether a field says a phrase in the vendor's own words; `begins`: a sentence has to begin with it.
 * `phrase` is lower-case.
 */
export function says(text: string, phrase: string, begins: boolean): boolean {
  const said = plainWords(text);
  for (let at = said.indexOf(phrase); at >= 0; at = said.indexOf(phrase, at + 1)) {
    const end = at + phrase.length;
    if (isWhole(said, at, end) && isOwn(said.slice(0, at), said.slice(end), begins)) return true;
  }
  return false;
}

const plainWords = (text: string): string =>
  text
    .slice(0, capacityErrorCharsMax)
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll(/[‘’]/g, "'")
    .replaceAll(/[“”]/g, '"')
    .replaceAll(/\s+/g, ' ')
    .trim();

/** No letter or digit goes on at either end. */
const isWhole = (said: string, at: number, end: number): boolean =>
  !/[a-z0-9]/.test(said.charAt(at - 1)) && !/[a-z0-9]/.test(said.charAt(end));

function isOwn(front: string, rest: string, begins: boolean): boolean {
  const before = front.replace(opening, '');
  if (begins && !/(?:^|[.!?] )$/.test(before)) return false;
  const end = rest.search(/[.!?;](?:\s|$)/);
  const after = end < 0 ? rest : rest.slice(0, end);
  return !repeats.test(before) && !speaksOfInput.test(`${before}|${after}`);
}

// ── echoes ──

/** Whether the request itself says the phrase, in whatever spelling: then the answer may repeat it. */
export function isInRequest(requestText: string, phrase: string): boolean {
  return squeezed(unescaped(requestText.slice(0, capacityRequestCharsMax))).includes(
    squeezed(phrase),
  );
}

/** JSON and percent escapes undone as far as they are letters, digits or spaces. */
const unescaped = (text: string): string =>
  text
    .replaceAll(/%([0-9a-f]{2})/gi, (_, hex: string) =>
      String.fromCharCode(Number.parseInt(hex, 16)),
    )
    .replaceAll(/\\u([0-9a-f]{4})/gi, (_, hex: string) =>
      String.fromCharCode(Number.parseInt(hex, 16)),
    )
    .replaceAll(/\\[bfnrt]/g, ' ');

/** Letters and digits only: an echo may change case, spaces and marks. */
const squeezed = (text: string): string =>
  text
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '');

/** Words with single spaces between them, for {@link tripwireIn}. */
const words = (text: string): string =>
  ` ${text
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, ' ')
    .trim()} `;

/** The first of the phrases that is anywhere in a body; for a log line, never for a strike. */
export function tripwireIn(body: string, phrases: readonly string[]): string | null {
  const text = words(body);
  return phrases.find((phrase) => text.includes(words(phrase).trimEnd())) ?? null;
}
