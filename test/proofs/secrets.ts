/**
 * `npm run prove -- secrets`: a canary in every binding kind, and every byte that leaves the gateway is searched for it: answers to the
 * caller, what other origins and the resolver get, logs, every stored row, every management read (issue 2; cases C005, C024, C052, C053).
 * The detector shows first, on planted leaks, that it sees each spelling.
 */

import { leaksIn } from '../support/leak-detector.ts';
import { holds, type Proof, type Row, same } from '../support/proof.ts';
import { accountRows, keptRows } from './secrets/account-rows.ts';
import { carrierRows } from './secrets/carriers.ts';
import { echoRows } from './secrets/echoes.ts';
import { plantedRows } from './secrets/planted.ts';
import { refusalRows } from './secrets/refusals.ts';
import { allCanaries, kinds, type Scene, search, send, setScene } from './secrets/scene.ts';

/** The proof; see the head of this file. */
export const proof: Proof = {
  name: 'secrets',
  title: 'no credential and no Weir key leaves the gateway except to the upstream it is bound to',
  async stage({ short }) {
    const scene = await setScene();
    return {
      rows: [
        ...plantedRows,
        ...echoRows(scene, short),
        ...carrierRows(scene),
        ...accountRows(scene),
        ...refusalRows(scene),
        storeFaultRow(scene),
        readsRow(scene, short),
        storeRow(scene),
        ...keptRows(scene),
        logRow(scene),
        originsRow(scene),
      ],
      figure: () =>
        `${scene.found.length} found in ${(scene.searchedBytes.count / 1_000_000).toFixed(1)} MB that left`,
      dispose: scene.dispose,
    };
  },
};

const none = (leaks: readonly string[]): void =>
  holds(leaks.length === 0, `${leaks.length} leaks: ${leaks.slice(0, 6).join(' | ')}`);

/** `config.unavailable`: the store's own error text names columns and must stay inside. */
function storeFaultRow(scene: Scene): Row {
  return {
    name: 'a store that fails under a call: 503, no secret in the answer',
    async run() {
      const principal = await scene.scenario.post('/principals', { name: 'late', role: 'member' });
      const key = await scene.scenario.post('/keys', { name: 'late', principal_id: principal.id });
      const db = await scene.gateway.db();
      await db.prepare('alter table access_keys rename to access_keys_away').run();
      try {
        const sent = { path: '/call/bearer/x', token: key.token, isolate: 1 };
        const bytes = await send(scene, sent);
        holds(
          bytes.includes('urn:weir:problem:config.unavailable'),
          bytes.toString().slice(0, 200),
        );
        none(search(scene, bytes, 'the answer without a store'));
      } finally {
        await db.prepare('alter table access_keys_away rename to access_keys').run();
      }
    },
  };
}

/** Pages of one list that are read at most: the proof makes some thousand calls, and their rows are all searched in the store. */
const pagesMax = 8;

function readsRow(scene: Scene, short: boolean): Row {
  const detailsMax = short ? 6 : 25;
  return {
    name: 'management reads (every list, every resource, calls with their evidence) show no secret',
    async run() {
      const leaks: string[] = [];
      const lists = [
        'tenants',
        'principals',
        'keys',
        'secrets',
        'upstreams',
        'routes',
        'deny-rules',
        'projects',
        'calls',
      ];
      let reads = 0;
      for (const list of lists) {
        let cursor: string | null = null;
        for (let page = 0; page < pagesMax; page += 1) {
          const query = `tenant=${scene.scenario.tenantId}&limit=100${cursor === null ? '' : `&cursor=${cursor}`}`;
          const { status, body } = await scene.gateway.api('GET', `/api/v1/${list}?${query}`);
          same(status, 200, `GET ${list}`);
          leaks.push(...search(scene, Buffer.from(JSON.stringify(body)), `GET ${list}`));
          reads +=
            1 + (await details(scene, { list, items: body.data.slice(0, detailsMax), leaks }));
          cursor = body.next_cursor;
          if (cursor === null) break;
        }
      }
      none(leaks);
      return `${reads} reads`;
    },
  };
}

interface Details {
  readonly list: string;
  readonly items: readonly { readonly id: string }[];
  readonly leaks: string[];
}

