import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { assert } from '../../src/base/assert';
import { ceilMicros, decimalOf } from '../../src/domain/pricing/decimal';
import type { UsagePlan } from '../../src/domain/pricing/meters';
import type { StreamEnd } from '../../src/domain/pricing/price';
import { SseUsageTap } from '../../src/domain/pricing/sse-usage-tap';
import { withoutReportedCharge } from '../../src/domain/pricing/strip-charge';

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { fatal: false, ignoreBOM: true });

// ── streams ──

const ends: readonly StreamEnd[] = [
  { kind: 'data', text: '[DONE]' },
  { kind: 'event', name: 'stop' },
];
const plan: UsagePlan = {
  readings: [
    { name: 'last', paths: ['usage.n', 'n'], keep: 'last' },
    { name: 'max', paths: ['usage.m'], keep: 'max' },
    { name: 'sum', paths: ['usage.s'], keep: 'sum' },
    { name: 'count', paths: ['list[*]'], keep: 'sum' },
  ],
  ends,
};

const lineEnd = fc.constantFrom('\n', '\r\n', '\r');
const amount = fc.oneof(
  fc.nat({ max: 1_000_000 }),
  fc.double({ min: 0, max: 1_000, noNaN: true }),
  fc.constantFrom(null, 'x', '7.25', -1),
);
const json = fc
  .record(
    {
      usage: fc.record({ n: amount, m: amount, s: amount }, { requiredKeys: [] }),
      n: amount,
      list: fc.array(fc.constant(0), { maxLength: 3 }),
      text: fc.string({ unit: 'grapheme', maxLength: 12 }),
    },
    { requiredKeys: [] },
  )
  .map((value) => JSON.stringify(value));
const data = fc.oneof(
  json,
  json.map((text) => text.slice(0, -1)),
  json.map((text) => JSON.stringify(JSON.parse(text), null, 1)),
  fc.constantFrom('[DONE]', '', 'é😀', '{"n":', '"n"'),
);
const otherLine = fc.constantFrom(
  ': é',
  ':',
  'id: 1',
  'retry: 2',
  'event: delta',
  'event: stop',
  'x',
);

interface StreamEvent {
  readonly before: readonly string[];
  readonly data: string;
  readonly isSpaced: boolean;
}

const event: fc.Arbitrary<StreamEvent> = fc.record({
  before: fc.array(otherLine, { maxLength: 2 }),
  data,
  isSpaced: fc.boolean(),
});

const stream = fc
  .record({
    bom: fc.boolean(),
    events: fc.array(fc.tuple(event, lineEnd), { maxLength: 5 }),
    isClosed: fc.boolean(),
  })
  .map(({ bom, events, isClosed }) => {
    const texts = events.map(([{ before, data: text, isSpaced }, end], index) => {
      const lines = text.split('\n').map((line) => `data:${isSpaced ? ' ' : ''}${line}`);
      const isOpen = !isClosed && index === events.length - 1;
      return [...before, ...lines].join(end) + (isOpen ? '' : end + end);
    });
    return encoder.encode((bom ? '\ufeff' : '') + texts.join(''));
  });

function tapped(pieces: readonly Uint8Array[]) {
  const tap = new SseUsageTap(plan);
  for (const piece of pieces) {
    // a buffer of its own that is overwritten: nothing may be read from it later
    const chunk = piece.slice();
    tap.push(chunk);
    assert(
      chunk.every((byte, at) => byte === piece[at]),
      'a chunk was changed',
    );
    chunk.fill(0x0a);
  }
  tap.end();
  const seen = [...tap.usage().seen].sort(([a], [b]) => (a < b ? -1 : 1));
  return { seen, unread: tap.unreadEvents, ended: tap.hasEnded };
}

const shown = (value: ReturnType<typeof tapped>): string =>
  JSON.stringify(value, (_key, it) => (typeof it === 'bigint' ? `${it}n` : it));

