import { runInDurableObject } from 'cloudflare:test';
import { beforeAll, describe, expect, it } from 'vitest';
import { registerLedger, writeJournal } from '../../../src/adapters/d1/journal';
import { pageSizeMax } from '../../../src/base/limits';
import type { EndOp, PlaceOp } from '../../../src/domain/ledger/operations';
import { copyJournals } from '../../../src/jobs/journal';
import {
  type Api,
  db,
  makeApi,
  makeKey,
  makeTenant,
  objects,
  realLedgers,
  type Tenant,
} from './harness';

let api: Api;
let parent: Tenant;
let own: Tenant;

beforeAll(async () => {
  api = makeApi();
  parent = await makeTenant(api);
  own = await makeTenant(api, { parentId: parent.id });
});

const topUp = (tenant: Tenant, id: string, micros: number) =>
  api.made('POST', tenant.at('/ledger/topups'), { id, micros });
const balance = (tenant: Tenant) => api.made('GET', '/ledger', undefined, tenant.token);
const apply = (tenant: Tenant, ends: readonly EndOp[], places: readonly PlaceOp[]) =>
  objects.getByName(tenant.id).apply(ends, places);
const place = (id: string, micros: number): PlaceOp => [
  'place',
  id,
  micros,
  'key_1',
  null,
  ['team', 'a', 'env', 'prod'],
  null,
];
/** That many rows of the log: top-ups of 1, sent together. */
const fill = (stub: ReturnType<typeof objects.getByName>, rows: number) =>
  Promise.all(Array.from({ length: rows }, (_, n) => stub.topUp(`pay_${n}`, 1)));
/** The whole log through the pages, and how many there were. */
async function walk(tenant: Tenant) {
  const seen: { seq: number; index: number }[] = [];
  let after: number | null = 0;
  let pages = 0;
  while (after !== null && pages < 50) {
    const at: string = `/ledger/entries?after=${after}`;
    const page = await api.made('GET', at, undefined, tenant.token);
    expect(page.data.length > 0 || pages === 0).toBe(true);
    seen.push(...page.data);
    after = page.next_after;
    pages += 1;
  }
  return { seen, pages };
}

describe('the copy in D1', () => {
  it('says what was left in the ledger of a tenant that was deleted, also when it was copied only then', async () => {
    const tenant = await makeTenant(api);
    await registerLedger(db, { ledgerTenantId: tenant.id, homeRegion: null }, Date.now());
    await topUp(tenant, 'pay_left', 70);
    for (const one of (await api.made('GET', tenant.at('/principals'))).data)
      await api.send('DELETE', tenant.at(`/principals/${one.id}`));
    expect((await api.send('DELETE', `/tenants/${tenant.id}`)).status).toBe(204);
    await copyJournals(db, realLedgers, Date.now());
    const { results } = await db
      .prepare(
        'select available_micros, settled_micros from ledger_journal where tenant_id = ? order by seq desc limit 1',
      )
      .bind(tenant.id)
      .all();
    expect(results).toEqual([{ available_micros: 70, settled_micros: 0 }]);
  });
});

describe('the balance', () => {
  it('adds up: granted and topped up are available, held or settled', async () => {
    const tenant = await makeTenant(api);
    const gift = { id: 'gift_1', micros: 30, kind: 'promotional' };
    await api.made('POST', tenant.at('/ledger/grants'), gift);
    await topUp(tenant, 'pay_1', 100);
    await apply(tenant, [], [place('hld_1', 60), place('hld_2', 20)]);
    await apply(tenant, [['settle', 'hld_2', 5, true]], []);
    expect(await balance(tenant)).toMatchObject({
      ledger_tenant_id: tenant.id,
      home_region: null,
      granted_micros: 30,
      topped_up_micros: 100,
      available_micros: 65,
      held_micros: 60,
      settled_micros: 5,
      settled_today_micros: 5,
      open_holds: 1,
      debt_micros: 0,
      daily_cap_micros: null,
      budgets: [],
      limits: { version: 0, stored_version: 0, in_force: true },
      seq: 4,
      copied_seq: 0,
    });
  });

  it('names the blocks that are left in the order of burning', async () => {
    const tenant = await makeTenant(api);
    await topUp(tenant, 'pay_1', 10);
    const earned = { id: 'gift_1', micros: 20, kind: 'earned' };
    await api.made('POST', tenant.at('/ledger/grants'), earned);
    const { blocks } = await balance(tenant);
    expect(blocks.map((block: { id: string; kind: string }) => [block.id, block.kind])).toEqual([
      ['gift_1', 'earned'],
      ['pay_1', 'purchased'],
    ]);
  });
});

