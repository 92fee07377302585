/**
 * Lru: a bounded map; what has not been read for long goes first, by second chance: an entry that was read since it was last looked at stays.
 * A read moves nothing, on purpose: a Map that is reordered at every read leaves dead tables that link to each other, and once one of them
 * is in the old space, young collections keep all that followed it.
 * Promises: never holds more than `max` entries. Must never: hold promises (they belong to one request). Called by adapters.
 */
export class Lru<K, V> {
  readonly #entries = new Map<K, { value: V; wasRead: boolean }>();
  readonly #max: number;

  constructor(max: number) {
    this.#max = max;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Reads and marks as recently used. */
  get(key: K): V | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    entry.wasRead = true;
    return entry.value;
  }

  set(key: K, value: V): void {
    const entry = this.#entries.get(key);
    if (entry !== undefined) {
      entry.value = value;
      entry.wasRead = true;
      return;
    }
    if (this.#entries.size >= this.#max) this.#evict();
    this.#entries.set(key, { value, wasRead: false });
  }

  delete(key: K): void {
    this.#entries.delete(key);
  }

  /** Forgets every entry that `condemned` accepts. */
  purge(condemned: (value: V, key: K) => boolean): void {
    for (const [key, { value }] of this.#entries)
      if (condemned(value, key)) this.#entries.delete(key);
  }

  /** Ends: an entry that gets its second chance comes back unread behind the others. */
  #evict(): void {
    for (const [key, entry] of this.#entries) {
      this.#entries.delete(key);
      if (!entry.wasRead) return;
      entry.wasRead = false;
      this.#entries.set(key, entry);
    }
  }
}
