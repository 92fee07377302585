/**
 * The OpenAPI 3.1 document of the management API, made from the operations table and the very
 * schemas that validate requests. Promises: nothing is described that does not exist, and nothing
 * exists that is not described. Served at `/openapi.json` by `app.ts`.
 */
import * as z from 'zod/mini';
import { jsonSchema } from './json-schema';
import { apiBase, type Operation } from './operation';
import { operations } from './operations';

const version = '0.1.0';

/** A refusal may say more, by its type: what a key lacks, which field stands in the way. */
export const problem = z.looseObject({
  type: z.string().check(z.describe('urn:weir:problem: and a code.')),
  title: z.string(),
  status: z.int(),
  detail: z.string(),
  blame: z.enum(['caller', 'gateway', 'upstream', 'connection']),
  message: z.string().check(z.describe('The detail, for clients that look for it here.')),
  error: z
    .object({ message: z.string(), code: z.string() })
    .check(z.describe('The detail and the code, for clients that look for them here.')),
  retry_after_seconds: z.optional(z.int().check(z.describe('What Retry-After says.'))),
  errors: z.optional(
    z
      .array(z.object({ path: z.string(), message: z.string() }))
      .check(z.describe('The fields that were refused.')),
  ),
});

let text: string | null = null;

/** The document as JSON text: made at the first question, since anybody may ask and it takes milliseconds. */
export function openapiText(): string {
  text ??= JSON.stringify(openapiDocument());
  return text;
}

/** The document. */
export function openapiDocument(): Record<string, unknown> {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const operation of operations) {
    const path = apiBase + operation.path;
    paths[path] = { ...paths[path], [operation.method.toLowerCase()]: described(operation) };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Weir management API',
      version,
      description: 'Configuration of an outbound API gateway. Fields are snake_case; PUT replaces.',
    },
    servers: [{ url: '/' }],
    security: [{ bearer: [] }, { header: [] }],
    paths,
    components: {
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer', description: 'Operator key or access key.' },
        header: { type: 'apiKey', in: 'header', name: 'X-Weir-Key' },
      },
      schemas: { Problem: jsonSchema(problem, 'output') },
      responses: {
        Problem: {
          description: 'A refusal (RFC 9457).',
          headers: {
            'X-Weir-Error': header('1'),
            'X-Weir-Error-Source': header('gateway'),
            'Retry-After': header('Seconds; where waiting helps.'),
            'WWW-Authenticate': header('On a 401.'),
          },
          content: {
            'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } },
          },
        },
      },
    },
  };
}

function described(operation: Operation): Record<string, unknown> {
  const { summary, permission, body, status, answer, csv } = operation;
  return {
    operationId: operationId(operation),
    tags: [operation.path.split('/')[1]],
    summary,
    description: `Needs ${permission}.`,
    parameters: parametersOf(operation),
    ...(body === null
      ? {}
      : { requestBody: { required: true, content: json(jsonSchema(body, 'input')) } }),
    responses: {
      [status]: {
        description: 'Done.',
        ...(status === 201 ? { headers: { Location: header('What was made.') } } : {}),
        ...(csv === null ? {} : { headers: { Link: header('Of CSV: the page behind this one.') } }),
        ...(operation.media === 'application/json' && answer === null
          ? {}
          : { content: answerContent(operation) }),
      },
      ...Object.fromEntries(problemStatuses(operation).map((s) => [s, problemRef])),
    },
  };
}

function answerContent({ csv, media, answer }: Operation): Record<string, unknown> {
  if (media === 'text/plain' || answer === null) return { [media]: { schema: { type: 'string' } } };
  const content = json(jsonSchema(answer, 'output'));
  return csv === null ? content : { ...content, 'text/csv': { schema: { type: 'string' } } };
}

const header = (description: string) => ({ description, schema: { type: 'string' } });
const problemRef = { $ref: '#/components/responses/Problem' };
const json = (schema: unknown) => ({ 'application/json': { schema } });

/** The statuses that an operation refuses with. */
function problemStatuses(operation: Operation): readonly number[] {
  const writes = operation.method === 'GET' ? [] : [409];
  const reads = operation.body === null ? [] : [413];
  return [400, 401, 403, 404, ...writes, ...reads, 500, 503];
}

function parametersOf(operation: Operation): readonly unknown[] {
  const string = { type: 'string' };
  const id = { name: 'id', in: 'path', required: true, schema: string };
  const tenant = {
    name: 'tenant',
    in: 'query',
    schema: string,
    description: "The tenant to act in: the key's own (default) or one below it.",
  };
  const query = Object.entries(operation.query).map(([name, field]) => ({
    name,
    in: 'query',
    schema: { type: field.integer === true ? 'integer' : 'string' },
    description: field.description,
  }));
  return [
    ...(operation.path.includes('{id}') ? [id] : []),
    ...(operation.scope === 'gateway' ? [] : [tenant]),
    ...query,
  ];
}

function operationId({ method, path }: Operation): string {
  const words = path.split(/[/{}-]+/).filter((word) => word !== '');
  const upper = words.map((word) => word.charAt(0).toUpperCase() + word.slice(1));
  return method.toLowerCase() + upper.join('');
}