describe('a credit', () => {
  it('is booked once: the same request gives the same answer', async () => {
    const tenant = await makeTenant(api);
    const first = await topUp(tenant, 'pay_1', 100);
    await topUp(tenant, 'pay_2', 1);
    expect(await topUp(tenant, 'pay_1', 100)).toEqual(first);
    expect(first).toEqual({
      id: 'pay_1',
      ledger_tenant_id: tenant.id,
      kind: 'purchased',
      micros: 100,
      seq: 1,
    });
    expect((await balance(tenant)).topped_up_micros).toBe(101);
  });

  it('with an id that stands for another amount or kind books nothing', async () => {
    const tenant = await makeTenant(api);
    await topUp(tenant, 'pay_1', 100);
    const others = [
      ['/ledger/topups', { id: 'pay_1', micros: 99 }],
      ['/ledger/grants', { id: 'pay_1', micros: 100, kind: 'earned' }],
    ] as const;
    for (const [path, body] of others) {
      const answer = await api.send('POST', tenant.at(path), { body });
      expect(answer).toMatchObject({
        status: 409,
        body: { type: 'urn:weir:problem:ledger.id_conflict' },
      });
    }
    expect(await balance(tenant)).toMatchObject({ topped_up_micros: 100, granted_micros: 0 });
  });

  it.each([
    [{ id: 'p', micros: 0 }, 'micros'],
    [{ id: 'p', micros: -5 }, 'micros'],
    [{ id: 'p', micros: 1.5 }, 'micros'],
    [{ id: 'p', micros: 1e15 }, 'micros'],
    [{ id: 'p', micros: '5' }, 'micros'],
    [{ id: '', micros: 5 }, 'id'],
    [{ id: 'a b', micros: 5 }, 'id'],
    [{ id: 'x'.repeat(65), micros: 5 }, 'id'],
    [{ micros: 5 }, 'id'],
  ])('%j is refused', async (body, path) => {
    const answer = await api.send('POST', own.at('/ledger/topups'), { body });
    expect(answer).toMatchObject({ status: 400, body: { errors: [{ path }] } });
  });

  it('is made by the operator only, and goes to the ledger that pays', async () => {
    const child = await makeTenant(api, { parentId: parent.id });
    const body = { name: 'child', ledger_tenant_id: parent.id };
    await api.made('PUT', `/tenants/${child.id}`, body, parent.token);
    const refused = await api.send('POST', '/ledger/topups', {
      key: parent.token,
      body: { id: 'pay_mine', micros: 5 },
    });
    expect(refused).toMatchObject({ status: 403, body: { needs: 'operator' } });
    expect((await topUp(child, 'pay_child', 7)).ledger_tenant_id).toBe(parent.id);
  });
});

