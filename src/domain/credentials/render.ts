/**
 * Rendering a binding: from an opened secret to the value that is set.
 * Promises: a secret that does not fit (not a JSON object with that string field, control characters in a header) is a "no", never garbage.
 * Pure. Called by adapters/vault/credentials.ts, the sweep and the operator's own calls.
 */
import { memberOf } from '../../base/json-path';
import { err, ok, type Result } from '../../base/result';
import { base64Of, bytesOfBase64 } from '../../base/text-codings';
import { bindingsOf, type Provider } from '../catalog/provider';
import type { Binding } from '../catalog/upstream';

/** A value that is ready to set, and the secret texts that it shows (for masking). */
export interface RenderedValue {
  readonly value: string;
  readonly secrets: readonly string[];
}

const controlBytes = /[\x00-\x08\x0a-\x1f\x7f]/;

/** Renders one binding from the value of its source (`null` for a constant). `injector` is the only fault. */
export function render(
  binding: Binding,
  sourceValue: string | null,
): Result<RenderedValue, 'injector'> {
  if (sourceValue === null) return ok({ value: binding.format ?? '', secrets: [] });
  const field = binding.source.kind === 'constant' ? null : (binding.source.field ?? null);
  const secret = field === null ? sourceValue : stringField(sourceValue, field);
  if (secret === null || secret === '') return err('injector');
  const rendered = inject(binding, secret);
  if (binding.location === 'header' && !isHeaderSafe(rendered.value)) return err('injector');
  const { value } = rendered;
  const secrets = [...rendered.secrets, ...credentialsIn(binding, value)];
  return ok({ value, secrets: [...new Set(secrets.flatMap(asRead))] });
}

/** Name and value of one rendered binding. */
export type Rendered = readonly [name: string, value: string];

/** Rendered values by place, and the secret texts that they show. */
export interface RenderedBindings {
  readonly header: readonly Rendered[];
  readonly query: readonly Rendered[];
  readonly json: readonly Rendered[];
  readonly secrets: readonly string[];
}

/** A provider's bindings with the operator's credential in them, as the road renders them. `injector` is the only fault. */
export function renderOperators(
  provider: Pick<Provider, 'bindings' | 'requiredHeaders'>,
  credential: string,
): Result<RenderedBindings, 'injector'> {
  const at: Record<Binding['location'], Rendered[]> = { header: [], query: [], json: [] };
  const secrets = [credential];
  for (const binding of bindingsOf(provider, { kind: 'platform_setting', setting: '' })) {
    const made = render(binding, binding.source.kind === 'constant' ? null : credential);
    if (!made.ok) return made;
    at[binding.location].push([binding.name, made.value.value]);
    secrets.push(...made.value.secrets);
  }
  return ok({ ...at, secrets });
}

/**
 * What a vendor reads in an `Authorization` behind its scheme (RFC 9110 11.4), whoever wrote the scheme: `Bearer sk-…` and a ready-made
 * `Basic …` are often stored whole.
 */
function credentialsIn({ location, name }: Binding, value: string): readonly string[] {
  if (location !== 'header' || name.toLowerCase() !== 'authorization') return [];
  const [, scheme = '', credentials] = /^\s*([A-Za-z0-9-]+) +(\S+)\s*$/.exec(value) ?? [];
  if (credentials === undefined) return [];
  const pair = scheme.toLowerCase() === 'basic' ? textOfBase64(credentials) : null;
  return pair === null ? [credentials] : [credentials, pair, ...basicParts(pair)];
}

function textOfBase64(coded: string): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytesOfBase64(coded));
  } catch {
    return null;
  }
}

/** A pasted space around a secret is not part of a header (RFC 9110 5.5), and many vendors trim the rest: they repeat what they read. */
function asRead(secret: string): readonly string[] {
  const trimmed = secret.trim();
  return trimmed === secret || trimmed === '' ? [secret] : [secret, trimmed];
}

function inject(binding: Binding, secret: string): RenderedValue {
  switch (binding.injector) {
    case 'api_key':
      return { value: secret, secrets: [secret] };
    case 'bearer':
      return { value: `Bearer ${secret}`, secrets: [secret] };
    case 'basic': {
      const pair = base64Utf8(secret);
      return { value: `Basic ${pair}`, secrets: [secret, pair, ...basicParts(secret)] };
    }
    case 'custom':
      return {
        value: (binding.format ?? '{secret}').replaceAll('{secret}', () => secret),
        secrets: [secret],
      };
  }
}

/** Shorter ones are found in every text. */
const partCharsMin = 6;

/**
 * The halves that open the door alone: the password, and a user name that is longer than it. Vendors take a key as the user, with nothing
 * or a word as the password (`sk_live_…:`, `key:X`, `token:api_token`), and repeat it without the colon.
 */
function basicParts(pair: string): string[] {
  const colon = pair.indexOf(':');
  if (colon < 0) return [];
  const [user, password] = [pair.slice(0, colon), pair.slice(colon + 1)];
  const halves = user.length > password.length ? [user, password] : [password];
  return halves.filter((half) => half.length >= partCharsMin);
}

const base64Utf8 = (text: string): string => base64Of(new TextEncoder().encode(text));

/** A header value is bytes: only ASCII is unambiguous, and no control character may pass. */
const isHeaderSafe = (value: string): boolean =>
  !controlBytes.test(value) && /^[\x09\x20-\x7e]*$/.test(value);

function stringField(json: string, field: string): string | null {
  try {
    const value = memberOf(JSON.parse(json), field);
    return typeof value === 'string' ? value : null;
  } catch {
    return null;
  }
}
