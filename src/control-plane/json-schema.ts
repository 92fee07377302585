/**
 * JSON Schema (draft 2020-12) of the zod schemas that validate requests.
 * Promises: exactly what zod's own generator says (a test compares every schema of every operation), for the kinds of schema that this
 * API has; another kind throws, so it cannot be described wrongly. zod's generator knows every kind and draft, at 6 kB of the bundle.
 * Called by openapi.ts.
 */
import * as z from 'zod/mini';

/** One schema, or a part of one. */
export type JsonSchema = Record<string, unknown>;

/** What a caller sends, where a default may be left out; or what the gateway answers. */
export type Side = 'input' | 'output';

/** Describes one schema and all below it. */
export function jsonSchema(schema: z.core.$ZodType, side: Side): JsonSchema {
  return { ...ofKind(schema, side), ...z.globalRegistry.get(schema) };
}

function ofKind(schema: z.core.$ZodType, side: Side): JsonSchema {
  // zod's documented way to walk a schema: the union of all kinds, told apart by `def.type`.
  const { def } = (schema as z.core.$ZodTypes)._zod;
  switch (def.type) {
    case 'unknown':
      return {};
    case 'boolean':
      return { type: 'boolean' };
    case 'string':
      return { type: 'string', ...limits(schema, 'Length'), ...formats(schema) };
    case 'number':
      return { type: isInteger(schema) ? 'integer' : 'number', ...limits(schema, '') };
    case 'enum':
      return { type: 'string', enum: Object.values(def.entries) };
    case 'literal':
      return { type: typeof def.values[0], const: def.values[0] };
    case 'array':
      return { type: 'array', items: jsonSchema(def.element, side), ...limits(schema, 'Items') };
    case 'object':
      return object(def, side);
    case 'record':
      return {
        type: 'object',
        propertyNames: jsonSchema(def.keyType, side),
        additionalProperties: jsonSchema(def.valueType, side),
      };
    case 'union':
      return anyOf(def.options.map((option) => jsonSchema(option, side)));
    case 'nullable':
      return anyOf([jsonSchema(def.innerType, side), { type: 'null' }]);
    case 'optional':
      return jsonSchema(def.innerType, side);
    case 'default':
      return { ...jsonSchema(def.innerType, side), default: def.defaultValue };
    default:
      throw new TypeError(`openapi.json cannot describe a schema of kind ${def.type}`);
  }
}

function object({ shape, catchall }: z.core.$ZodObjectDef, side: Side): JsonSchema {
  const fields = Object.entries(shape);
  const required = fields.filter(([, { _zod }]) => !_zod[side === 'input' ? 'optin' : 'optout']);
  return {
    type: 'object',
    properties: Object.fromEntries(fields.map(([name, field]) => [name, jsonSchema(field, side)])),
    ...(required.length === 0 ? {} : { required: required.map(([name]) => name) }),
    ...others(catchall, side),
  };
}

/** Members that have no name in the schema: none in a strict one, any in a loose one. */
function others(catchall: z.core.$ZodType | undefined, side: Side): JsonSchema {
  if (catchall === undefined) return side === 'input' ? {} : { additionalProperties: false };
  const isStrict = catchall._zod.def.type === 'never';
  return { additionalProperties: isStrict ? false : jsonSchema(catchall, side) };
}

/** Bare types are one list of types: `string | null`. */
function anyOf(options: readonly JsonSchema[]): JsonSchema {
  const bare = options.every((option) => Object.keys(option).join() === 'type');
  return bare ? { type: options.flatMap(({ type }) => type) } : { anyOf: options };
}

/** The checks of a schema; a format is its own first one. */
function checks(schema: z.core.$ZodType): readonly z.core.$ZodChecks['_zod']['def'][] {
  const { def, traits } = schema._zod;
  const own = traits.has('$ZodCheck') ? [schema as z.core.$ZodType & z.core.$ZodCheck] : [];
  return [...own, ...(def.checks ?? [])].map(
    ({ _zod }) => _zod.def as z.core.$ZodChecks['_zod']['def'],
  );
}

function isInteger(schema: z.core.$ZodType): boolean {
  return checks(schema).some(({ check }) => check === 'number_format');
}

/** The narrowest bounds: of characters, of items, or of the number itself. */
function limits(schema: z.core.$ZodType, of: 'Length' | 'Items' | ''): JsonSchema {
  const least: number[] = isInteger(schema) ? [Number.MIN_SAFE_INTEGER] : [];
  const most: number[] = isInteger(schema) ? [Number.MAX_SAFE_INTEGER] : [];
  for (const def of checks(schema)) {
    if (def.check === 'min_length') least.push(def.minimum);
    if (def.check === 'max_length') most.push(def.maximum);
    if (def.check === 'greater_than') least.push(Number(def.value));
    if (def.check === 'less_than') most.push(Number(def.value));
  }
  const [min, max] = of === '' ? ['minimum', 'maximum'] : [`min${of}`, `max${of}`];
  return {
    ...(least.length === 0 ? {} : { [min]: Math.max(...least) }),
    ...(most.length === 0 ? {} : { [max]: Math.min(...most) }),
  };
}

function formats(schema: z.core.$ZodType): JsonSchema {
  const found = checks(schema).filter((def) => def.check === 'string_format');
  const patterns = found.flatMap(({ pattern }) => (pattern ? [{ pattern: pattern.source }] : []));
  const dated = found.some(({ format }) => format === 'datetime');
  return {
    ...(dated ? { format: 'date-time' } : {}),
    ...(patterns.length > 1 ? { allOf: patterns } : patterns[0]),
  };
}
