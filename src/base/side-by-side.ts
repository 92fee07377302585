/**
 * Side by side: the same work on many items, a bounded number of them at a time. Called by the jobs that ask vendors.
 * Promises: one item that is slow delays none that is behind it as long as fewer are slow than work together.
 */

/** Runs `work` on every item, at most `together` at a time; results in the order of the items. */
export async function sideBySide<T, R>(
  items: readonly T[],
  together: number,
  work: (item: T) => Promise<R>,
): Promise<readonly R[]> {
  const results: R[] = [];
  const queue = items.entries();
  const worker = async (): Promise<void> => {
    for (const [at, item] of queue) results[at] = await work(item);
  };
  await Promise.all(Array.from({ length: together }, worker));
  return results;
}
