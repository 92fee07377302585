/**
 * Shelf: what a breaker remembers of one kind, by key, oldest first, and which keys have changed since that was last asked.
 * Promises: items are plain JSON, so that a row of a table holds one; a change is told once, with the item as it is then.
 * Called by `breaker.ts`; the object writes the changes to its disk.
 */
import type { Reading } from './operations';

/** Account or endpoint that takes no call but its probes. Times are epoch milliseconds of the object. */
export interface Lock {
  readonly id: string;
  readonly kind: 'balance' | 'quota';
  readonly firstStrikeAtMs: number;
  /** When the strike that locked was answered; never changes. */
  readonly sinceMs: number;
  readonly untilMs: number;
  readonly isStated: boolean;
}

/** A strike that waits for a second one: the first of its burst and the last. */
export interface Strike {
  readonly kind: 'balance' | 'quota';
  readonly firstAtMs: number;
  readonly lastAtMs: number;
  /** The vendor's reset, when one of them named it. */
  readonly statedUntilMs: number | null;
}

/** Everything that is remembered, by kind. `ok`, `seen`: when a 2xx was answered, when an operation came. */
export interface Items {
  lock: Lock;
  strike: Strike;
  ok: { readonly atMs: number };
  seen: { readonly atMs: number };
  probe: { readonly callId: string; readonly grantedAtMs: number };
  mark: { readonly reason: string; readonly untilMs: number };
  reading: {
    readonly observedAtMs: number;
    readonly state: Reading['state'];
    readonly resetsAtMs: number | null;
    readonly isLifted: boolean;
  };
}

export type ItemKind = keyof Items;

/** One item as it is kept. */
export interface ItemRow<K extends ItemKind = ItemKind> {
  readonly kind: K;
  readonly key: string;
  readonly item: Items[K];
}

/** What has to be written; `null`: the row goes. */
export interface ItemChange {
  readonly kind: ItemKind;
  readonly key: string;
  readonly item: Items[ItemKind] | null;
}

export class Shelf<K extends ItemKind> {
  readonly #kind: K;
  readonly #items = new Map<string, Items[K]>();
  readonly #changed = new Set<string>();

  constructor(kind: K) {
    this.#kind = kind;
  }

  get size(): number {
    return this.#items.size;
  }

  get(key: string): Items[K] | undefined {
    return this.#items.get(key);
  }

  /** The key that came first. */
  oldest(): string | undefined {
    return this.#items.keys().next().value;
  }

  entries(): Iterable<[string, Items[K]]> {
    return this.#items;
  }

  set(key: string, item: Items[K]): void {
    this.#items.set(key, item);
    this.#changed.add(key);
  }

  delete(key: string): boolean {
    if (!this.#items.delete(key)) return false;
    this.#changed.add(key);
    return true;
  }

  /** Deletes what `isOver` accepts; gives how many. */
  purge(isOver: (item: Items[K], key: string) => boolean): number {
    let purged = 0;
    for (const [key, item] of this.#items) {
      if (isOver(item, key) && this.delete(key)) purged += 1;
    }
    return purged;
  }

  /** An item from disk: no change. */
  load(key: string, item: Items[K]): void {
    this.#items.set(key, item);
  }

  takeChanges(): ItemChange[] {
    const keys = [...this.#changed];
    this.#changed.clear();
    return keys.map((key) => ({ kind: this.#kind, key, item: this.#items.get(key) ?? null }));
  }
}
