/**
 * Body: the bytes of a management request, read within bounds, and the document in them, held
 * against its schema. Promises: never holds more than {@link managementBodyBytesMax}; an issue
 * names a field and what is wrong, never the value. Called by `api.ts` (read) and `operation.ts`
 * (parse).
 */
import type * as z from 'zod/mini';
import { decodeUtf8, parseJson } from '../base/json';
import {
  issuePathCharsMax,
  issuesMax,
  managementBodyBytesMax,
  managementJsonDepthMax,
} from '../base/limits';
import { readWithin } from '../base/read-within';
import { err, ok, type Result } from '../base/result';
import type { FieldIssue, JsonFault, Refusal } from '../domain/refusal';

const jsonFaults: Readonly<Record<JsonFault, string>> = {
  empty: 'a JSON object is expected as the body',
  not_utf8: 'the body is not UTF-8',
  bom: 'the body starts with a byte order mark',
  syntax: 'the body is not JSON',
  duplicate_key: 'an object of the body names a member twice',
  too_deep: 'the body is nested too deeply',
  not_object: 'the body must be a JSON object',
};

/** A refused document. */
export const invalid = (...issues: readonly FieldIssue[]): Refusal => ({
  code: 'validation.error',
  issues: issues.slice(0, issuesMax).map(({ path, message }) => ({
    path: path.slice(0, issuePathCharsMax),
    message,
  })),
});

/** Reads a JSON body. Refuses with `payload.too_large`, `validation.error`. */
export async function readDocument(request: Request): Promise<Result<unknown, Refusal>> {
  const bytes = await readBounded(request);
  if (!bytes.ok) return bytes;
  const text = decodeUtf8(bytes.value);
  const document = text.ok ? parseJson(text.value, { depthMax: managementJsonDepthMax }) : text;
  return document.ok ? document : err(invalid({ path: '', message: jsonFaults[document.error] }));
}

/** Holds a document against a schema. Refuses with `validation.error`. */
export function parsed<S extends z.ZodMiniType>(
  schema: S,
  document: unknown,
): Result<z.output<S>, Refusal> {
  const passedOver = protoIn(document, []);
  if (passedOver !== null) return err(invalid({ path: passedOver, message: notOurs }));
  const held = schema.safeParse(document, { error: messageOf });
  return held.success ? ok(held.data) : err(invalid(...held.error.issues.flatMap(issuesOf)));
}

const notOurs = 'is not a field of this resource';

/** Path of the first member `__proto__`, which the schema of a record passes over without a word; `null`: there is none. */
function protoIn(value: unknown, at: readonly string[]): string | null {
  if (typeof value !== 'object' || value === null) return null;
  for (const [name, below] of Object.entries(value)) {
    const path = [...at, name];
    const found = name === '__proto__' ? path.join('.') : protoIn(below, path);
    if (found !== null) return found;
  }
  return null;
}

async function readBounded(request: Request): Promise<Result<Uint8Array, Refusal>> {
  const bytesMax = managementBodyBytesMax;
  const tooLarge: Refusal = { code: 'payload.too_large', bytesMax, what: 'management_body' };
  if (Number(request.headers.get('content-length') ?? 0) > bytesMax) return err(tooLarge);
  const bytes = await readWithin(request.body, bytesMax);
  return bytes === null ? err(tooLarge) : ok(bytes);
}

/** One issue per unknown field, so that each is named. */
function issuesOf(issue: z.core.$ZodIssue): FieldIssue[] {
  const at = issue.path.map(String);
  const named = (path: readonly string[], message: string): FieldIssue => ({
    path: path.join('.'),
    message,
  });
  if (issue.code !== 'unrecognized_keys') return [named(at, issue.message)];
  return issue.keys.map((key) => named([...at, key], notOurs));
}

/** Our own words for zod's findings: no message repeats what was sent. */
function messageOf(issue: z.core.$ZodRawIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined ? 'is required' : `must be of type ${issue.expected}`;
    case 'invalid_value':
      return `must be one of ${issue.values.map(String).join(', ')}`;
    case 'too_big':
      return bounded('may', 'at most', issue.maximum, issue.origin);
    case 'too_small':
      return bounded('must', 'at least', issue.minimum, issue.origin);
    default:
      return 'is not valid';
  }
}

/** A text and a list have a size, a number is one. */
function bounded(verb: string, sense: string, bound: number | bigint, origin: string): string {
  if (origin === 'string') return `${verb} have ${sense} ${bound} characters`;
  if (origin === 'array') return `${verb} have ${sense} ${bound} entries`;
  return `${verb} be ${sense} ${bound}`;
}
