/**
 * Parts: a list that is too large for one statement or message, in several. Called by the adapters that write many rows.
 */

/** Items in lists of at most `max` together, in their order; an item that is larger stands alone. */
export function partsOf<T>(
  items: readonly T[],
  max: number,
  sizeOf: (item: T) => number,
): readonly (readonly T[])[] {
  const parts: T[][] = [];
  let room = 0;
  for (const item of items) {
    const size = sizeOf(item);
    const last = parts.at(-1);
    if (last !== undefined && size <= room) {
      last.push(item);
    } else {
      parts.push([item]);
      room = max;
    }
    room -= size;
  }
  return parts;
}
