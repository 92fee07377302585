import { describe, expect, it } from 'vitest';
import { changed, one, stored } from '../../../../src/adapters/d1/store/statements';
import { AssertionError } from '../../../../src/base/assert';

/** An error as drizzle wraps it: its own message repeats the statement and the parameters. */
const failed = (message: string, params = ''): Promise<never> => {
  const cause = new Error(message);
  return Promise.reject(new Error(`Failed query: insert … params: ${params}`, { cause }));
};
const unavailable = { ok: false, error: { code: 'config.unavailable' } };

describe('an error of D1', () => {
  it.each([
    ['projects.tenant_id, projects.name', 'name'],
    ['upstreams.tenant_id, upstreams.alias', 'alias'],
    ['route_slots.upstream_id, route_slots.method, route_slots.priority, route_slots.path', 'path'],
    ['access_keys.sha256', 'id'],
  ])('on the unique columns %s is a conflict on %s', async (columns, field) => {
    const message = `D1_ERROR: UNIQUE constraint failed: ${columns}: SQLITE_CONSTRAINT`;
    const expected = { ok: false, error: { code: 'resource.conflict', field } };
    expect(await stored(failed(message))).toEqual(expected);
  });

  it('is never read from the parameters that a caller chose', async () => {
    const planted = 'UNIQUE constraint failed: projects.name';
    expect(await stored(failed('D1_ERROR: out of disk', planted))).toMatchObject(unavailable);
  });

  it('on a reference is a conflict where something holds the row, else the store is unavailable', async () => {
    const message = 'D1_ERROR: FOREIGN KEY constraint failed: SQLITE_CONSTRAINT';
    const conflict = { ok: false, error: { code: 'resource.conflict', field: 'upstreams' } };
    expect(await stored(failed(message), 'upstreams')).toEqual(conflict);
    expect(await stored(failed(message))).toMatchObject(unavailable);
  });

  it('is a refusal, a bug of ours is not', async () => {
    expect(await stored(failed('Network connection lost.'))).toMatchObject(unavailable);
    const bug = new AssertionError('bug');
    await expect(stored(Promise.reject(bug))).rejects.toBe(bug);
    await expect(stored(Promise.reject(new TypeError('bug')))).rejects.toThrow(TypeError);
  });
});

describe('a row that is not there', () => {
  it('is not found, read or written', async () => {
    const notFound = { ok: false, error: { code: 'resource.not_found' } };
    expect(await one(Promise.resolve(undefined))).toEqual(notFound);
    expect(await changed(Promise.resolve([[]]))).toEqual(notFound);
    expect(await changed(Promise.resolve([[{}]]))).toEqual({ ok: true, value: undefined });
  });
});
