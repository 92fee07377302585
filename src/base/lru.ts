/**
 * Lru: a bounded map; the least recently read entry goes first.
 * Promises: never holds more than `max` entries. Must never: hold promises (they belong to one request). Called by adapters.
 */
export class Lru<K, V> {
  readonly #entries = new Map<K, V>();
  readonly #max: number;

  constructor(max: number) {
    this.#max = max;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Reads and marks as recently used. */
  get(key: K): V | undefined {
    const value = this.#entries.get(key);
    if (value !== undefined) {
      this.#entries.delete(key);
      this.#entries.set(key, value);
    }
    return value;
  }

  set(key: K, value: V): void {
    this.#entries.delete(key);
    this.#entries.set(key, value);
    if (this.#entries.size <= this.#max) return;
    for (const oldest of this.#entries.keys()) {
      this.#entries.delete(oldest);
      return;
    }
  }

  delete(key: K): void {
    this.#entries.delete(key);
  }

  /** Forgets every entry that `condemned` accepts. */
  purge(condemned: (value: V, key: K) => boolean): void {
    for (const [key, value] of this.#entries) if (condemned(value, key)) this.#entries.delete(key);
  }
}
