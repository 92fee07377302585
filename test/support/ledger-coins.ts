/** The model's money: one object for every micro-USD, and where it is. */
import type { BlockKind } from '../../src/domain/ledger/blocks.ts';

const burnOrder: readonly BlockKind[] = ['promotional', 'earned', 'purchased'];

/** One micro-USD. */
export interface Coin {
  where: 'free' | 'held' | 'spent';
}

interface CoinBlock {
  readonly id: string;
  readonly kind: BlockKind;
  readonly coins: readonly Coin[];
}

/** A block that still has a coin. */
export interface ShownBlock {
  readonly id: string;
  readonly kind: BlockKind;
  readonly remainingMicros: number;
  readonly heldMicros: number;
}

export class Coins {
  readonly #blocks: CoinBlock[] = [];
  debt = 0;

  add(id: string, kind: BlockKind, micros: number): void {
    const coins = Array.from({ length: micros }, (): Coin => ({ where: 'free' }));
    this.#blocks.push({ id, kind, coins });
    this.#payDebt();
  }

  /** Coins that may be taken, in the order of burning. */
  free(): Coin[] {
    return this.#ordered().flatMap(({ coins }) => coins.filter((coin) => coin.where === 'free'));
  }

  take(micros: number): readonly Coin[] {
    const taken = this.free().slice(0, micros);
    for (const coin of taken) coin.where = 'held';
    return taken;
  }

  /** The first `micros` of a hold's coins are spent, the rest is free; what is missing is debt. */
  spend(coins: readonly Coin[], micros: number): void {
    for (const [i, coin] of coins.entries()) coin.where = i < micros ? 'spent' : 'free';
    this.debt += Math.max(0, micros - coins.length);
    this.#payDebt();
  }

  shown(): ShownBlock[] {
    return this.#ordered()
      .map(({ id, kind, coins }) => ({
        id,
        kind,
        remainingMicros: coins.filter((coin) => coin.where === 'free').length,
        heldMicros: coins.filter((coin) => coin.where === 'held').length,
      }))
      .filter((block) => block.remainingMicros + block.heldMicros > 0);
  }

  #ordered(): CoinBlock[] {
    return burnOrder.flatMap((kind) => this.#blocks.filter((block) => block.kind === kind));
  }

  /** Debt takes every free coin that it can get. */
  #payDebt(): void {
    for (const coin of this.free()) {
      if (this.debt === 0) return;
      coin.where = 'spent';
      this.debt -= 1;
    }
  }
}