/** A plain reader of whole texts, written apart from the tap: the last word on what a stream says. */
function readWhole(bytes: Uint8Array) {
  const text = decoder.decode(bytes).replace(/^\ufeff/, '');
  const numbers: Record<'n' | 'm' | 's', unknown[]> = { n: [], m: [], s: [] };
  let ended = false;
  let [lines, name]: [string[], string] = [[], ''];
  for (const line of [...text.split(/\r\n|\r|\n/), '']) {
    if (line.startsWith('data:')) lines.push(line.slice(5).replace(/^ /, ''));
    if (line.startsWith('event:')) name = line.slice(6).replace(/^ /, '');
    if (line !== '') continue;
    const event = lines.join('\n');
    ended ||= event === '[DONE]' || name === 'stop';
    [lines, name] = [[], ''];
    const document = tryParse(event);
    numbers.n.push(document?.usage?.n ?? document?.n ?? null);
    numbers.m.push(document?.usage?.m ?? null);
    numbers.s.push(document?.usage?.s ?? null);
  }
  return { numbers, ended };
}

interface Said {
  readonly usage?: { readonly n?: unknown; readonly m?: unknown; readonly s?: unknown };
  readonly n?: unknown;
}

function tryParse(text: string): Said | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' ? value : null;
  } catch {
    return null;
  }
}

const present = (values: readonly unknown[]) => values.filter((value) => value !== null);

describe('SseUsageTap', () => {
  it('gives the same usage wherever the bytes are split', () => {
    fc.assert(
      fc.property(stream, (bytes) => {
        const whole = shown(tapped([bytes]));
        for (let at = 0; at <= bytes.length; at += 1) {
          const split = shown(tapped([bytes.subarray(0, at), bytes.subarray(at)]));
          assert(split === whole, `split at ${at}: ${split} instead of ${whole}`);
        }
        expect(shown(tapped([...bytes].map((byte) => Uint8Array.of(byte))))).toBe(whole);
      }),
      { numRuns: 100 },
    );
  }, 30_000);

  it('gives the same usage for any number of chunks', () => {
    fc.assert(
      fc.property(stream, fc.array(fc.nat({ max: 9 }), { minLength: 1 }), (bytes, steps) => {
        const pieces: Uint8Array[] = [];
        for (let at = 0, i = 0; at < bytes.length; i += 1) {
          const step = steps[i % steps.length] ?? 0;
          const end = i > 3 * bytes.length ? bytes.length : at + step;
          pieces.push(bytes.subarray(at, end));
          at = end;
        }
        expect(tapped(pieces)).toEqual(tapped([bytes]));
      }),
      { numRuns: 300 },
    );
  });

  it('says what a reader of the whole text says', () => {
    fc.assert(
      fc.property(stream, (bytes) => {
        const { numbers, ended } = readWhole(bytes);
        const tap = tapped([bytes]);
        const seen = new Map(tap.seen);
        const last = present(numbers.n).at(-1);
        expect(seen.get('last')).toEqual(last === undefined ? undefined : readNumber(last));
        const parts = present(numbers.s).map(readNumber);
        expect(seen.has('sum')).toBe(parts.length > 0);
        expect(seen.get('sum') === 'malformed').toBe(parts.includes('malformed'));
        const most = present(numbers.m).map(readNumber);
        expect(seen.get('max') === 'malformed').toBe(most.includes('malformed'));
        if (most.length > 0 && !most.includes('malformed')) {
          const largest = Math.max(...present(numbers.m).map(Number));
          expect(seen.get('max')).toEqual(decimalOf(largest) ?? 'malformed');
        }
        expect(tap.ended).toBe(ended);
      }),
      { numRuns: 500 },
    );
  });
});

const readNumber = (value: unknown) => decimalOf(value) ?? 'malformed';

// ── sums ──

describe('ceilMicros', () => {
  it('is the exact sum, rounded up: never below it, less than one above, in any order', () => {
    const term = fc.record({
      units: fc.nat({ max: 1_000_000 }),
      fraction: fc.nat({ max: 999 }),
      perMillionMicros: fc.nat({ max: 1_000_000_000 }),
    });
    fc.assert(
      fc.property(fc.array(term, { maxLength: 6 }), (terms) => {
        const read = terms.map(({ units, fraction, perMillionMicros }) => ({
          units: { digits: BigInt(units * 1_000 + fraction), scale: 3 },
          perMillionMicros,
        }));
        const exact = read.reduce(
          (sum, { units, perMillionMicros }) => sum + units.digits * BigInt(perMillionMicros),
          0n,
        );
        const micros = BigInt(ceilMicros(read) ?? -1);
        expect(micros * 1_000_000_000n >= exact).toBe(true);
        expect((micros - 1n) * 1_000_000_000n < exact).toBe(true);
        expect(ceilMicros([...read].reverse())).toBe(Number(micros));
      }),
      { numRuns: 500 },
    );
  });

  it('reads every double as the decimal that it prints', () => {
    fc.assert(
      fc.property(fc.double({ min: 0, noNaN: true, noDefaultInfinity: true }), (value) => {
        const read = decimalOf(value);
        expect(read === null ? null : Number(`${read.digits}e-${read.scale}`)).toBe(value);
      }),
      { numRuns: 500 },
    );
  });
});

