/**
 * Blocks: where a tenant's money is. Promotional money burns first, then earned, then purchased;
 * the oldest first within one kind. What a settlement needs beyond all blocks is debt, and debt is
 * paid before anything becomes available again.
 * Promises: available = sum of what remains in the blocks − debt, and debt exists only while every
 * block is empty. Must never: lose the block that a held amount came from. Pure. Called by
 * `transitions.ts`.
 */
import { assert } from '../../base/assert';

/** In the order of burning. */
export const blockKinds = ['promotional', 'earned', 'purchased'] as const;
export type BlockKind = (typeof blockKinds)[number];

/** One grant or top-up that is not spent yet. Amounts in micro-USD. */
export interface Block {
  readonly id: string;
  readonly kind: BlockKind;
  readonly grantedMicros: number;
  remainingMicros: number;
  /** Taken by open holds; comes back or is spent. */
  heldMicros: number;
}

/** What a hold took from one block. */
export interface Slice {
  readonly block: Block;
  readonly micros: number;
}

/** All blocks of one tenant, in the order of burning. */
export class Purse {
  blocks: Block[] = [];
  debtMicros = 0;
  availableMicros = 0;

  /** Puts new money in; debt is paid from it first. */
  add(id: string, kind: BlockKind, micros: number): void {
    const block = { id, kind, grantedMicros: micros, remainingMicros: micros, heldMicros: 0 };
    const rank = blockKinds.indexOf(kind);
    const at = this.blocks.findIndex((other) => blockKinds.indexOf(other.kind) > rank);
    this.blocks.splice(at < 0 ? this.blocks.length : at, 0, block);
    this.availableMicros += micros;
    this.payDebt();
  }

  /** Sets `micros` aside for a hold. The caller has judged that they are available. */
  take(micros: number): readonly Slice[] {
    assert(micros === 0 || this.availableMicros >= micros, 'a hold takes more than is available');
    const slices: Slice[] = [];
    let missing = micros;
    for (const block of this.blocks) {
      if (missing === 0) break;
      const taken = Math.min(block.remainingMicros, missing);
      if (taken === 0) continue;
      block.remainingMicros -= taken;
      block.heldMicros += taken;
      missing -= taken;
      slices.push({ block, micros: taken });
    }
    assert(missing === 0, 'the blocks hold less than is available');
    this.availableMicros -= micros;
    return slices;
  }

  /**
   * Ends what a hold took: `chargeMicros` of it are spent, first taken first, the rest goes back to
   * the blocks that it came from. A charge above the hold burns further blocks, then makes debt.
   */
  spend(slices: readonly Slice[], chargeMicros: number): void {
    let owed = chargeMicros;
    for (const { block, micros } of slices) {
      const spent = Math.min(micros, owed);
      owed -= spent;
      block.heldMicros -= micros;
      block.remainingMicros += micros - spent;
      this.availableMicros += micros - spent;
    }
    this.availableMicros -= owed;
    this.debtMicros += owed;
    this.payDebt();
  }

  /** What the blocks say that is available; equals `availableMicros` unless the books are wrong. */
  countedMicros(): number {
    let sum = 0;
    for (const block of this.blocks) sum += block.remainingMicros;
    return sum - this.debtMicros;
  }

  /** Burns blocks while there is debt, then forgets the blocks that are spent. */
  private payDebt(): void {
    let spent = false;
    for (const block of this.blocks) {
      const paid = Math.min(block.remainingMicros, this.debtMicros);
      block.remainingMicros -= paid;
      this.debtMicros -= paid;
      spent ||= block.remainingMicros === 0 && block.heldMicros === 0;
    }
    if (spent) this.blocks = this.blocks.filter((b) => b.remainingMicros + b.heldMicros > 0);
  }
}
