import { describe, expect, it } from 'vitest';
import { dollars, dollarsMax, microsOf } from '../../../scripts/weir/money';
import { oneLine, pairs, table } from '../../../scripts/weir/render';
import { ledgerAmountMicrosMax } from '../../../src/base/limits-money';

describe('dollars', () => {
  it.each([
    [0, '0.00'],
    [1, '0.000001'],
    [10_000, '0.01'],
    [1_500_000, '1.50'],
    [1_234_567, '1.234567'],
    [1_234_500, '1.2345'],
    [-2_500_000, '-2.50'],
    [1_000_000_000_000, '1000000.00'],
    [Number.MAX_SAFE_INTEGER, '9007199254.740991'],
  ])('%i micro-USD are %s', (micros, text) => {
    expect(dollars(micros)).toBe(text);
  });

  it.each([
    ['25', 25_000_000],
    ['0.000001', 1],
    ['12.5', 12_500_000],
    ['0.1', 100_000],
    ['1000000', 1_000_000_000_000],
    ['0', 0],
    ['007', 7_000_000],
  ])('%s are exactly %i micro-USD', (text, micros) => {
    expect(microsOf(text)).toBe(micros);
  });

  it.each(['', '.5', '5.', '-5', '+5', '1e3', '1,5', '0.0000001', '12345678', '5 ', '$5', 'NaN'])(
    '%j are no amount',
    (text) => {
      expect(microsOf(text)).toBeNull();
    },
  );

  it('are at most what one operation of the ledger may carry', () => {
    expect(microsOf(String(dollarsMax))).toBe(ledgerAmountMicrosMax);
    expect(microsOf(`${dollarsMax}.000001`)).toBeNull();
  });

  it('are read back as they are written', () => {
    for (let micros = 0; micros < 3_000_000; micros += 7_919) {
      expect(microsOf(dollars(micros))).toBe(micros);
    }
  });
});

describe('a table', () => {
  interface Line {
    readonly name: string;
    readonly usd: string;
  }
  const columns = [
    { head: 'NAME', cell: (row: Line) => row.name },
    { head: 'USD', right: true, cell: (row: Line) => row.usd },
  ];

  it('lines its columns up, amounts to the right, nothing behind them', () => {
    const rows = [
      { name: 'a', usd: '1.50' },
      { name: 'longer', usd: '12.000001' },
      { name: '', usd: '' },
    ];
    expect(table(rows, columns, 'none')).toBe(
      ['NAME          USD', 'a            1.50', 'longer  12.000001', '-               -'].join(
        '\n',
      ),
    );
  });

  it('without rows says so', () => {
    expect(table([], columns, 'Nothing here.')).toBe('Nothing here.');
  });

  it('never gives a control character of a value to the terminal', () => {
    const attack = '\u001b[2J\u009b1mred\r\nnext\u202egnp.exe\u2066\u2028';
    expect(oneLine(attack)).toBe('\ufffd[2J\ufffd1mred\ufffd\ufffdnext\ufffdgnp.exe\ufffd\ufffd');
    const shown = table([{ name: attack, usd: '1.00' }], columns, 'none');
    expect(shown.split('\n')).toHaveLength(2);
    expect(pairs([['name', attack]])).toBe(`name  ${oneLine(attack)}`);
  });
});
