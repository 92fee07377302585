/**
 * The stands of the cases proof, each started when the first case asks for it: a run of one case
 * starts one gateway. Promises: what was started is ended, also when a later one fails to start.
 * Must never: change what a stand of another proof promises. Called by ../cases.ts and the tables
 * beside this file.
 */
import type { Row } from '../../support/proof.ts';
import { breakerRows } from '../breaker/rows.ts';
import { Stand as BreakerStand } from '../breaker/stand.ts';
import { startStand, type Stand as WireStand } from '../wire/stand.ts';
import { contractRows } from '../wire.ts';
import { CapacityStand } from './capacity-stand.ts';
import { setCaseScene } from './ssrf.ts';
import { type Check, Stand } from './stand.ts';

/** What shows one case; it throws when the case does not hold. */
export type CaseCheck = (stands: Stands) => ReturnType<Row['run']>;

/** Checks by case. */
export type CaseChecks = Readonly<Record<string, CaseCheck>>;

export class Stands {
  /** `npm test`: rows of other proofs that it runs anyway are not run twice. */
  readonly isShort: boolean;
  readonly #endings: (() => Promise<unknown>)[] = [];

  /** Money, short leases and time-outs. */
  readonly quick = this.#once(() => Stand.start('quick'));
  /** Money, limits as deployed. */
  readonly calm = this.#once(() => Stand.start('calm'));
  /** The stand of the wire proof. */
  readonly wire = this.#once(() => startStand(true));
  /** The scene of the SSRF proof, with its resolver and trap. */
  readonly ssrf = this.#once(setCaseScene);
  /** The stand of the breaker proof: four isolates, times one sixtieth. */
  readonly breaker = this.#once(async () => {
    const stand = await BreakerStand.start();
    return { stand, dispose: () => stand.world.dispose() };
  });
  /** Vendors of the signature table, real holds. */
  readonly capacity = this.#once(CapacityStand.start);

  constructor(isShort: boolean) {
    this.isShort = isShort;
  }

  /** Ends what was started, newest first. */
  async dispose(): Promise<void> {
    for (const end of this.#endings.splice(0).reverse()) await end();
  }

  #once<T extends { readonly dispose: () => Promise<unknown> }>(
    start: () => Promise<T>,
  ): () => Promise<T> {
    let started: Promise<T> | undefined;
    return () => {
      started ??= start().then((stand) => {
        this.#endings.push(() => stand.dispose());
        return stand;
      });
      return started;
    };
  }
}

/** Checks of a money stand as checks of cases. */
export const on = (which: 'quick' | 'calm', checks: Readonly<Record<string, Check>>): CaseChecks =>
  Object.fromEntries(
    Object.entries(checks).map(([id, check]) => [
      id,
      async (stands: Stands) => check(await stands[which]()),
    ]),
  );

/** Shown by these rows of the relay contract, then by `more`. */
export const byRows =
  (
    numbers: readonly number[],
    more: (stand: WireStand, stands: Stands) => Promise<unknown> = async () => undefined,
  ): CaseCheck =>
  async (stands) => {
    const stand = await stands.wire();
    for (const n of numbers) {
      const row = contractRows.find((one) => one.n === n);
      if (row === undefined) throw new Error(`the relay contract has no row ${n}`);
      await row.run(stand);
    }
    await more(stand, stands);
    return numbers.map((n) => `R${n}`).join(' ');
  };

/** Shown by the rows of the breaker proof that name this case, then by `more`. */
export const byBreaker =
  (id: string, atLeast: number, more: CaseCheck = async () => undefined): CaseCheck =>
  async (stands) => {
    const rows = breakerRows.filter(([name]) => name.startsWith(`${id}:`));
    if (rows.length < atLeast) throw new Error(`${rows.length} rows of the breaker name ${id}`);
    for (const [name, run] of stands.isShort ? [] : rows) {
      const { stand } = await stands.breaker();
      try {
        await run(stand);
      } catch (fault) {
        throw new Error(`${name}: ${fault instanceof Error ? fault.message : String(fault)}`);
      }
    }
    await more(stands);
    return `${rows.length} rows of the breaker proof`;
  };