async function details(scene: Scene, { list, items, leaks }: Details): Promise<number> {
  for (const { id } of items) {
    const path = `/api/v1/${list}/${id}?tenant=${scene.scenario.tenantId}`;
    const { body } = await scene.gateway.api('GET', path);
    leaks.push(...search(scene, Buffer.from(JSON.stringify(body)), path));
  }
  return items.length;
}

/** Longest wait for the buffered call rows, milliseconds. */
const flushMaxMs = 10_000;

function storeRow(scene: Scene): Row {
  return {
    name: 'no row of any table holds a secret in any spelling; evidence was written',
    async run() {
      await flushed(scene);
      const db = await scene.gateway.db();
      const names = `select name from sqlite_master where type = 'table' and name not like '\\_cf%' escape '\\'`;
      const tables = (await db.prepare(names).all()).results.map((row) => String(row.name));
      const leaks: string[] = [];
      let rows = 0;
      for (const table of tables) {
        const { results } = await db.prepare(`select * from "${table}"`).all();
        rows += results.length;
        for (let from = 0; from < results.length; from += 200) {
          const bytes = Buffer.from(
            results
              .slice(from, from + 200)
              .map(cells)
              .join('\n'),
            'latin1',
          );
          leaks.push(...search(scene, bytes, `table ${table}`));
        }
      }
      none(leaks);
      const { results } = await db
        .prepare('select count(*) as n from calls where evidence is not null')
        .all();
      holds(Number(results[0]?.n) > 100, `evidence rows: ${JSON.stringify(results)}`);
      return `${rows} rows of ${tables.length} tables, ${String(results[0]?.n)} with evidence`;
    },
  };
}

/** The row's cells as bytes; blobs come as arrays of numbers. */
const cells = (row: Record<string, unknown>): string =>
  Object.values(row)
    .map((cell) =>
      Array.isArray(cell)
        ? Buffer.from(cell).toString('latin1')
        : Buffer.from(String(cell)).toString('latin1'),
    )
    .join(' ');

/** Waits until the last call's row is there. */
async function flushed(scene: Scene): Promise<void> {
  await send(scene, { path: '/call/elsewhere/last' });
  const db = await scene.gateway.db();
  const deadline = Date.now() + flushMaxMs;
  for (;;) {
    const { results } = await db
      .prepare(`select count(*) as n from calls where path = '/last'`)
      .all();
    if (Number(results[0]?.n) > 0) return;
    holds(Date.now() < deadline, 'the call rows were not written');
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

function logRow(scene: Scene): Row {
  return {
    name: 'logs: no secret in anything that the gateway printed',
    async run() {
      const output = Buffer.from(scene.gateway.output());
      none(search(scene, output, 'the log'));
      return `${output.length} bytes`;
    },
  };
}

/** The vendor's bytes are searched in pieces; no secret is longer than the overlap. */
const pieceBytes = 64 * 1024;
const overlapBytes = 1_024;

function originsRow(scene: Scene): Row {
  return {
    name: 'other origins and the resolver got no secret; redirects were not followed; the vendor got no Weir key',
    async run() {
      const got = Buffer.concat([
        ...scene.elsewhere.connections.map(({ bytes }) => bytes),
        scene.dns.received(),
      ]);
      none(search(scene, got, 'another origin'));
      const vendor = Buffer.concat(scene.vendor.connections.map(({ bytes }) => bytes));
      const seen = new Set<string>();
      for (let from = 0; from < vendor.length; from += pieceBytes - overlapBytes) {
        const piece = vendor.subarray(from, from + pieceBytes);
        for (const { canary } of leaksIn(piece, allCanaries(scene))) seen.add(canary);
      }
      const stolen = scene.others.filter(({ name }) => seen.has(name)).map(({ name }) => name);
      scene.found.push(...stolen.map((canary) => ({ canary, spelling: 'at the vendor' })));
      same(stolen, [], 'what the vendor must not have');
      same(
        kinds.filter((kind) => !seen.has(kind)),
        [],
        'credentials that never reached the vendor',
      );
      return `${got.length} bytes elsewhere, ${vendor.length} at the vendor`;
    },
  };
}
