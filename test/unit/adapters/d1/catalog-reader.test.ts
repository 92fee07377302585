/** The statements of the catalog over a real D1: one snapshot each, every shape of the documents survives. */
import { env } from 'cloudflare:test';
import { beforeAll, describe, expect, it } from 'vitest';
import { CatalogReader } from '../../../../src/adapters/d1/catalog-reader';
import type { Bindings } from '../../../../src/env';
import { endpoint, parameter, provider } from '../../domain/catalog/rows';

const db = (env as unknown as Bindings).DB;
const lines: string[] = [];
const reader = new CatalogReader(db, (event) => lines.push(event));
const row = endpoint({
  capability: "it's",
  parameters: [parameter('query', 'q', { description: '"quoted" \u2028 ü' })],
});
const vendor = provider({ requiredHeaders: [['x-version', '1']] });

describe('before the first import', () => {
  it('the version is 0 and there is nothing', async () => {
    expect(await reader.version()).toBe(0);
    expect(await reader.snapshot()).toEqual({ version: 0, headings: [] });
    expect(await reader.entry('vendor.search')).toEqual({ version: 0, entry: null });
  });
});

describe('after it', () => {
  beforeAll(async () => {
    await db.batch([
      db
        .prepare('insert into catalog_providers (slug, name, document) values (?, ?, ?)')
        .bind('vendor', 'Vendor', JSON.stringify(vendor)),
      db
        .prepare(
          'insert into catalog_endpoints (id, provider, capability, summary, access, guide_micros, retired, document) values (?, ?, ?, ?, ?, ?, ?, ?)',
        )
        .bind(row.id, 'vendor', row.capability, 's', 'account', null, 1, JSON.stringify(row)),
      db.prepare('insert into catalog_state (id, version, applied_at) values (1, 7, 0)'),
    ]);
  });

  it('a snapshot has all headings', async () => {
    expect(await reader.version()).toBe(7);
    expect(await reader.snapshot()).toEqual({
      version: 7,
      headings: [
        { id: row.id, capability: "it's", access: 'account', guideMicros: null, retired: true },
      ],
    });
  });

  it('an entry is the row and its provider, as they were written', async () => {
    expect(await reader.entry(row.id)).toEqual({
      version: 7,
      entry: { endpoint: row, provider: vendor },
    });
    expect(await reader.entry('vendor.none')).toEqual({ version: 7, entry: null });
  });

  it('a row that an older version imported has what was added since as null', async () => {
    const { balance, rate, ...olderVendor } = vendor;
    const { rate: ownRate, ...olderRow } = row;
    await db.batch([
      db.prepare('update catalog_providers set document = ?').bind(JSON.stringify(olderVendor)),
      db.prepare('update catalog_endpoints set document = ?').bind(JSON.stringify(olderRow)),
    ]);
    expect((await reader.entry(row.id))?.entry).toEqual({ endpoint: row, provider: vendor });
  });

  it('a store that fails is no answer, and a line in the log', async () => {
    const fails = () => Promise.reject(new Error('down'));
    const statement = { bind: () => statement, all: fails, raw: fails };
    const broken = { prepare: () => statement, batch: fails };
    const down = new CatalogReader(broken as unknown as D1Database, (event) => lines.push(event));
    expect([await down.version(), await down.snapshot(), await down.entry('a.b')]).toEqual([
      null,
      null,
      null,
    ]);
    expect(lines).toEqual(Array(3).fill('catalog.read_failed'));
  });
});
