/**
 * Takes injected secrets out of what an origin answers. Promises: every listed spelling becomes
 * `***`, by exact match only; what is left is decoded and searched again; a text that still shows a
 * secret, or shows one too short to mask, is `unsafe` and must not reach anyone (digest A5: the
 * whole body is replaced). Must never: mask by pattern or by name, keep a secret beyond the
 * caller's cache, or say which secret it found. `prepareMask` is called when a secret is opened
 * (`adapters/vault`), the rest per answer by stages 08 and 10.
 */
import {
  maskableNameCharsMin,
  maskableSecretCharsMin,
  unwrapCharsMax,
  unwrapDepthMax,
} from '../../base/limits';
import {
  base64Decoded,
  base64Fragments,
  htmlDecoded,
  jsonDecoded,
  normalise,
  percentDecoded,
  spellingsOf,
} from './spellings';

/** One injected value, ready for masking. Keep it no longer than the value itself. */
export interface MaskedSecret {
  readonly value: string;
  /** What is replaced, longest first. */
  readonly spellings: readonly string[];
  /** What base64 of a longer text shows of the value; found, never replaced. */
  readonly fragments: readonly string[];
  /** The fewest strings of which one is in every text that has a spelling or a fragment. */
  readonly needles: readonly string[];
  /** The same for the names of headers, which have no case: only what a name may hold, in lower case, `maskableNameCharsMin` long. */
  readonly nameNeedles: readonly string[];
  /** False: too short to be replaced (`maskableSecretCharsMin`); a text that has it is unsafe. */
  readonly isMaskable: boolean;
}

/** The outcome for one text. `unsafe`: replace the whole of it. */
export type Masking =
  | { readonly kind: 'unchanged' }
  | { readonly kind: 'masked'; readonly text: string }
  | { readonly kind: 'unsafe' };

const mask = '***';
const unchanged: Masking = { kind: 'unchanged' };
const unsafe: Masking = { kind: 'unsafe' };

/**
 * Everything that masking needs to know of one value; done once: 0.1 ms for a key, 25 ms at
 * `secretBytesMax`.
 */
export function prepareMask(value: string): MaskedSecret {
  const isMaskable = [...value].length >= maskableSecretCharsMin;
  const spellings = spellingsOf(value).filter(
    (spelling) => isMaskable || spelling.length >= maskableSecretCharsMin,
  );
  // A secret inside a JSON text that is base64 has the fragments of its JSON spelling.
  const inJson = JSON.stringify(value).slice(1, -1);
  const spelled = new Set([value, inJson, inJson.replaceAll('/', '\\/')]);
  const fragments = isMaskable ? [...spelled].flatMap(base64Fragments) : [];
  const searched =
    isMaskable || value === '' ? [...spellings, ...fragments] : [value, ...spellings];
  const inNames = [...spellings, ...fragments].filter(
    (text) => text.length >= maskableNameCharsMin && nameShape.test(text),
  );
  return {
    value,
    spellings,
    fragments,
    needles: fewest(searched),
    nameNeedles: fewest(inNames.map((text) => text.toLowerCase())),
    isMaskable,
  };
}

/** RFC 9110 section 5.6.2: what the name of a header may hold. */
const nameShape = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** Masks every secret in a text of an origin. */
export function maskText(text: string, secrets: readonly MaskedSecret[]): Masking {
  const found = secrets.filter((secret) => shows(text, secret));
  if (found.some((secret) => !secret.isMaskable)) return unsafe;
  const masked = found.length === 0 ? text : replaced(text, found);
  if (isRevealed(masked, secrets)) return unsafe;
  return masked === text ? unchanged : { kind: 'masked', text: masked };
}

/**
 * Whether a text, such as all header values of an answer joined by line ends, has a maskable
 * secret. A secret that is too short is not searched: it would be found in every `Content-Type`,
 * and wiping headers would hide nothing.
 */
export function headerHit(joined: string, secrets: readonly MaskedSecret[]): boolean {
  if (isShownBy(joined, secrets)) return true;
  if (!/[%\\&]/.test(joined) || secrets.length === 0) return false;
  const plain = normalise(joined);
  return plain !== joined && isShownBy(plain, secrets);
}

