/** R2ReplayBodies: what was put is got again; a bucket that does not answer is `undefined`. */
import { describe, expect, it } from 'vitest';
import { R2ReplayBodies } from '../../../../src/adapters/r2/replay-bodies';
import { replayBodyWaitMs } from '../../../../src/base/limits-money';
import type { DeskTime } from '../../../../src/ports/ledger';

/** A clock that stands still. */
const standing: DeskTime = { nowMs: () => 0, start: () => () => undefined };

/** The two operations of a bucket that the adapter uses, in memory. */
function bucketOf() {
  const kept = new Map<string, Uint8Array>();
  const bucket = {
    put: async (key: string, bytes: Uint8Array) => void kept.set(key, bytes.slice()),
    get: async (key: string) => {
      const bytes = kept.get(key);
      return bytes === undefined ? null : { body: new Response(bytes).body };
    },
  };
  return { kept, bucket: bucket as unknown as R2Bucket };
}

const down = {
  put: () => Promise.reject(new Error('down')),
  get: () => Promise.reject(new Error('down')),
} as unknown as R2Bucket;

const bytes = new Uint8Array([0, 1, 255]);

describe('a body', () => {
  it('is kept under its record and got again by its reference', async () => {
    const { bucket, kept } = bucketOf();
    const bodies = new R2ReplayBodies(bucket, standing);
    const ref = await bodies.put('idm_1', bytes);
    expect([ref, [...kept.keys()]]).toEqual(['records/idm_1', ['records/idm_1']]);
    expect(await new Response(await bodies.get(ref ?? '')).bytes()).toEqual(bytes);
  });

  it('that is not there is undefined', async () => {
    expect(
      await new R2ReplayBodies(bucketOf().bucket, standing).get('records/idm_2'),
    ).toBeUndefined();
  });

  it('of a bucket that is silent is undefined after the wait', async () => {
    const silent = () => new Promise<never>(() => undefined);
    const timers: { readonly ms: number; readonly act: () => void }[] = [];
    const time: DeskTime = {
      nowMs: () => 0,
      start: (ms, act) => {
        timers.push({ ms, act });
        return () => undefined;
      },
    };
    const bodies = new R2ReplayBodies({ put: silent, get: silent } as unknown as R2Bucket, time);
    const both = Promise.all([bodies.put('idm_1', bytes), bodies.get('records/idm_1')]);
    expect(timers.map(({ ms }) => ms)).toEqual([replayBodyWaitMs, replayBodyWaitMs]);
    for (const { act } of timers) act();
    expect(await both).toEqual([undefined, undefined]);
  });

  it('of a bucket that fails is undefined, never a fault', async () => {
    const bodies = new R2ReplayBodies(down, standing);
    expect(await bodies.put('idm_1', bytes)).toBeUndefined();
    expect(await bodies.get('records/idm_1')).toBeUndefined();
  });
});
