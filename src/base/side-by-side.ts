/**
 * Side by side: the same work on many items, a bounded number of them at a time. Called by the jobs that ask vendors.
 * Promises: one item that is slow delays none that is behind it as long as fewer are slow than work together; nothing is under way any more
 * when it ends, also where an item failed.
 */

/**
 * Runs `work` on every item, at most `together` at a time; results in the order of the items. After a failure no further item begins, and
 * the first failure is thrown when those under way have ended.
 */
export async function sideBySide<T, R>(
  items: readonly T[],
  together: number,
  work: (item: T) => Promise<R>,
): Promise<readonly R[]> {
  const results: R[] = [];
  const failures: unknown[] = [];
  const queue = items.entries();
  const worker = async (): Promise<void> => {
    for (const [at, item] of queue) {
      if (failures.length > 0) return;
      try {
        results[at] = await work(item);
      } catch (failure) {
        failures.push(failure);
      }
    }
  };
  await Promise.all(Array.from({ length: together }, worker));
  if (failures.length > 0) throw failures[0];
  return results;
}