// ── stripping ──

const settlement = {
  basis: 'response',
  reported: { in: 'body', at: 'usage.cost', perMillionMicros: 1, times: null },
  fallbackMicros: null,
  reserveMicros: null,
} as const;

const space = fc.stringMatching(/^[ \n\r\t]{0,2}$/);
const name = fc.constantFrom('a', 'é', '__proto__', 'costs', 'cos', '');
const member = fc.tuple(
  name,
  fc.oneof(fc.json({ maxDepth: 2 }), fc.constantFrom('1.00', '1e5', '"}\\",{"')),
);

/** An object text with distinct names, `target` somewhere in it when given, odd spaces around all. */
const objectText = (target: fc.Arbitrary<[string, string]> | null): fc.Arbitrary<string> =>
  fc
    .record({
      members: fc.uniqueArray(member, { maxLength: 4, selector: ([key]) => key }),
      target: target ?? fc.constant(null),
      place: fc.nat({ max: 4 }),
      spaces: fc.array(space, { minLength: 4, maxLength: 4 }),
    })
    .map(({ members, target: extra, place, spaces }) => {
      const [s1 = '', s2 = '', s3 = '', s4 = ''] = spaces;
      const all = members.map(([key, value]): [string, string] => [JSON.stringify(key), value]);
      if (extra !== null) all.splice(Math.min(place, all.length), 0, extra);
      const texts = all.map(([key, value]) => `${s1}${key}${s2}:${s3}${value}${s4}`);
      return `{${texts.join(',')}${s1}}`;
    });

const costMember = fc.tuple(
  fc.constantFrom('"cost"', '"c\\u006fst"', '"\\u0063ost"'),
  fc.oneof(fc.json({ maxDepth: 2 }), fc.constantFrom('0.00010', '"},{\\""', '[{"cost":1}]')),
);
const withCost = objectText(costMember).chain((inner) =>
  objectText(fc.tuple(fc.constantFrom('"usage"', '"us\\u0061ge"'), fc.constant(inner))),
);

/** The value without the member, made the plain way. */
function without(text: string): unknown {
  const document: unknown = JSON.parse(text);
  const usage = Object.getOwnPropertyDescriptor(Object(document), 'usage')?.value;
  expect(Object.hasOwn(usage, 'cost')).toBe(true);
  delete usage.cost;
  return document;
}

function isSubsequence(part: Uint8Array, whole: Uint8Array): boolean {
  let at = 0;
  for (const byte of whole) if (at < part.length && part[at] === byte) at += 1;
  return at === part.length;
}

describe('withoutReportedCharge', () => {
  it('means the document without the member, and adds no byte', () => {
    fc.assert(
      fc.property(withCost, (text) => {
        const bytes = encoder.encode(text);
        const kept = withoutReportedCharge(bytes, settlement);
        expect(JSON.parse(decoder.decode(kept))).toEqual(without(text));
        expect(kept.length).toBeLessThan(bytes.length);
        expect(isSubsequence(kept, bytes)).toBe(true);
        expect(withoutReportedCharge(kept, settlement)).toBe(kept);
      }),
      { numRuns: 500 },
    );
  });

  it('gives any other bytes back untouched', () => {
    const other = fc.oneof(
      fc.json().map((text) => encoder.encode(text)),
      objectText(null).map((text) => encoder.encode(text)),
      fc.uint8Array({ maxLength: 40 }),
      withCost.map((text) => encoder.encode(text).subarray(1)),
      withCost.map((text) => encoder.encode(`${text.slice(0, -1)},"usage":{}}`)),
    );
    fc.assert(
      fc.property(other, (bytes) => {
        expect(withoutReportedCharge(bytes, settlement)).toBe(bytes);
      }),
      { numRuns: 500 },
    );
  });
});
