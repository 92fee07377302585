/** Blocks: the order of burning, the way back, and debt. */
import { describe, expect, it } from 'vitest';
import { type BlockKind, Purse } from '../../../../src/domain/ledger/blocks';

const purseOf = (...blocks: [id: string, kind: BlockKind, micros: number][]): Purse => {
  const purse = new Purse();
  for (const [id, kind, micros] of blocks) purse.add(id, kind, micros);
  return purse;
};

const shown = (purse: Purse) =>
  purse.blocks.map((b) => `${b.id}:${b.remainingMicros}+${b.heldMicros}`).join(' ');

describe('Purse', () => {
  it('burns promotional before earned before purchased, the oldest first', () => {
    const purse = purseOf(
      ['paid1', 'purchased', 5],
      ['won', 'earned', 5],
      ['promo1', 'promotional', 5],
      ['paid2', 'purchased', 5],
      ['promo2', 'promotional', 5],
    );
    expect(purse.blocks.map((b) => b.id)).toEqual(['promo1', 'promo2', 'won', 'paid1', 'paid2']);
    purse.take(17);
    expect(shown(purse)).toBe('promo1:0+5 promo2:0+5 won:0+5 paid1:3+2 paid2:5+0');
  });

  it.each([
    ['nothing spent', 0, 'a:4+0 b:6+0', 10, 0],
    ['part of the first block', 3, 'a:1+0 b:6+0', 7, 0],
    ['more than the first block', 5, 'b:5+0', 5, 0],
    ['exactly the hold', 7, 'b:3+0', 3, 0],
    ['more than the hold', 9, 'b:1+0', 1, 0],
    ['everything', 10, '', 0, 0],
    ['more than there is', 25, '', -15, 15],
  ])('gives back what a charge of a hold of 7 leaves: %s', (_, charge, blocks, available, debt) => {
    const purse = purseOf(['a', 'promotional', 4], ['b', 'purchased', 6]);
    purse.spend(purse.take(7), charge);
    expect([shown(purse), purse.availableMicros, purse.debtMicros]).toEqual([
      blocks,
      available,
      debt,
    ]);
    expect(purse.countedMicros()).toBe(purse.availableMicros);
  });

  it('gives a slice back to its own block, not to the first one', () => {
    const purse = purseOf(['b', 'purchased', 6]);
    const slices = purse.take(4);
    purse.add('a', 'promotional', 5);
    purse.spend(slices, 1);
    expect(shown(purse)).toBe('a:5+0 b:5+0');
  });

  it('pays debt from new money and from what comes back', () => {
    const purse = purseOf(['a', 'purchased', 10]);
    const first = purse.take(6);
    const second = purse.take(4);
    purse.spend(first, 20);
    expect([purse.availableMicros, purse.debtMicros]).toEqual([-14, 14]);
    purse.spend(second, 0);
    expect([purse.availableMicros, purse.debtMicros]).toEqual([-10, 10]);
    purse.add('b', 'promotional', 25);
    expect([shown(purse), purse.availableMicros, purse.debtMicros]).toEqual(['b:15+0', 15, 0]);
  });

  it('throws rather than take what is not there', () => {
    expect(() => purseOf(['a', 'earned', 5]).take(6)).toThrow('more than is available');
  });
});
