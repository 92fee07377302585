/** R2ReplayBodies: what was put is got again; a bucket that does not answer is `undefined`. */
import { describe, expect, it } from 'vitest';
import { R2ReplayBodies } from '../../../../src/adapters/r2/replay-bodies';

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
    const bodies = new R2ReplayBodies(bucket);
    const ref = await bodies.put('idm_1', bytes);
    expect([ref, [...kept.keys()]]).toEqual(['records/idm_1', ['records/idm_1']]);
    expect(await new Response(await bodies.get(ref ?? '')).bytes()).toEqual(bytes);
  });

  it('that is not there is undefined', async () => {
    expect(await new R2ReplayBodies(bucketOf().bucket).get('records/idm_2')).toBeUndefined();
  });

  it('of a bucket that does not answer is undefined, never a fault', async () => {
    const bodies = new R2ReplayBodies(down);
    expect(await bodies.put('idm_1', bytes)).toBeUndefined();
    expect(await bodies.get('records/idm_1')).toBeUndefined();
  });
});
