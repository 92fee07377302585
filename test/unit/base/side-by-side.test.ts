/** Side by side: how many at a time, in which order, and who waits for whom. */
import { describe, expect, it } from 'vitest';
import { sideBySide } from '../../../src/base/side-by-side';

describe('side by side', () => {
  it('runs no more than so many at a time, and gives results in the order of the items', async () => {
    let [open, most] = [0, 0];
    const results = await sideBySide([5, 1, 4, 2, 3], 2, async (n) => {
      open += 1;
      most = Math.max(most, open);
      for (let i = 0; i < n; i += 1) await Promise.resolve();
      open -= 1;
      return n * 10;
    });
    expect([results, most]).toEqual([[50, 10, 40, 20, 30], 2]);
  });

  it('an item that is slow delays none behind it', async () => {
    const slow = Promise.withResolvers<string>();
    const done: string[] = [];
    const running = sideBySide(['slow', 'a', 'b', 'c'], 2, async (name) => {
      const given = name === 'slow' ? await slow.promise : name;
      done.push(given);
      return given;
    });
    for (let i = 0; i < 20; i += 1) await Promise.resolve();
    expect(done).toEqual(['a', 'b', 'c']);
    slow.resolve('slow');
    expect(await running).toEqual(['slow', 'a', 'b', 'c']);
  });

  it('begins nothing after a failure, and fails with it when what is under way has ended', async () => {
    const slow = Promise.withResolvers<string>();
    const [begun, done]: [string[], string[]] = [[], []];
    const running = sideBySide(['slow', 'broken', 'a', 'b'], 2, async (name) => {
      begun.push(name);
      if (name === 'broken') throw new Error('broken');
      done.push(name === 'slow' ? await slow.promise : name);
    }).catch((failure: unknown) => done.push(String(failure)));
    for (let i = 0; i < 20; i += 1) await Promise.resolve();
    expect([begun, done]).toEqual([['slow', 'broken'], []]);
    slow.resolve('slow');
    await running;
    expect([begun, done]).toEqual([
      ['slow', 'broken'],
      ['slow', 'Error: broken'],
    ]);
  });

  it('of several failures throws the first', async () => {
    const late = Promise.withResolvers<void>();
    const running = sideBySide(['late', 'early'], 2, async (name) => {
      if (name === 'late') await late.promise;
      throw new Error(name);
    });
    late.resolve();
    await expect(running).rejects.toThrow('early');
  });

  it('of nothing is nothing', async () => {
    expect(await sideBySide([], 3, async () => 1)).toEqual([]);
  });
});