describe("whose books a key sees: its tenant's and those below", () => {
  let paid: Tenant;
  const paths = ['/ledger', '/ledger/holds', '/ledger/entries', '/ledger/audit'];
  const all = [...paths, '/ledger/reviews', '/idempotency'];

  beforeAll(async () => {
    paid = await makeTenant(api, { parentId: parent.id });
    const body = { name: 'paid', ledger_tenant_id: parent.id };
    await api.made('PUT', `/tenants/${paid.id}`, body, parent.token);
  });

  it.each(all)('%s: a tenant that an ancestor pays for does not see the ancestor', async (path) => {
    const answer = await api.send('GET', path, { key: paid.token });
    expect(answer).toMatchObject({ status: 403, body: { needs: 'a key of the ledger tenant' } });
  });

  it.each(all)('%s: the ancestor and the operator see it through the child', async (path) => {
    expect((await api.send('GET', paid.at(path), { key: parent.token })).status).toBe(200);
    expect((await api.send('GET', paid.at(path))).status).toBe(200);
  });

  it.each(all)('%s: a sibling is not found', async (path) => {
    expect((await api.send('GET', paid.at(path), { key: own.token })).status).toBe(404);
  });
});

describe('open holds', () => {
  it('are listed beyond one page of the object, whole', async () => {
    const tenant = await makeTenant(api);
    await topUp(tenant, 'pay_1', 1_000);
    const ids = Array.from(
      { length: pageSizeMax + 5 },
      (_, n) => `hld_${String(n).padStart(4, '0')}`,
    );
    await apply(
      tenant,
      [],
      ids.map((id) => place(id, 1)),
    );
    const first = await api.made('GET', '/ledger/holds?limit=100', undefined, tenant.token);
    expect(first.data).toHaveLength(100);
    expect(first.next_cursor).not.toBeNull();
    const path = `/ledger/holds?limit=100&cursor=${encodeURIComponent(first.next_cursor)}`;
    const second = await api.made('GET', path, undefined, tenant.token);
    expect(second.next_cursor).toBeNull();
    const seen = [...first.data, ...second.data].map((hold: { id: string }) => hold.id);
    expect(seen).toEqual(ids);
    expect(first.data[0]).toMatchObject({
      amount_micros: 1,
      key_id: 'key_1',
      tags: { team: 'a', env: 'prod' },
      record_id: null,
    });
  });

  it('refuse the cursor of another list', async () => {
    const cursor = btoa('review:hld_1');
    const answer = await api.send('GET', `/ledger/holds?cursor=${cursor}`, { key: own.token });
    expect(answer).toMatchObject({ status: 400, body: { errors: [{ path: 'cursor' }] } });
  });
});

describe('entries', () => {
  it('are the log from its first row, without a gap or a repeat, at any length', async () => {
    for (const rows of [0, 1, pageSizeMax - 1, pageSizeMax, pageSizeMax + 1, 2 * pageSizeMax]) {
      const tenant = await makeTenant(api);
      const stub = objects.getByName(tenant.id);
      await fill(stub, rows);
      const { seen } = await walk(tenant);
      expect(seen.map((entry) => entry.seq)).toEqual(Array.from({ length: rows }, (_, n) => n + 1));
    }
  });

  it('of one row stay together, however many they are', async () => {
    const tenant = await makeTenant(api);
    await topUp(tenant, 'pay_1', 10_000);
    for (let row = 0; row < 5; row += 1) {
      const places = Array.from({ length: 400 }, (_, n) => place(`hld_${row}_${n}`, 1));
      await apply(tenant, [], places);
    }
    const { seen, pages } = await walk(tenant);
    expect(pages).toBeGreaterThan(1);
    expect(seen).toHaveLength(2_001);
    for (const [at, entry] of seen.entries()) {
      const before = seen[at - 1];
      const follows = before?.seq === entry.seq ? before.index + 1 : 0;
      expect([entry.seq, entry.index]).toEqual([entry.seq, follows]);
    }
  });

  it('that the object has given away are read from the copy', async () => {
    const tenant = await makeTenant(api);
    const stub = objects.getByName(tenant.id);
    await fill(stub, 250);
    for (const kept of [130, 0]) {
      const { rows } = await stub.outbox(500);
      await writeJournal(db, tenant.id, rows);
      await runInDurableObject(stub, (_, { storage }) => {
        storage.sql.exec('DELETE FROM log WHERE seq <= ?', 250 - kept);
      });
      const { seen } = await walk(tenant);
      expect(seen.map((entry) => entry.seq)).toEqual(Array.from({ length: 250 }, (_, n) => n + 1));
    }
  });

  it('that neither the object nor the copy has are a fault, never a shorter list', async () => {
    const tenant = await makeTenant(api);
    const stub = objects.getByName(tenant.id);
    await fill(stub, 3);
    await runInDurableObject(stub, (_, { storage }) => {
      storage.sql.exec('DELETE FROM log WHERE seq <= 2');
    });
    expect((await api.send('GET', '/ledger/entries', { key: tenant.token })).status).toBe(500);
  });

  it.each(['after=-1', 'after=x', 'after=1.5', 'after=', 'after=9007199254740993', 'format=xml'])(
    'refuse ?%s',
    async (query) => {
      const answer = await api.send('GET', `/ledger/entries?${query}`, { key: own.token });
      const path = query.split('=')[0];
      expect(answer).toMatchObject({ status: 400, body: { errors: [{ path }] } });
    },
  );
});

