/**
 * What a call holds and costs, against fractions of whole numbers: rounded up once, never negative, never above what one operation of the
 * ledger carries; more usage never costs less, and a client that leaves never pays more than the hold.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ledgerAmountMicrosMax } from '../../src/base/limits-money';
import { withCeiling } from '../../src/domain/catalog/platform-request';
import { abandonedCharge, charge } from '../../src/domain/pricing/charge';
import { type Estimate, estimate, type FrozenPrice } from '../../src/domain/pricing/estimate';
import { usageOf, usagePlan } from '../../src/domain/pricing/meters';
import type { Cost } from '../../src/domain/pricing/price';
import { asking, chatCost, settled } from '../unit/domain/pricing/prices';

/** Up to a price per million units that no ledger carries. */
const rate = fc.oneof(fc.nat(20), fc.nat(1_000_000_000), fc.nat(1_000_000_000_000_000));
const tokens = fc.oneof(fc.nat(20), fc.nat(10_000_000));
const chat = fc.record({ input: rate, cached: rate, output: rate });
type Rates = Readonly<Record<'input' | 'cached' | 'output', number>>;

const costOf = (rates: Rates): Extract<Cost, { kind: 'usage' }> => ({
  ...chatCost,
  prices: [{ when: [], perMillionMicros: rates }],
});
const priceOf = (rates: Rates): FrozenPrice => ({
  kind: 'usage',
  meters: chatCost.meters,
  perMillionMicros: rates,
});

/** Micro-USD of a million times so much, upwards. */
const up = (sum: bigint): number | null => {
  const micros = (sum + 999_999n) / 1_000_000n;
  return micros > BigInt(ledgerAmountMicrosMax) ? null : Number(micros);
};
const heldOf = (held: Estimate): number | null => (held.kind === 'known' ? held.micros : null);

interface Used {
  readonly input: number;
  readonly cached: number;
  readonly output: number;
}
const used = fc.record({ input: tokens, cached: tokens, output: tokens });

function charged(rates: Rates, { input, cached, output }: Used, heldMicros: number) {
  const document = {
    usage: {
      prompt_tokens: input,
      prompt_tokens_details: { cached_tokens: cached },
      completion_tokens: output,
    },
  };
  const settlement = settled();
  const usage = usageOf(document, usagePlan(costOf(rates), settlement));
  const facts = { price: priceOf(rates), settlement, header: () => null, usage, heldMicros };
  return {
    stayed: charge({ ...facts, status: 200 }),
    left: abandonedCharge({ ...facts, status: 200 }),
    failed: charge({ ...facts, status: 500 }),
  };
}

describe('the charge of usage', () => {
  it('is the exact sum, upwards, with cached input taken out of input; the hold where no ledger carries it', () => {
    fc.assert(
      fc.property(chat, used, fc.nat(1_000_000), (rates, of, held) => {
        const fresh = BigInt(Math.max(0, of.input - of.cached)) * BigInt(rates.input);
        const cached = BigInt(of.cached) * BigInt(rates.cached);
        const exact = up(fresh + cached + BigInt(of.output) * BigInt(rates.output));
        const { stayed, left, failed } = charged(rates, of, held);
        expect(stayed.micros).toBe(exact ?? held);
        expect(left.micros).toBeLessThanOrEqual(held);
        expect(left.micros).toBeGreaterThanOrEqual(Math.min(held, exact ?? held));
        expect(failed.micros).toBe(0);
      }),
      { numRuns: 1_500 },
    );
  });

  it('is never less for more output', () => {
    fc.assert(
      fc.property(chat, used, fc.nat(1_000), (rates, of, more) => {
        const held = ledgerAmountMicrosMax;
        const [less, much] = [of, { ...of, output: of.output + more }].map(
          (each) => charged(rates, each, held).stayed.micros,
        );
        expect(much).toBeGreaterThanOrEqual(less ?? 0);
      }),
      { numRuns: 800 },
    );
  });
});

describe('what a call holds', () => {
  it('is the exact product, upwards: body bytes by three, and what was asked for, within its bounds', () => {
    const asked = fc.oneof(
      fc.nat(5_000),
      fc.constantFrom<unknown>('7', '007', -1, 1.5, null, 'x', [1], { a: 1 }, true, 1e21, '1e3'),
    );
    const body = fc.record({ max_tokens: asked, n: asked }, { requiredKeys: [] });
    const units = (value: unknown, otherwise: number, max: number): number => {
      if (value === undefined) return otherwise;
      const number = typeof value === 'string' && /^[0-9]+$/.test(value) ? Number(value) : value;
      if (typeof number !== 'number' || !Number.isSafeInteger(number) || number <= 0) return max;
      return Math.min(number, max);
    };
    fc.assert(
      fc.property(chat, body, fc.nat(100_000), (rates, fields, bodyBytes) => {
        const held = heldOf(
          estimate(costOf(rates), settled(), asking({ body: fields, bodyBytes })),
        );
        const input = BigInt(Math.ceil(bodyBytes / 3)) * BigInt(rates.input);
        const output = units(fields.max_tokens, 1_000, 4_000) * units(fields.n, 1, 8);
        const isUnpriced = rates.input === 0 && rates.output === 0 && rates.cached > 0;
        expect(held).toBe(isUnpriced ? null : up(input + BigInt(output) * BigInt(rates.output)));
      }),
      { numRuns: 1_500 },
    );
  });

  it('is never above the caller’s ceiling, and never less for a larger body', () => {
    fc.assert(
      fc.property(chat, fc.nat(9_000), fc.nat(9_000), fc.nat(), (rates, bytes, more, ceiling) => {
        const at = (bodyBytes: number, ceilingMicros: number | null): number | null =>
          heldOf(estimate(costOf(rates), settled(), asking({ bodyBytes, ceilingMicros })));
        expect(at(bytes, ceiling) ?? 0).toBeLessThanOrEqual(ceiling);
        const [less, much] = [at(bytes, null), at(bytes + more, null)];
        if (much !== null) expect(much).toBeGreaterThanOrEqual(less ?? 0);
      }),
      { numRuns: 800 },
    );
  });
});

describe('a ceiling', () => {
  it('is written exactly, whatever its unit', () => {
    const unit = fc.constantFrom('usd' as const, 'usd_cents' as const, 'micro_usd' as const);
    fc.assert(
      fc.property(unit, fc.oneof(fc.nat(), fc.maxSafeNat()), (of, micros) => {
        const [, text = ''] = withCeiling(null, { name: 'm', unit: of }, micros).split('=');
        const [whole = '', fraction = ''] = text.split('.');
        const places = { usd: 6, usd_cents: 4, micro_usd: 0 }[of];
        expect(text).toMatch(/^(?:0|[1-9][0-9]*)(?:\.[0-9]*[1-9])?$/);
        expect(BigInt(whole + fraction.padEnd(places, '0'))).toBe(BigInt(micros));
      }),
      { numRuns: 1_000 },
    );
  });
});
