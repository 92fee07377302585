/**
 * IdMap: what belongs to an id, in the order in which it was put in; a `Map` for ids that come
 * from outside.
 * Promises: get, set and delete take the same time at any size; what was deleted leaves nothing
 * behind. Why not `Map`: the engine enters each new key into its table of all strings (0.5 us, and
 * a scan of it at every collection), and with an insert and a delete per call it leaves chains of
 * dead tables. Pure. Held by `state.ts` and `tally.ts`.
 */

/** One entry, in its chain and in the order of all. */
interface Node<V> {
  readonly id: string;
  readonly hash: number;
  value: V;
  /** In the same chain. */
  next: Node<V> | null;
  before: Node<V> | null;
  after: Node<V> | null;
}

/** Chains of an empty map. */
const chainsMin = 64;
/** Ids are ULIDs behind a prefix: their ends are random. */
const hashedChars = 12;

export class IdMap<V> {
  size = 0;
  #chains: (Node<V> | null)[] = new Array(chainsMin).fill(null);
  #first: Node<V> | null = null;
  #last: Node<V> | null = null;

  constructor(entries: Iterable<readonly [string, V]> = []) {
    for (const [id, value] of entries) this.set(id, value);
  }

  /** The value that was put in first. */
  get first(): V | undefined {
    return this.#first?.value;
  }

  get(id: string): V | undefined {
    return this.#find(id, hashOf(id))?.value;
  }

  has(id: string): boolean {
    return this.#find(id, hashOf(id)) !== null;
  }

  /** A value that is replaced keeps its place in the order. */
  set(id: string, value: V): void {
    const hash = hashOf(id);
    const known = this.#find(id, hash);
    if (known !== null) {
      known.value = value;
      return;
    }
    if (this.size >= this.#chains.length) this.#grow();
    const last = this.#last;
    const node: Node<V> = { id, hash, value, next: null, before: last, after: null };
    this.#chain(node);
    if (last === null) this.#first = node;
    else last.after = node;
    this.#last = node;
    this.size += 1;
  }

  delete(id: string): void {
    const hash = hashOf(id);
    const node = this.#find(id, hash);
    if (node === null) return;
    this.#unchain(node);
    const { before, after } = node;
    if (before === null) this.#first = after;
    else before.after = after;
    if (after === null) this.#last = before;
    else after.before = before;
    this.size -= 1;
  }

  *values(): Generator<V> {
    for (let node = this.#first; node !== null; node = node.after) yield node.value;
  }

  *[Symbol.iterator](): Generator<[string, V]> {
    for (let node = this.#first; node !== null; node = node.after) yield [node.id, node.value];
  }

  #find(id: string, hash: number): Node<V> | null {
    let node = this.#chains[hash & (this.#chains.length - 1)] ?? null;
    while (node !== null && (node.hash !== hash || node.id !== id)) node = node.next;
    return node;
  }

  #chain(node: Node<V>): void {
    const at = node.hash & (this.#chains.length - 1);
    node.next = this.#chains[at] ?? null;
    this.#chains[at] = node;
  }

  #unchain(node: Node<V>): void {
    const at = node.hash & (this.#chains.length - 1);
    const head = this.#chains[at] ?? null;
    if (head === node) {
      this.#chains[at] = node.next;
      return;
    }
    let other = head;
    while (other !== null && other.next !== node) other = other.next;
    if (other !== null) other.next = node.next;
  }

  #grow(): void {
    this.#chains = new Array(2 * this.#chains.length).fill(null);
    for (let node = this.#first; node !== null; node = node.after) this.#chain(node);
  }
}

/** The newest hash: an id is looked up several times in a row. */
let lastId = '';
let lastHash = 0;

/** FNV-1a of the last characters; 30 bits. */
export function hashOf(id: string): number {
  if (id === lastId) return lastHash;
  const { length } = id;
  let hash = 0x811c9dc5 ^ length;
  for (let i = Math.max(0, length - hashedChars); i < length; i += 1) {
    hash = Math.imul(hash ^ id.charCodeAt(i), 0x01000193);
  }
  lastId = id;
  lastHash = hash & 0x3fffffff;
  return lastHash;
}
