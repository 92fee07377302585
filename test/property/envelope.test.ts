/** Aggregator envelopes: a request goes in with all its values and the bytes of its body, an answer comes out with the bytes of the vendor's. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { usualAggregators } from '../../src/domain/overflow/aggregators';
import { build, parse } from '../../src/domain/overflow/envelope';
import { decimalOf } from '../../src/domain/pricing/decimal';

const [orthogonal, monid] = usualAggregators;
if (orthogonal === undefined || monid === undefined) throw new Error('two aggregators are usual');
const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const aggregator = fc.constantFrom(orthogonal, monid);
const silent = () => null;

/** JSON texts that a second print would change. */
const jsonText = fc
  .oneof(
    fc.json({ maxDepth: 2 }),
    fc.constantFrom('1.00', '1e2', '12345678901234567890', '"\\u0041\\/"', '{"a":1,"a":2}', '""'),
    fc.constantFrom('{ "b" : [ 1 , 2.50 ] }', '"\\ud83d\\ude00"', '[]', 'true', '"data"'),
  )
  .filter((text) => text.trim() !== 'null');
const name = fc.constantFrom('q', 'a b', '__proto__', 'é', '1', 'x[]', '');
const query = fc.array(fc.tuple(name, fc.string({ unit: 'grapheme', maxLength: 6 })), {
  maxLength: 5,
});
const segment = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 6 });
const printed = (pairs: readonly (readonly [string, string])[]): string =>
  pairs.map((pair) => pair.map((part) => encodeURIComponent(part)).join('=')).join('&');

describe('a request in an envelope', () => {
  it('has the values of the query, the parts of the path and the bytes of the body', () => {
    fc.assert(
      fc.property(aggregator, query, segment, jsonText, (to, pairs, id, bodyText) => {
        const built = build(to, {
          vendor: 'v"1',
          operation: '/items/{id}/x',
          method: 'POST',
          path: `/base/items/${encodeURIComponent(id)}/x`,
          query: printed(pairs),
          bodyText,
        });
        if (!built.ok) throw new Error(built.error);
        const text = built.value.body ?? '';
        const said = JSON.parse(text);
        const { query: flat, path, input } = said;
        const values = flat ?? input?.queryParams ?? {};
        const wanted = new Map<string, string[]>();
        for (const [key, value] of pairs) wanted.set(key, [...(wanted.get(key) ?? []), value]);
        expect(
          new Map(Object.entries(values).map(([key, value]) => [key, [value].flat()])),
        ).toEqual(wanted);
        if (input === undefined) expect(path).toBe(`/base/items/${encodeURIComponent(id)}/x`);
        else expect(input.pathParams).toEqual({ id });
        expect(text.includes(`"body":${bodyText}}`)).toBe(true);
      }),
      { numRuns: 500 },
    );
  });
});

const cost = fc.oneof(
  fc.nat(1_000_000),
  fc.double({ min: 0, max: 1_000, noNaN: true }),
  fc.constantFrom('0.05', -1, null, 'x', 1e300),
);
/** What is owed, in micro-USD, upwards; null: it is not said. */
function owed(value: unknown, unitMicros: number): number | null {
  const read = decimalOf(value);
  if (read === null) return null;
  const divisor = 10n ** BigInt(read.scale);
  const micros = (read.digits * BigInt(unitMicros) + divisor - 1n) / divisor;
  return micros > 1_000_000_000_000n ? null : Number(micros);
}
const wordOf = (text: string): string => {
  const value: unknown = JSON.parse(text);
  return typeof value === 'string' ? value.toWellFormed() : text;
};

describe('an answer in an envelope', () => {
  it('is the bytes of the vendor’s, with its status and what it cost', () => {
    const space = fc.constantFrom('', ' ', '\n\t');
    const status = fc.constantFrom(200, 201, 299, 400, 404, 422, 500, 503);
    fc.assert(
      fc.property(jsonText, status, cost, space, (data, code, price, gap) => {
        const isOk = code < 300;
        const flat = `{"success":${isOk},${gap}"data":${gap}${data.trim()}${gap},"status":${code},"priceCents":${JSON.stringify(price)}}`;
        const run = `{"runId":"r1","status":"COMPLETED","providerResponse":{"httpStatus":${code}},"output" :${gap}${data.trim()}${gap},"cost":{"value":${JSON.stringify(price)}}}`;
        for (const [to, text, unit] of [
          [orthogonal, flat, 10_000],
          [monid, run, 1_000_000],
        ] as const) {
          const answer = { status: to === orthogonal ? code : 200, bytes: encoder.encode(text) };
          const outcome = parse(to, answer, silent);
          if (outcome.kind !== 'served') throw new Error(`${outcome.kind} ${text}`);
          expect(outcome.status).toBe(code);
          expect(decoder.decode(outcome.body)).toBe(wordOf(data.trim()));
          expect(outcome.costMicros).toBe(owed(price, unit));
        }
      }),
      { numRuns: 500 },
    );
  });

  it('is never thrown at, and a cost is a whole amount that is not negative', () => {
    const member = fc.constantFrom(
      ...['success', 'data', 'code', 'status', 'runId', 'providerResponse', 'output', 'cost'],
      ...['priceCents', 'price', '__proto__'],
    );
    const value = fc.oneof(
      fc.constantFrom<unknown>(true, false, null, 'RUNNING', 'COMPLETED', 'FAILED', 'r1', 200, -1),
      fc.constantFrom<unknown>(
        { httpStatus: 200 },
        { value: 1e-9 },
        { value: '1' },
        [],
        'NOT_FOUND',
      ),
      fc.json({ maxDepth: 1 }).map((text): unknown => JSON.parse(text)),
    );
    const body = fc.oneof(
      fc.dictionary(member, value).map((document) => JSON.stringify(document)),
      fc.string(),
      fc.constantFrom('', '\ufeff{}', 'null', '[]', '"', '{"data":1,"data":null,"success":true}'),
    );
    const status = fc.integer({ min: 100, max: 599 });
    fc.assert(
      fc.property(aggregator, status, body, (to, code, text) => {
        const outcome = parse(to, { status: code, bytes: encoder.encode(text) }, silent);
        if (outcome.kind === 'pending' || outcome.costMicros === null) return;
        expect(Number.isSafeInteger(outcome.costMicros)).toBe(true);
        expect(outcome.costMicros).toBeGreaterThanOrEqual(0);
      }),
      { numRuns: 1_500 },
    );
  });
});