/** Whether a name of a header, or several with something between them, in lower case, has a secret. Names are not decoded. */
export function nameHit(names: string, secrets: readonly MaskedSecret[]): boolean {
  return secrets.some(({ nameNeedles }) => nameNeedles.some((needle) => names.includes(needle)));
}

/** One header value without the secrets; the whole of it is `***` where they cannot be cut out. */
export function maskValue(value: string, secrets: readonly MaskedSecret[]): string {
  const masking = maskText(
    value,
    secrets.filter((secret) => secret.isMaskable),
  );
  if (masking.kind === 'unchanged') return value;
  return masking.kind === 'masked' ? masking.text : mask;
}

function isShownBy(text: string, secrets: readonly MaskedSecret[]): boolean {
  return secrets.some((secret) => secret.isMaskable && shows(text, secret));
}

function shows(text: string, secret: MaskedSecret): boolean {
  for (const needle of secret.needles) {
    if (text.includes(needle)) return true;
  }
  return false;
}

/** Longest first over all secrets: a password must not cut the pair that holds it apart. */
function replaced(text: string, secrets: readonly MaskedSecret[]): string {
  const spellings = secrets
    .flatMap((secret) => secret.spellings)
    .sort((a, b) => b.length - a.length);
  return spellings.reduce((masked, spelling) => masked.replaceAll(spelling, mask), text);
}

/** Without the strings that hold a shorter one of the list: where they are, that one is. */
function fewest(strings: readonly string[]): readonly string[] {
  const kept: string[] = [];
  for (const text of [...strings].sort((a, b) => a.length - b.length)) {
    if (!kept.some((shorter) => text.includes(shorter))) kept.push(text);
  }
  return kept;
}

// ── the re-check ──

/** One layer undone; `null` when that would be more than the bound. */
type Decode = (text: string) => string | null;

/**
 * Whether a secret shows up when encodings are undone, in any order, `unwrapDepthMax` deep. Any
 * order, because text next to the secret may look like an escape of a layer that is not the outer
 * one. A text that needs too much decoding counts as revealing. Residue: a bare `%`, `\` or `&`
 * right before a spelling that is not listed may take its first characters for its own escape.
 */
function isRevealed(text: string, secrets: readonly MaskedSecret[]): boolean {
  const decoders = decodersFor(secrets);
  const seen = new Set([text]);
  let charsLeft = unwrapCharsMax;
  let views = [text];
  for (let depth = 0; views.length > 0; depth += 1) {
    if (views.some((view) => secrets.some((secret) => isPlainIn(view, secret)))) return true;
    if (depth === unwrapDepthMax) return false;
    const inner: string[] = [];
    for (const view of decodedOnce(views, decoders)) {
      if (view === null) return true;
      if (seen.has(view)) continue;
      charsLeft -= view.length;
      if (charsLeft < 0) return true;
      seen.add(view);
      inner.push(view);
    }
    views = inner;
  }
  return false;
}

/** One view at a time, so that the caller's bound holds before the next is made. */
function* decodedOnce(
  views: readonly string[],
  decoders: readonly Decode[],
): Generator<string | null> {
  for (const view of views) {
    for (const decode of decoders) yield decode(view);
  }
}

/**
 * A value with a space may have been written `+` by an HTML form: then both are read as a space.
 */
function isPlainIn(view: string, secret: MaskedSecret): boolean {
  if (shows(view, secret)) return true;
  if (!secret.value.includes(' ')) return false;
  return view.replaceAll('+', ' ').includes(secret.value.replaceAll('+', ' '));
}

/** Base64 runs count from the length that the shortest maskable secret has there. */
function decodersFor(secrets: readonly MaskedSecret[]): readonly Decode[] {
  const lengths = secrets
    .filter((secret) => secret.isMaskable)
    .map((secret) => Math.floor((secret.value.length * 4) / 3));
  const escapes: readonly Decode[] = [jsonDecoded, percentDecoded, htmlDecoded];
  if (lengths.length === 0) return escapes;
  const charsMin = Math.min(...lengths);
  return [...escapes, (text) => base64Decoded(text, { charsMin, bytesMax: unwrapCharsMax })];
}
