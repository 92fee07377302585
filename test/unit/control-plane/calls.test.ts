/**
 * Calls as they are written by the sink and read back: money, catalog row and tier of each, and the
 * kept evidence as a text that cannot do anything.
 */
import { describe, expect, it } from 'vitest';
import { D1CallSink } from '../../../src/adapters/d1/call-sink';
import { newId } from '../../../src/base/ids';
import { childId } from '../../../src/domain/overflow/child';
import type { CallRow } from '../../../src/ports/evidence';
import { db, makeApi, makeTenant, startMs } from './harness';

const api = makeApi();
const sink = new D1CallSink(db);

const row = (tenantId: string, parts: Partial<CallRow> = {}): CallRow => ({
  id: newId('call', startMs),
  tenantId,
  keyId: null,
  principalId: null,
  upstreamId: null,
  surface: 'call',
  method: 'POST',
  host: 'vendor.example',
  path: '/v1/x',
  outcome: 'answered',
  status: 200,
  code: null,
  blame: null,
  startedAtMs: startMs,
  latencyMs: 5,
  requestBytes: 12,
  responseBytes: 34,
  evidence: null,
  tier: null,
  catalogId: null,
  costMicros: null,
  holdId: null,
  account: null,
  signal: null,
  servedVia: null,
  ...parts,
});

describe('a call', () => {
  it('that was metered shows its tier, catalog row, charge and hold', async () => {
    const tenant = await makeTenant(api);
    const paid = { tier: 4, catalogId: 'vendor.search', costMicros: 1_234, holdId: 'hld_1' };
    const written = row(tenant.id, paid);
    await sink.write([written]);
    const money = { tier: 4, catalog_id: 'vendor.search', cost_micros: 1_234, hold_id: 'hld_1' };
    expect(await api.made('GET', `/calls/${written.id}`, undefined, tenant.token)).toMatchObject({
      ...money,
      evidence: null,
    });
    const list = await api.made('GET', '/calls', undefined, tenant.token);
    expect(list.data).toMatchObject([{ id: written.id, ...money }]);
    expect(list.data[0]).not.toHaveProperty('evidence');
  });

  it('that cost nothing is not one whose cost is unknown', async () => {
    const tenant = await makeTenant(api);
    const free = row(tenant.id, { tier: 4, costMicros: 0 });
    const own = row(tenant.id, { tier: 1 });
    await sink.write([free, own]);
    const costOf = async ({ id }: CallRow) =>
      (await api.made('GET', `/calls/${id}`, undefined, tenant.token)).cost_micros;
    expect([await costOf(free), await costOf(own)]).toEqual([0, null]);
  });

  it('is among the newest, page by page, as among the oldest', async () => {
    const tenant = await makeTenant(api);
    const rows = Array.from({ length: 5 }, (_, at) =>
      row(tenant.id, { startedAtMs: startMs + at }),
    );
    await sink.write(rows);
    const ids = rows.map(({ id }) => id).sort();
    const paged = async (order: string) => {
      const seen: string[] = [];
      for (let cursor = ''; ; ) {
        const path = `/calls?limit=2&order=${order}${cursor}`;
        const page = await api.made('GET', path, undefined, tenant.token);
        seen.push(...page.data.map(({ id }: { id: string }) => id));
        if (page.next_cursor === null) return seen;
        cursor = `&cursor=${encodeURIComponent(page.next_cursor)}`;
      }
    };
    expect(await paged('oldest')).toEqual(ids);
    expect(await paged('newest')).toEqual(ids.toReversed());
    const odd = await api.send('GET', '/calls?order=random', { key: tenant.token });
    expect(odd).toMatchObject({ status: 400, body: { errors: [{ path: 'order' }] } });
  });

  it('that is written twice is there once', async () => {
    const tenant = await makeTenant(api);
    const written = row(tenant.id, { costMicros: 7 });
    await sink.write([written]);
    await sink.write([{ ...written, costMicros: 8 }]);
    const list = await api.made('GET', '/calls', undefined, tenant.token);
    expect(list.data).toMatchObject([{ cost_micros: 7 }]);
  });

  it('shows the account that served it, what its answer said of it, and through whom it went', async () => {
    const tenant = await makeTenant(api);
    const written = row(tenant.id, {
      account: 'backup',
      signal: 'quota',
      servedVia: 'overflow:orthogonal',
    });
    await sink.write([written]);
    const wire = { account: 'backup', signal: 'quota', served_via: 'overflow:orthogonal' };
    expect(await api.made('GET', `/calls/${written.id}`, undefined, tenant.token)).toMatchObject(
      wire,
    );
    const list = await api.made('GET', '/calls', undefined, tenant.token);
    expect(list.data).toMatchObject([wire]);
  });

  it('of before the ledger, or of a queue message of then, has none of it', async () => {
    const tenant = await makeTenant(api);
    const { tier, catalogId, costMicros, holdId, account, signal, servedVia, ...older } = row(
      tenant.id,
    );
    await sink.write([older as CallRow]);
    const found = await api.made('GET', `/calls/${older.id}`, undefined, tenant.token);
    const nothing = { tier: null, catalog_id: null, cost_micros: null, hold_id: null };
    expect(found).toMatchObject({ account: null, signal: null, served_via: null });
    expect(found).toMatchObject(nothing);
  });
});

