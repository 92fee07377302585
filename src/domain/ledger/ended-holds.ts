/**
 * EndedHolds: what is remembered of the holds that ended since the last snapshot, in columns.
 * Promises: get, has and set take the same time at any size; the newest word about a hold stands.
 * Why columns: thousands of them wait for the next snapshot, and as objects they are what the
 * garbage collection of a ledger is busy with. Pure. Held by `state.ts`; written by the object's
 * `ended-store.ts`.
 */
import type { EndedHold } from './holds';
import { hashOf } from './id-map';

/** Room at first; it doubles. A power of two. */
const roomMin = 64;

export class EndedHolds {
  #ids: string[] = [];
  /** Amount, time of placing and charge of each. */
  #numbers = new Float64Array(3 * roomMin);
  #hashes = new Int32Array(roomMin);
  /** The next hold of the same chain, counted from 1; 0 ends a chain. */
  #nexts = new Int32Array(roomMin);
  /** The first hold of each chain, counted from 1. */
  #chains = new Int32Array(2 * roomMin);
  /** Holds that have more to say than three numbers: not settled, tagged, or settled late. */
  readonly #wholes = new Map<number, EndedHold>();

  /** The ids, in the order of their first ends. */
  get ids(): readonly string[] {
    return this.#ids;
  }

  has(id: string): boolean {
    return this.#find(id, hashOf(id)) >= 0;
  }

  get(id: string): EndedHold | undefined {
    const at = this.#find(id, hashOf(id));
    if (at < 0) return undefined;
    const whole = this.#wholes.get(at);
    if (whole !== undefined) return whole;
    return {
      amountMicros: this.#numbers[3 * at] ?? 0,
      placedAtMs: this.#numbers[3 * at + 1] ?? 0,
      chargeMicros: this.#numbers[3 * at + 2] ?? 0,
      ending: 'settled',
      tags: null,
      lateMicros: null,
    };
  }

  set(id: string, hold: EndedHold): void {
    const hash = hashOf(id);
    const known = this.#find(id, hash);
    const at = known >= 0 ? known : this.#add(id, hash);
    this.#numbers[3 * at] = hold.amountMicros;
    this.#numbers[3 * at + 1] = hold.placedAtMs;
    this.#numbers[3 * at + 2] = hold.chargeMicros;
    if (hold.ending !== 'settled' || hold.tags !== null || hold.lateMicros !== null) {
      this.#wholes.set(at, hold);
    } else if (known >= 0) {
      this.#wholes.delete(at);
    }
  }

  /** Forgets everything but keeps the room for as much. */
  clear(): void {
    this.#ids = [];
    this.#chains.fill(0);
    this.#wholes.clear();
  }

  /** Place of a hold; below 0 when it is not here. */
  #find(id: string, hash: number): number {
    let place = this.#chains[hash & (this.#chains.length - 1)] ?? 0;
    while (place > 0 && (this.#hashes[place - 1] !== hash || this.#ids[place - 1] !== id)) {
      place = this.#nexts[place - 1] ?? 0;
    }
    return place - 1;
  }

  #add(id: string, hash: number): number {
    const at = this.#ids.length;
    if (at >= this.#hashes.length) this.#grow();
    this.#ids.push(id);
    this.#hashes[at] = hash;
    this.#chain(at);
    return at;
  }

  #chain(at: number): void {
    const chain = (this.#hashes[at] ?? 0) & (this.#chains.length - 1);
    this.#nexts[at] = this.#chains[chain] ?? 0;
    this.#chains[chain] = at + 1;
  }

  #grow(): void {
    const room = 2 * this.#hashes.length;
    this.#numbers = grown(this.#numbers, new Float64Array(3 * room));
    this.#hashes = grown(this.#hashes, new Int32Array(room));
    this.#nexts = new Int32Array(room);
    this.#chains = new Int32Array(2 * room);
    for (let at = 0; at < this.#ids.length; at += 1) this.#chain(at);
  }
}

function grown<T extends Float64Array | Int32Array>(from: T, to: T): T {
  to.set(from);
  return to;
}
