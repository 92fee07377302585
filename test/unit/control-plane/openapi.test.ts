import { describe, expect, it } from 'vitest';
import { openapiDocument } from '../../../src/control-plane/openapi';
import { operations } from '../../../src/control-plane/operations';

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

  it('says where CSV is to be had', () => {
    const { content } = document.paths['/api/v1/ledger/entries'].get.responses['200'];
    expect(Object.keys(content)).toEqual(['application/json', 'text/csv']);
    const balance = document.paths['/api/v1/ledger'].get.responses['200'].content;
    expect(Object.keys(balance)).toEqual(['application/json']);
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
