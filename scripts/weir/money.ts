/**
 * Money as people write it: dollars with up to six decimals, and integer micro-USD behind them.
 * Promises: no floating point on the way; what cannot be said exactly is refused. Pure. Called by
 * the commands.
 */

const microsPerDollar = 1_000_000;

/** What one operation of the ledger may carry: `ledgerAmountMicrosMax`, as a test says. */
export const dollarsMax = 1_000_000;

/** Said of what {@link microsOf} does not take. */
export const amountWanted = `The amount is in dollars, from 0.000001 to ${dollarsMax}.`;

/** Micro-USD as dollars: `1234567` → `1.234567`, `5000000` → `5.00`. At least two decimals. */
export function dollars(micros: number): string {
  const amount = Math.abs(micros);
  const whole = Math.floor(amount / microsPerDollar);
  const fraction = String(amount % microsPerDollar).padStart(6, '0');
  const shown = fraction.replace(/0{1,4}$/, '');
  return `${micros < 0 ? '-' : ''}${whole}.${shown}`;
}

/** Dollars as micro-USD: `12.5` → `12500000`; `null` when it is no such amount, or more than one operation may carry. */
export function microsOf(text: string): number | null {
  const match = /^([0-9]+)(?:\.([0-9]{1,6}))?$/.exec(text);
  const [, whole = '', fraction = ''] = match ?? [];
  const micros = Number(whole) * microsPerDollar + Number(fraction.padEnd(6, '0'));
  return match === null || micros > dollarsMax * microsPerDollar ? null : micros;
}
