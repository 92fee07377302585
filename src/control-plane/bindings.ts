/**
 * Bindings of an upstream, from the wire and back (digest A4). Promises: a binding has one target,
 * one source and a value that its place can carry; a secret is bound by id and shown by name; no
 * value is ever shown. Pure. Called by upstreams.
 */
import * as z from 'zod/mini';
import { fieldNameCharsMax, fieldValueCharsMax } from '../base/limits';
import { err, ok, type Result } from '../base/result';
import type { Binding, BindingSource } from '../domain/catalog/upstream';
import type { FieldIssue } from '../domain/refusal';
import { text } from './fields';
import { headerNameFault, headerValueFault } from './header-rules';

const scheme = 'cred://';
const placeholder = '{secret}';
const locations = ['header', 'query', 'json'] as const;
const injectors = ['api_key', 'bearer', 'basic', 'custom'] as const;
const value = text(fieldValueCharsMax);
const fieldName = text(fieldNameCharsMax);

/**
 * One binding as it is sent. Exactly one of `secret`, `platform_setting`, `value`; a `custom`
 * format without placeholder is a value.
 */
export const bindingBody = z.strictObject({
  location: z.enum(locations),
  name: fieldName,
  injector: z.optional(
    z.enum(injectors).check(z.describe('Default: api_key, the secret as it is.')),
  ),
  format: z.optional(value.check(z.describe('For custom: text with {secret} in it.'))),
  secret: z.optional(
    fieldName.check(z.regex(/^cred:\/\/[a-z0-9._-]+$/, 'must be cred:// and the name of a secret')),
  ),
  secret_field: z.optional(
    fieldName.check(z.describe('Top-level member of a secret that is a JSON object.')),
  ),
  platform_setting: z.optional(
    fieldName.check(z.describe('A setting of the gateway; operator only.')),
  ),
  value: z.optional(value.check(z.describe('A constant.'))),
});
/** A binding in a body, its schema held. */
export type BindingBody = z.output<typeof bindingBody>;

/**
 * One binding as it is shown; `secret` is null when the secret is gone or hidden from the tenant.
 */
export const bindingAnswer = z.object({
  location: z.enum(locations),
  name: z.string(),
  injector: z.enum(injectors),
  format: z.optional(z.string()),
  secret: z.optional(z.nullable(z.string())),
  secret_field: z.optional(z.string()),
  platform_setting: z.optional(z.string()),
  value: z.optional(z.string()),
});

/**
 * What a tenant's bindings may refer to: ids of visible secrets by name, names of the gateway's
 * settings.
 */
export interface Referable {
  readonly secretIds: ReadonlyMap<string, string>;
  readonly settings: ReadonlySet<string>;
}

/** The names of all secrets that the bindings refer to. */
export const secretNames = (bodies: readonly BindingBody[]): readonly string[] =>
  bodies.flatMap((body) => (body.secret === undefined ? [] : [body.secret.slice(scheme.length)]));

/** Judges all bindings of an upstream. */
export function judgeBindings(
  bodies: readonly BindingBody[],
  known: Referable,
): Result<readonly Binding[], readonly FieldIssue[]> {
  const bindings: Binding[] = [];
  const issues: FieldIssue[] = [];
  const targets = new Set<string>();
  bodies.forEach((body, i) => {
    const judged = judgeBinding(body, known);
    const at = `bindings.${i}`;
    if (!judged.ok) {
      const { path, message } = judged.error;
      issues.push({ path: `${at}.${path}`, message });
      return;
    }
    const target = `${judged.value.location}:${judged.value.name}`;
    if (targets.has(target)) issues.push({ path: `${at}.name`, message: 'is bound twice' });
    targets.add(target);
    bindings.push(judged.value);
  });
  return issues.length > 0 ? err(issues) : ok(bindings);
}