describe('entries as CSV', () => {
  const csv = { accept: 'text/csv' };

  it('have a header line, one line an entry, and no formula', async () => {
    const tenant = await makeTenant(api);
    await topUp(tenant, '=2+5', 100);
    const tags = ['team', 'a"b,c'];
    await apply(tenant, [], [['place', 'hld_1', 60, 'key_1', null, tags, null]]);
    const answer = await api.send('GET', '/ledger/entries?format=csv', { key: tenant.token });
    expect(answer.headers.get('content-type')).toBe('text/csv; charset=utf-8; header=present');
    expect(answer.headers.get('cache-control')).toBe('no-store');
    const lines = answer.text.split('\r\n');
    expect(lines).toHaveLength(4);
    expect(lines[0]).toBe('seq,index,at,kind,id,micros,held_micros,key_id,tags,note');
    expect(lines[1]).toMatch(/^1,0,[^,]+,top_up,'=2\+5,100,,,,$/);
    expect(lines[2]).toContain('place,hld_1,60,,key_1,"{""team"":""a\\""b,c""}",');
    expect(lines[3]).toBe('');
  });

  it('are given to who accepts them, and JSON to everybody else', async () => {
    const type = async (headers: Record<string, string>, query = '') =>
      (await api.send('GET', `/ledger/entries${query}`, { key: own.token, headers })).headers.get(
        'content-type',
      );
    expect(await type(csv)).toContain('text/csv');
    expect(await type({ accept: 'text/csv;q=0.9, */*' })).toContain('text/csv');
    expect(await type({ accept: '*/*' })).toBe('application/json');
    expect(await type({ accept: 'text/csvx' })).toBe('application/json');
    expect(await type(csv, '?format=json')).toBe('application/json');
  });

  it('name the next page in Link and end without one', async () => {
    const tenant = await makeTenant(api);
    const stub = objects.getByName(tenant.id);
    await fill(stub, pageSizeMax + 20);
    let path: string | undefined = '/ledger/entries?format=csv';
    const seqs: number[] = [];
    while (path !== undefined) {
      const answer = await api.send('GET', path, { key: tenant.token });
      const lines = answer.text.trimEnd().split('\r\n').slice(1);
      seqs.push(...lines.map((line) => Number(line.split(',')[0])));
      path = /<([^>]+)>; rel="next"/.exec(answer.headers.get('link') ?? '')?.[1];
    }
    expect(seqs).toEqual(Array.from({ length: pageSizeMax + 20 }, (_, n) => n + 1));
  });

  it('are refused as problems', async () => {
    const answer = await api.send('GET', '/ledger/entries?after=x', {
      key: own.token,
      headers: csv,
    });
    expect(answer.headers.get('content-type')).toBe('application/problem+json');
  });
});

describe('idempotency records', () => {
  /** A tenant with one claim of 60 on 100, marked unknown. */
  async function unknownCall() {
    const tenant = await makeTenant(api);
    await topUp(tenant, 'pay_1', 100);
    const claim = ['idm_1', 'prn_1', 'order-7', 'fingerprint'] as const;
    await apply(tenant, [], [['place', 'hld_1', 60, 'key_1', null, null, claim]]);
    const before = await resolve(tenant, { resolution: 'free' }, tenant.token);
    expect(before).toMatchObject(notUnknown('claimed'));
    await apply(tenant, [['unknown', 'idm_1']], []);
    return tenant;
  }
  const notUnknown = (state: string) => ({
    status: 409,
    body: { type: 'urn:weir:problem:idempotency.not_unknown', state },
  });
  const resolve = (tenant: Tenant, body: object, key?: string) =>
    api.send('POST', tenant.at('/idempotency/idm_1/resolve'), {
      body,
      ...(key === undefined ? {} : { key }),
    });

  it('show key, scope and state, and never an answer', async () => {
    const tenant = await unknownCall();
    const { data } = await api.made('GET', '/idempotency', undefined, tenant.token);
    expect(data).toHaveLength(1);
    expect(data[0]).toMatchObject({
      id: 'idm_1',
      hold_id: 'hld_1',
      scope: 'prn_1',
      key: 'order-7',
      state: 'unknown',
      status: null,
    });
    expect(Object.keys(data[0])).not.toContain('fingerprint');
  });

  it('that are settled charge the whole hold, once', async () => {
    const tenant = await unknownCall();
    const answer = await resolve(tenant, { resolution: 'settle' }, tenant.token);
    expect(answer.body).toEqual({ id: 'idm_1', resolution: 'settle', charged_micros: 60 });
    for (const resolution of ['settle', 'free']) {
      const again = await resolve(tenant, { resolution }, tenant.token);
      expect(again).toMatchObject(notUnknown('resolved'));
    }
    expect(await balance(tenant)).toMatchObject({ settled_micros: 60, held_micros: 0 });
  });

  it('that are freed release the hold and are gone', async () => {
    const tenant = await unknownCall();
    const answer = await resolve(tenant, { resolution: 'free' }, tenant.token);
    expect(answer.body).toMatchObject({ charged_micros: 0 });
    expect((await resolve(tenant, { resolution: 'free' }, tenant.token)).status).toBe(404);
    expect(await balance(tenant)).toMatchObject({ available_micros: 100, held_micros: 0 });
    expect((await api.made('GET', '/idempotency', undefined, tenant.token)).data).toEqual([]);
  });

  it('are charged another amount by the operator only', async () => {
    const tenant = await unknownCall();
    const body = { resolution: 'settle', charge_micros: 0 };
    expect(await resolve(tenant, body, tenant.token)).toMatchObject({
      status: 403,
      body: { needs: 'operator' },
    });
    expect((await balance(tenant)).held_micros).toBe(60);
    const answer = await resolve(tenant, { resolution: 'settle', charge_micros: 45 });
    expect(answer.body).toMatchObject({ charged_micros: 45 });
    expect(await balance(tenant)).toMatchObject({ settled_micros: 45, available_micros: 55 });
  });

  it.each([{}, { resolution: 'maybe' }, { resolution: 'free', charge_micros: 5 }])(
    'refuse %j',
    async (body) => {
      const tenant = await makeTenant(api);
      expect((await resolve(tenant, body)).status).toBe(400);
    },
  );

  it('are not resolved by a member', async () => {
    const tenant = await unknownCall();
    const { token } = await makeKey(api, tenant.id, 'member');
    expect((await resolve(tenant, { resolution: 'free' }, token)).status).toBe(403);
  });
});

describe('reviews', () => {
  it('are listed until closed, and closed by the operator once', async () => {
    const tenant = await makeTenant(api);
    await runInDurableObject(objects.getByName(tenant.id), (_, { storage }) => {
      const insert = 'INSERT INTO review (hold_id, micros, at) VALUES (?, ?, ?)';
      storage.sql.exec(insert, 'hld_1', 60, Date.UTC(2030, 0, 1));
    });
    const list = async () =>
      (await api.made('GET', '/ledger/reviews', undefined, tenant.token)).data[0];
    expect(await list()).toEqual({
      id: 'hld_1',
      micros: 60,
      expired_at: '2030-01-01T00:00:00.000Z',
      closed_at: null,
      closed_by: null,
    });
    const close = (id: string, key?: string) =>
      api.send('POST', tenant.at(`/ledger/reviews/${id}/close`), key === undefined ? {} : { key });
    expect((await close('hld_1', tenant.token)).status).toBe(403);
    expect((await close('hld_2')).status).toBe(404);
    expect((await close('hld_1')).body).toEqual({ id: 'hld_1', closed: true });
    expect((await close('hld_1')).status).toBe(404);
    expect(await list()).toMatchObject({ closed_by: 'operator' });
  });
});

describe('an audit', () => {
  it('of an honest ledger is clean', async () => {
    const tenant = await makeTenant(api);
    await topUp(tenant, 'pay_1', 100);
    await apply(tenant, [], [place('hld_1', 60)]);
    const answer = await api.made('GET', '/ledger/audit', undefined, tenant.token);
    expect(answer).toEqual({
      outcome: 'clean',
      seq: 2,
      until_seq: null,
      from_seq: 0,
      what: null,
      copy: { outcome: 'clean', seq: 0, what: null },
    });
  });

  /** A ledger of 250 rows whose log is in D1, as the journal job leaves it. */
  async function copied() {
    const tenant = await makeTenant(api);
    const stub = objects.getByName(tenant.id);
    await fill(stub, 250);
    const { rows } = await stub.outbox(500);
    await writeJournal(db, tenant.id, rows);
    await stub.acknowledge(250);
    return tenant;
  }
  const audit = async (tenant: Tenant) =>
    (await api.made('GET', '/ledger/audit', undefined, tenant.token)).copy;

  it("replays D1's copy of the log as well", async () => {
    expect(await audit(await copied())).toEqual({ outcome: 'clean', seq: 250, what: null });
  });

  it('takes a copy that is behind as it is', async () => {
    const tenant = await copied();
    await topUp(tenant, 'pay_later', 5);
    expect(await audit(tenant)).toEqual({ outcome: 'clean', seq: 250, what: null });
  });

  it.each([
    ['delete from ledger_journal where seq = 100', 'rows are missing between 99 and 101'],
    [
      'delete from ledger_journal where seq > 240',
      'the ledger gave away row 250, the copy ends at 240',
    ],
    [
      'update ledger_journal set available_micros = 7 where seq = 100',
      'row 100: the entries do not give the amounts of their row',
    ],
    [`update ledger_journal set ops = '[' where seq = 100`, 'row 100: the entries are no JSON'],
    [
      `update ledger_journal set ops = '[null]' where seq = 100`,
      'row 100: a log row has an entry of an unknown code',
    ],
  ])('finds what %s has done', async (sql, what) => {
    const tenant = await copied();
    await db.prepare(`${sql} and tenant_id = ?`).bind(tenant.id).run();
    expect(await audit(tenant)).toMatchObject({ outcome: 'fault', what });
  });

  it('of a log that was tampered with names a fault', async () => {
    const tenant = await makeTenant(api);
    await topUp(tenant, 'pay_1', 100);
    await runInDurableObject(objects.getByName(tenant.id), (_, { storage }) => {
      storage.sql.exec('UPDATE log SET available = 101');
    });
    const answer = await api.made('GET', '/ledger/audit', undefined, tenant.token);
    expect(answer).toMatchObject({ outcome: 'fault', what: expect.any(String) });
  });
});