describe('the child of a call, which an aggregator served', () => {
  const pairOf = (tenantId: string): readonly [CallRow, CallRow] => {
    const parent = row(tenantId, { outcome: 'failed', status: 503 });
    const servedVia = 'overflow:orthogonal';
    return [parent, { ...parent, id: childId(parent.id), servedVia, evidence: 'of the child' }];
  };

  it('is read by its own id, with its own evidence', async () => {
    const tenant = await makeTenant(api);
    const [parent, child] = pairOf(tenant.id);
    await sink.write([parent, child]);
    const read = (id: string) => api.made('GET', `/calls/${id}`, undefined, tenant.token);
    expect(await read(child.id)).toMatchObject({ id: child.id, evidence: 'of the child' });
    expect(await read(encodeURIComponent(child.id))).toMatchObject({ id: child.id });
    expect(await read(parent.id)).toMatchObject({ id: parent.id, evidence: null });
    const result = await api.send('GET', `/calls/${child.id}/result`, { key: tenant.token });
    expect([result.status, result.text]).toEqual([200, 'of the child']);
  });

  it('may end a page: the next one begins behind it', async () => {
    const tenant = await makeTenant(api);
    const pairs = [...pairOf(tenant.id), ...pairOf(tenant.id)];
    await sink.write(pairs);
    const seen: string[] = [];
    let cursor = '';
    for (;;) {
      const at = `/calls?limit=1${cursor}`;
      const page = await api.made('GET', at, undefined, tenant.token);
      seen.push(...page.data.map(({ id }: { id: string }) => id));
      if (page.next_cursor === null) break;
      cursor = `&cursor=${encodeURIComponent(page.next_cursor)}`;
    }
    expect(seen).toEqual(pairs.map(({ id }) => id).sort());
  });
});

describe('the result of a call', () => {
  const resultOf = (id: string, key: string) => api.send('GET', `/calls/${id}/result`, { key });

  it('is the kept text, byte for byte, which no browser runs', async () => {
    const tenant = await makeTenant(api);
    const evidence = '<script>alert("ü")</script>\n{"key":"***"}';
    const written = row(tenant.id, { status: 401, evidence });
    await sink.write([written]);
    const answer = await resultOf(written.id, tenant.token);
    expect([answer.status, answer.text]).toEqual([200, evidence]);
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'content-type': 'text/plain; charset=utf-8',
      'x-content-type-options': 'nosniff',
      'content-security-policy': "default-src 'none'; sandbox",
      'cache-control': 'no-store',
    });
  });

  it('that is empty is not one that was not kept', async () => {
    const tenant = await makeTenant(api);
    const empty = row(tenant.id, { evidence: '' });
    const none = row(tenant.id);
    await sink.write([empty, none]);
    expect(await resultOf(empty.id, tenant.token)).toMatchObject({ status: 200, text: '' });
    expect(await resultOf(none.id, tenant.token)).toMatchObject({
      status: 404,
      body: { type: 'urn:weir:problem:resource.not_found' },
    });
  });

  it('of another tenant is not found', async () => {
    const [mine, theirs] = [await makeTenant(api), await makeTenant(api)];
    const written = row(theirs.id, { evidence: 'theirs' });
    await sink.write([written]);
    expect((await resultOf(written.id, mine.token)).status).toBe(404);
  });
});