/** Bindings as they are shown; `names` are the visible secrets' names by id. */
export function bindingWire(
  binding: Binding,
  names: ReadonlyMap<string, string>,
): z.output<typeof bindingAnswer> {
  const { location, name, injector, format, source } = binding;
  const head = { location, name, injector };
  if (source.kind === 'constant') return { ...head, value: format ?? '' };
  const shown = format === null ? head : { ...head, format };
  if (source.kind === 'platform_setting') return { ...shown, platform_setting: source.setting };
  const secretName = names.get(source.secretId);
  const secret = secretName === undefined ? null : scheme + secretName;
  return source.field === null
    ? { ...shown, secret }
    : { ...shown, secret, secret_field: source.field };
}

function judgeBinding(body: BindingBody, known: Referable): Result<Binding, FieldIssue> {
  const nameMessage = nameFault(body);
  if (nameMessage !== null) return err({ path: 'name', message: nameMessage });
  const shape = shapeFault(body);
  if (shape !== null) return err(shape);
  const source = sourceOf(body, known);
  if (!source.ok) return source;
  const constant = source.value.kind === 'constant';
  return ok({
    location: body.location,
    name: body.location === 'header' ? body.name.toLowerCase() : body.name,
    injector: constant ? 'custom' : (body.injector ?? 'api_key'),
    format: body.value ?? body.format ?? null,
    source: source.value,
  });
}

function nameFault(body: BindingBody): string | null {
  switch (body.location) {
    case 'header':
      return headerNameFault(body.name);
    case 'query':
      return /\p{Cc}/u.test(body.name) ? 'contains a control character' : null;
    case 'json':
      return /[.[\]/]/.test(body.name) ? 'must be the name of one top-level field' : null;
  }
}

/**
 * What is wrong with the parts beside one another, whatever they refer to: the first row that
 * holds.
 */
function shapeFault(body: BindingBody): FieldIssue | null {
  const { injector, format, secret, platform_setting: setting, value } = body;
  const constant = value !== undefined || (format !== undefined && !format.includes(placeholder));
  const sources = [secret, setting, value].filter((part) => part !== undefined).length;
  const one = 'give exactly one of secret, platform_setting, value';
  const faults: readonly (readonly [holds: boolean, path: string, message: string])[] = [
    [sources > 1, 'secret', one],
    [sources === 0 && !constant, 'secret', one],
    [value !== undefined && format !== undefined, 'format', 'does not go with a value'],
    [value?.includes(placeholder) === true, 'value', 'is a constant and has no placeholder'],
    [
      value !== undefined && injector !== undefined && injector !== 'custom',
      'injector',
      'does not go with a value',
    ],
    [format !== undefined && injector !== 'custom', 'format', 'is for the custom injector only'],
    [
      injector === 'custom' && format === undefined && value === undefined,
      'format',
      'is required by custom',
    ],
    [
      /[{}]/.test(format?.replaceAll(placeholder, '') ?? ''),
      'format',
      'may hold {secret} and no other brace',
    ],
    [
      sources === 1 && value === undefined && constant,
      'format',
      'has no {secret}: the secret would not be used',
    ],
    [
      body.secret_field !== undefined && secret === undefined,
      'secret_field',
      'goes with a secret only',
    ],
    [injector === 'basic' && body.location !== 'header', 'injector', 'basic is for headers only'],
  ];
  const [, path, message] = faults.find(([holds]) => holds) ?? [];
  if (path !== undefined && message !== undefined) return { path, message };
  return body.location === 'header' ? carriedFault(body) : null;
}

function carriedFault(body: BindingBody): FieldIssue | null {
  const message = headerValueFault(body.value ?? body.format ?? '');
  return message === null ? null : { path: body.value === undefined ? 'format' : 'value', message };
}

function sourceOf(body: BindingBody, known: Referable): Result<BindingSource, FieldIssue> {
  if (body.secret !== undefined) {
    const secretId = known.secretIds.get(body.secret.slice(scheme.length));
    if (secretId === undefined)
      return err({ path: 'secret', message: 'names no secret that you may use' });
    return ok({ kind: 'secret', secretId, field: body.secret_field ?? null });
  }
  const setting = body.platform_setting;
  if (setting === undefined) return ok({ kind: 'constant' });
  if (known.settings.has(setting)) return ok({ kind: 'platform_setting', setting });
  return err({ path: 'platform_setting', message: 'names no setting of this gateway' });
}
