/** D1Catalog: how old a catalog may be, who waits for the store, what is remembered. Virtual clock. */
import { describe, expect, it } from 'vitest';
import { D1Catalog } from '../../../../src/adapters/d1/catalog';
import type { CatalogReader } from '../../../../src/adapters/d1/catalog-reader';
import { configRetryMs, staleConfigMaxMs } from '../../../../src/base/limits';
import { catalogEntriesMax } from '../../../../src/base/limits-money';
import { err } from '../../../../src/base/result';
import type { CatalogEntry } from '../../../../src/ports/catalog';
import { backgroundOf, unavailable as refusal, startMs } from '../../call/calls';
import { endpoint, provider } from '../../domain/catalog/rows';

const ttlMs = 10_000;
const unavailable = err(refusal);

/** What the store holds, and how it behaves. */
function world(ids: readonly string[] = ['vendor.search']) {
  const state = { version: 1, ids: [...ids], down: false, gate: null as Promise<void> | null };
  const reads = { version: 0, snapshot: 0, entry: 0 };
  const clock = { nowMs: startMs };
  const entryOf = (id: string): CatalogEntry | null =>
    state.ids.includes(id)
      ? { endpoint: endpoint({ id, summary: `v${state.version}` }), provider: provider() }
      : null;
  const reader: Pick<CatalogReader, 'version' | 'snapshot' | 'entry'> = {
    async version() {
      reads.version += 1;
      return state.down ? null : state.version;
    },
    async snapshot() {
      reads.snapshot += 1;
      if (state.down) return null;
      const answer = {
        version: state.version,
        headings: state.ids.map((id) => ({
          id,
          capability: 'web.search',
          access: 'account' as const,
          guideMicros: null,
          retired: false,
        })),
      };
      if (state.gate !== null) await state.gate;
      return answer;
    },
    async entry(id) {
      reads.entry += 1;
      return state.down ? null : { version: state.version, entry: entryOf(id) };
    },
  };
  const background = backgroundOf();
  const catalog = new D1Catalog({ reader, ttlMs, nowMs: () => clock.nowMs });
  const context = () => ({ nowMs: clock.nowMs, background });
  const find = (id = 'vendor.search') => catalog.endpoint(id, context());
  const at = (ageMs: number): void => {
    clock.nowMs = startMs + ageMs;
  };
  return { state, reads, background, catalog, context, find, at };
}

const found = (id = 'vendor.search', version = 1) => ({
  ok: true,
  value: { endpoint: { id, summary: `v${version}` }, provider: { slug: 'vendor' } },
});

describe('a warm isolate', () => {
  it('asks no store, for a row, a diagnosis or an id that does not exist', async () => {
    const { reads, background, catalog, context, find } = world();
    await find();
    const before = { ...reads };
    expect(find()).toMatchObject(found());
    for (let n = 0; n < 100; n++) expect(find(`vendor.x${n}`)).toEqual({ ok: true, value: null });
    expect(catalog.near('vendor.serch', context())).toMatchObject({
      value: { didYouMean: ['vendor.search'] },
    });
    expect([reads, background.work.length]).toEqual([before, 0]);
  });

  it('reads a row once', async () => {
    const { reads, find } = world(['vendor.a', 'vendor.b']);
    await find('vendor.a');
    await find('vendor.b');
    expect(find('vendor.a')).not.toBeInstanceOf(Promise);
    expect(reads).toEqual({ version: 0, snapshot: 1, entry: 2 });
  });
});

