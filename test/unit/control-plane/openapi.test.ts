import { describe, expect, it } from 'vitest';
import * as z from 'zod/mini';
import { jsonSchema } from '../../../src/control-plane/json-schema';
import { openapiDocument, problem } from '../../../src/control-plane/openapi';
import { operations } from '../../../src/control-plane/operations';
import { makeApi, makeTenant } from './harness';

// biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects
const document: any = JSON.parse(JSON.stringify(openapiDocument()));

describe('the OpenAPI document', () => {
  it('has every operation and no other', () => {
    const listed = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.keys(methods as object).map((method) => `${method.toUpperCase()} ${path}`),
    );
    expect(listed.sort()).toEqual(operations.map((o) => `${o.method} /api/v1${o.path}`).sort());
  });

  it.each(operations.map((o) => [`${o.method} ${o.path}`, o] as const))('describes %s', (_, o) => {
    const row = document.paths[`/api/v1${o.path}`][o.method.toLowerCase()];
    expect(Object.keys(row.responses)).toEqual(
      expect.arrayContaining([String(o.status), '401', '403', '404', '503']),
    );
    expect(row.requestBody === undefined).toBe(o.body === null);
    const names = row.parameters.map((p: { name: string }) => p.name);
    expect(names.includes('id')).toBe(o.path.includes('{id}'));
    expect(names.includes('tenant')).toBe(o.scope !== 'gateway');
    for (const name of Object.keys(o.query)) expect(names).toContain(name);
    if (o.body !== null) {
      const schema = row.requestBody.content['application/json'].schema;
      expect(schema).toMatchObject({ type: 'object', additionalProperties: false });
    }
    if (o.answer !== null) {
      expect(row.responses[String(o.status)].content['application/json'].schema.type).toBe(
        'object',
      );
    }
  });

  it.each(
    operations.flatMap(({ method, path, body, answer }) => [
      ...(body === null ? [] : [[`${method} ${path}`, 'input', body] as const]),
      ...(answer === null ? [] : [[`${method} ${path}`, 'output', answer] as const]),
    ]),
  )('describes the schema of %s, %s, as zod does', (_, io, schema) => {
    const { $schema, ...expected } = z.toJSONSchema(schema, { io });
    expect(JSON.parse(JSON.stringify(jsonSchema(schema, io)))).toEqual(
      JSON.parse(JSON.stringify(expected)),
    );
  });

  it.each([
    ['two patterns', z.string().check(z.regex(/a/), z.regex(/b/))],
    ['the narrower of two bounds', z.string().check(z.maxLength(9), z.maxLength(5))],
    ['a described schema in a nullable one', z.nullable(z.string().check(z.describe('A name.')))],
    ['a nullable union', z.nullable(z.union([z.string(), z.number(), z.boolean()]))],
    ['a time with an offset', z.iso.datetime({ offset: true })],
    ['an object that may hold more', problem],
    ['an object that may hold more of one kind', z.catchall(z.object({}), z.int())],
  ])('describes %s as zod does', (_, schema) => {
    const { $schema, ...expected } = z.toJSONSchema(schema);
    expect(jsonSchema(schema, 'output')).toEqual(expected);
  });

  it('describes no kind of schema that it does not know', () => {
    expect(() => jsonSchema(z.date(), 'input')).toThrow('kind date');
  });

  it('says where CSV is to be had', () => {
    const { content } = document.paths['/api/v1/ledger/entries'].get.responses['200'];
    expect(Object.keys(content)).toEqual(['application/json', 'text/csv']);
    const balance = document.paths['/api/v1/ledger'].get.responses['200'].content;
    expect(Object.keys(balance)).toEqual(['application/json']);
  });

  it('describes refusals that say more than others: every member that they have is allowed', async () => {
    const api = makeApi();
    const { token: key } = await makeTenant(api, { role: 'viewer' });
    const tooLarge = { name: 'x'.repeat(300_000) };
    const refusals = [
      await api.send('POST', '/projects', { key, body: { name: 'p' } }),
      await api.send('PATCH', '/projects'),
      await api.send('POST', '/tenants', { body: tooLarge }),
      await api.send('POST', '/tenants', { body: {} }),
    ];
    expect(refusals.map(({ status }) => status)).toEqual([403, 405, 413, 400]);
    const { Problem } = document.components.schemas;
    for (const { body } of refusals) {
      const unnamed = Object.keys(body).filter((name) => !(name in Problem.properties));
      expect(unnamed.length === 0 || Problem.additionalProperties !== false).toBe(true);
      expect(problem.safeParse(body).success).toBe(true);
    }
  });

  it('names every header of ours that an answer has, and the statuses of a ledger that is away and of a bug', async () => {
    const api = makeApi();
    const own = await makeTenant(api);
    const described = (response: { headers?: object }) =>
      Object.keys(response.headers ?? {}).map((name) => name.toLowerCase());
    const ours = ({ headers }: { headers: Headers }) =>
      [...headers.keys()].filter((name) => /^(?:x-weir-|location|link|retry-after)/.test(name));
    const made = await api.send('POST', own.at('/projects'), { body: { name: 'p' } });
    const refused = await api.send('POST', own.at('/projects'), { body: { name: 'p' } });
    expect([made.status, refused.status]).toEqual([201, 409]);
    const created = document.paths['/api/v1/projects'].post.responses;
    expect(described(created['201'])).toEqual(ours(made));
    const { Problem } = document.components.responses;
    expect(described(Problem)).toEqual(expect.arrayContaining([...ours(refused), 'retry-after']));
    const { responses } = document.paths['/api/v1/ledger/entries'].get;
    expect([described(responses['200']), Object.keys(responses)]).toEqual([
      ['link'],
      ['200', '400', '401', '403', '404', '500', '503'],
    ]);
  });

  it('names every operation once', () => {
    const ids = Object.values(document.paths).flatMap((methods) =>
      Object.values(methods as Record<string, { operationId: string }>).map(
        (row) => row.operationId,
      ),
    );
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('requires only what has no default', () => {
    const { schema } =
      document.paths['/api/v1/upstreams'].post.requestBody.content['application/json'];
    expect(schema.required).toEqual(['name', 'endpoints']);
  });
});
