/**
 * The ledger's client over real sockets: callers of one isolate share object calls, and no client
 * that vanishes takes the answer of another one with it.
 */
import { rmSync } from 'node:fs';
import { build } from 'esbuild';
import { convertV4MiniflareOptions, Miniflare } from 'miniflare';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePorts } from '../../scripts/lib/ports.ts';
import type { LedgerView } from '../../src/domain/ledger/views.ts';
import { RawConnection } from '../support/raw-client.ts';

const bundle = `dist/ledger-desk-${process.pid}.js`;
let port = 0;
let miniflare: Miniflare;
let number = 0;

interface Look {
  readonly view: LedgerView;
  readonly arrived: number;
  readonly counts: Record<'objectCalls' | 'places' | 'ends' | 'takeovers' | 'failures', number>;
}

const look = async (): Promise<Look> =>
  (await (await fetch(`http://127.0.0.1:${port}/look`)).json()) as Look;

const delays = (...ms: number[]) => fetch(`http://127.0.0.1:${port}/delays?ms=${ms.join(',')}`);

const newId = (): string => {
  number += 1;
  return `hld_${String(number).padStart(8, '0')}`;
};

/** A call on a connection of its own, sent and not waited for. */
async function send(query = ''): Promise<RawConnection> {
  const connection = await RawConnection.open(port);
  connection.send(`GET /call?id=${newId()}${query} HTTP/1.1\r\nhost: desk.test\r\n\r\n`);
  return connection;
}

async function outcomeOf(connection: RawConnection): Promise<string> {
  const answer = await connection.answer();
  connection.close();
  return answer.body.toString();
}

/** One client with one connection: each call after the answer to the one before. */
async function callInARow(count: number): Promise<void> {
  const connection = await RawConnection.open(port);
  for (let i = 0; i < count; i++) {
    connection.bytes = Buffer.alloc(0);
    connection.send(`GET /call?id=${newId()} HTTP/1.1\r\nhost: desk.test\r\n\r\n`);
    expect((await connection.answer()).body.toString()).toBe('placed');
  }
  connection.close();
}

/** Looks until it holds. */
async function until(holds: (seen: Look) => boolean): Promise<Look> {
  const deadlineMs = Date.now() + 15_000;
  for (;;) {
    const seen = await look();
    if (holds(seen)) return seen;
    if (Date.now() > deadlineMs) throw new Error(`still ${JSON.stringify(seen)}`);
  }
}

/** Sends a call and waits until it is at the desk. */
async function arrive(query = ''): Promise<RawConnection> {
  const { arrived } = await look();
  const connection = await send(query);
  await until((seen) => seen.arrived > arrived);
  return connection;
}

describe('the ledger client', () => {
  beforeAll(async () => {
    [port = 0] = await freePorts(1);
    await build({
      entryPoints: ['test/unit/adapters/durable/desk-worker.ts'],
      outfile: bundle,
      bundle: true,
      format: 'esm',
      target: 'es2024',
      external: ['cloudflare:*'],
    });
    miniflare = new Miniflare(
      convertV4MiniflareOptions({
        workers: [
          {
            name: 'desk',
            modules: true,
            scriptPath: bundle,
            compatibilityDate: '2026-11-02',
            compatibilityFlags: ['enable_request_signal'],
            durableObjects: { LEDGER: { className: 'OrgLedger', useSQLite: true } },
            unsafeDirectSockets: [{ host: '127.0.0.1', port }],
          },
        ],
        cf: false,
      }),
    );
    await miniflare.ready;
    await fetch(`http://127.0.0.1:${port}/fund`);
  });
  afterAll(async () => {
    await miniflare.dispose();
    rmSync(bundle);
  });

  it('sixteen connections share object calls, five claims or more to each, one row to each', async () => {
    const before = await look();
    await Promise.all(Array.from({ length: 16 }, () => callInARow(60)));
    const after = await until(({ view }) => view.openHolds === 0);
    const places = after.counts.places - before.counts.places;
    const objectCalls = after.counts.objectCalls - before.counts.objectCalls;
    expect(places).toBe(16 * 60);
    expect(places / objectCalls).toBeGreaterThanOrEqual(5);
    expect(after.view.seq - before.view.seq).toBe(objectCalls);
    expect(after.counts.ends - before.counts.ends).toBe(places);
  });

  // A promise of `new Promise` in optimised code is made without its request's mark: after some
  // 12,000 calls whoever waited for one went on in the request that resolved it, and could not answer.
  it('callers of a hot isolate go on in their own request', async () => {
    const before = await look();
    await Promise.all(Array.from({ length: 64 }, () => callInARow(280)));
    expect((await look()).counts.places - before.counts.places).toBe(64 * 280);
  });

  it('a leader whose client resets the connection still brings every follower its answer', async () => {
    await delays(400);
    const before = await look();
    const leader = await arrive();
    const followers = [await arrive(), await arrive(), await arrive()];
    leader.reset();
    expect(await Promise.all(followers.map(outcomeOf))).toEqual(Array(3).fill('placed'));
    const after = await until(({ view }) => view.openHolds <= 1);
    expect(after.counts.takeovers).toBe(before.counts.takeovers);
    expect(after.view.settledMicros - before.view.settledMicros).toBeGreaterThanOrEqual(15);
  });

  it('a leader that dies with its context is replaced by a follower, with the same operations', async () => {
    await delays(60_000);
    const before = await look();
    const leader = await arrive('&owner=none');
    const followers = [await arrive(), await arrive()];
    leader.reset();
    expect(await Promise.all(followers.map(outcomeOf))).toEqual(['placed', 'placed']);
    const after = await until(({ counts }) => counts.takeovers > before.counts.takeovers);
    // The leader's hold is placed for nobody: its lease is its only owner.
    expect(after.view.seq).toBeGreaterThan(before.view.seq);
  });

  it('an heir that is gone holds nobody up for ever', async () => {
    await delays(1_200);
    const leader = await arrive();
    const follower = await arrive();
    const heir = await arrive('&owner=none');
    heir.reset();
    expect(await outcomeOf(leader)).toBe('placed');
    expect(await outcomeOf(follower)).toBe('placed');
    expect(await outcomeOf(await send())).toBe('placed');
  });
});