describe('freshness', () => {
  it.each([ttlMs / 2, ttlMs - 1])(
    '%i ms old: at once, refreshed behind, once for all',
    async (ageMs) => {
      const { reads, background, find, at } = world();
      await find();
      at(ageMs);
      for (let i = 0; i < 5; i++) expect(find()).toMatchObject(found());
      await Promise.all(background.work);
      expect([reads.version, reads.snapshot, background.work.length]).toEqual([1, 1, 1]);
      at(ageMs + ttlMs / 2 - 1);
      expect(find()).toMatchObject(found());
      expect(reads.version).toBe(1);
    },
  );

  it('at the TTL: one awaited read of the version, then fresh again', async () => {
    const { reads, find, at } = world();
    await find();
    at(ttlMs);
    const again = find();
    expect(again).toBeInstanceOf(Promise);
    expect(await again).toMatchObject(found());
    expect(reads).toEqual({ version: 1, snapshot: 1, entry: 1 });
    expect(find()).not.toBeInstanceOf(Promise);
  });

  it('an import is seen within the TTL: new rows, changed rows, removed rows', async () => {
    const { state, find, at } = world(['vendor.search', 'vendor.gone']);
    await find();
    await find('vendor.gone');
    state.version = 2;
    state.ids = ['vendor.search', 'vendor.new'];
    at(ttlMs);
    expect(await find()).toMatchObject(found('vendor.search', 2));
    expect(await find('vendor.new')).toMatchObject(found('vendor.new', 2));
    expect(await find('vendor.gone')).toEqual({ ok: true, value: null });
  });

  it('a refresh behind a call brings the new version to the next one', async () => {
    const { state, background, find, at } = world();
    await find();
    state.version = 2;
    at(ttlMs / 2);
    expect(find()).toMatchObject(found());
    await Promise.all(background.work);
    expect(await find()).toMatchObject(found('vendor.search', 2));
  });

  it('a row that is newer than what is held is answered, not kept, and refreshes the rest', async () => {
    const { state, background, reads, find } = world(['vendor.a', 'vendor.b']);
    await find('vendor.a');
    state.version = 2;
    expect(await find('vendor.b')).toMatchObject(found('vendor.b', 2));
    await Promise.all(background.work);
    expect(await find('vendor.a')).toMatchObject(found('vendor.a', 2));
    expect(reads.snapshot).toBe(2);
  });

  it('a restored database with a lower version is followed too', async () => {
    const { state, find, at } = world();
    state.version = 9;
    await find();
    state.version = 3;
    at(ttlMs);
    expect(await find()).toMatchObject(found('vendor.search', 3));
  });
});

describe('while D1 does not answer', () => {
  it('a cold isolate refuses, and asks once a second at most', async () => {
    const { state, reads, catalog, context, find, at } = world();
    state.down = true;
    expect(await find()).toEqual(unavailable);
    for (let n = 0; n < 10; n++) expect(await find()).toEqual(unavailable);
    expect(await catalog.near('a.b', context())).toEqual(unavailable);
    expect(reads.snapshot).toBe(1);
    state.down = false;
    at(configRetryMs);
    expect(await find()).toMatchObject(found());
  });

  it('a row that was never read is refused, one that was is served', async () => {
    const { state, find } = world(['vendor.a', 'vendor.b']);
    await find('vendor.a');
    state.down = true;
    expect(await find('vendor.a')).toMatchObject(found('vendor.a'));
    expect(await find('vendor.b')).toEqual(unavailable);
  });

  it.each([ttlMs, 60_000, staleConfigMaxMs - 1])(
    '%i ms old: the last good catalog, counted',
    async (ageMs) => {
      const { state, catalog, find, at } = world();
      await find();
      state.down = true;
      at(ageMs);
      expect(await find()).toMatchObject(found());
      expect(catalog.counters).toEqual({ staleServed: 1, refreshFailed: 1 });
    },
  );

  it('at staleConfigMaxMs nothing is served', async () => {
    const { state, find, at } = world();
    await find();
    state.down = true;
    at(staleConfigMaxMs);
    expect(await find()).toEqual(unavailable);
  });

  it('one call of an outage waits for it, the others do not, and it is asked again behind them', async () => {
    const { state, reads, background, find, at } = world();
    await find();
    state.down = true;
    at(ttlMs);
    await find();
    for (let n = 0; n < 20; n++) expect(find()).not.toBeInstanceOf(Promise);
    expect(reads.version).toBe(1);
    at(ttlMs + configRetryMs);
    state.down = false;
    for (let n = 0; n < 20; n++) expect(find()).not.toBeInstanceOf(Promise);
    await Promise.all(background.work);
    expect(reads.version).toBe(2);
    expect(find()).toMatchObject(found());
  });
});

describe('no request waits for another one', () => {
  it('cold calls read for themselves', async () => {
    const { state, reads, find } = world();
    const gate = Promise.withResolvers<void>();
    state.gate = gate.promise;
    const stuck = find();
    state.gate = null;
    expect(await find()).toMatchObject(found());
    expect(reads.snapshot).toBe(2);
    gate.resolve();
    expect(await stuck).toMatchObject(found());
  });
});

describe('memory is bounded', () => {
  it('whole rows: catalogEntriesMax, the least recently used goes', async () => {
    const ids = Array.from({ length: catalogEntriesMax + 1 }, (_, n) => `vendor.n${n}`);
    const { reads, find } = world(ids);
    for (const id of ids) await find(id);
    const before = reads.entry;
    expect(find(`vendor.n${catalogEntriesMax}`)).not.toBeInstanceOf(Promise);
    await find('vendor.n0');
    expect(reads.entry - before).toBe(1);
  });
});
