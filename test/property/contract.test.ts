/** Contracts of catalog rows, against the platform's own reading: what passes has declared values only, each once, as every vendor reads it. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { contractFault, readBody } from '../../src/domain/catalog/input-contract';
import { platformFault } from '../../src/domain/catalog/platform-request';
import { fingerprintChunks } from '../../src/domain/idempotency/idempotency-key';
import { vendorKeyInput } from '../../src/domain/idempotency/vendor-key';
import { endpoint, parameter } from '../unit/domain/catalog/rows';

const row = endpoint({
  strictQuery: true,
  bodyAllowlist: true,
  parameters: [
    parameter('query', 'n', { rule: { type: 'integer', enum: null, min: 1, max: 20 } }),
    parameter('query', 'q', { required: true, rule: { type: 'string', enum: null, charsMax: 3 } }),
    parameter('body', 'a', { rule: { type: 'number', enum: null, min: 0, max: 9 } }),
    parameter('body', '__proto__', { rule: { type: 'any' } }),
  ],
});
const pair = fc.constantFrom(
  ...[
    'q=x',
    'q=xyz',
    'q=wxyz',
    '%71=y',
    'Q=x',
    'n=1',
    'n=20',
    'n=21',
    'n=0',
    'n=01',
    'n=1e1',
    'n=+1',
  ],
  ...[
    'n=%31',
    'n=1.0',
    'n=-1',
    'n',
    '',
    'q',
    'q=;',
    'x=1;n=5',
    'n=1;q=2',
    'q=é',
    'q=%ff',
    'n=%EF%BC%91',
  ],
);
const query = fc.array(pair, { maxLength: 4 }).map((pairs) => pairs.join('&'));
const member = fc.constantFrom(
  ...[
    '"a":1',
    '"a":9.5',
    '"a":-0',
    '"a":1e400',
    '"\\u0061":2',
    '"A":1',
    '"a":"1"',
    '"__proto__":{"a":5}',
  ],
  ...['"__proto__":1', '"a":null', '"b":1', '"a" : 0.5'],
);
const body = fc.oneof(
  fc.array(member, { maxLength: 3 }).map((members) => `{${members.join(',')}}`),
  fc.constantFrom('[]', 'null', '', '{', '\ufeff{}'),
);

describe('a call that keeps its contract', () => {
  it('has declared names only, each once, with values within their rule', () => {
    fc.assert(
      fc.property(query, body, (raw, text) => {
        const read = readBody(new TextEncoder().encode(text));
        if (!read.ok) return;
        if (contractFault(row, { query: raw, body: read.value }) !== null) return;
        const pairs = [...new URL(`http://h.example/?${raw}`).searchParams];
        const names = pairs.map(([name]) => name);
        expect(new Set(names).size).toBe(names.length);
        expect(names.filter((name) => name !== 'n' && name !== 'q')).toEqual([]);
        const given = new Map(pairs);
        expect([...(given.get('q') ?? 'none').split('')].length).toBeLessThanOrEqual(3);
        const count = Number(given.get('n') ?? 1);
        expect(count >= 1 && count <= 20).toBe(true);
        const document: unknown = JSON.parse(text);
        const members = Object.entries(Object(document));
        expect(members.every(([name]) => name === 'a' || name === '__proto__')).toBe(true);
        const a = Object(document).a ?? 0;
        expect(typeof a === 'number' && a >= 0 && a <= 9).toBe(true);
      }),
      { numRuns: 2_000 },
    );
  });

  it('asks the vendor for no more than the row allows, wherever parsers part pairs and whatever case they read', () => {
    const limit = { kind: 'count', in: 'query', at: ['n'], min: 1, max: 20 } as const;
    const piece = fc.constantFrom(
      'n=5',
      'n=500',
      'N=500',
      'x=1',
      'n',
      '%6e=500',
      '%4E=5',
      'xn=500',
    );
    const joint = fc.constantFrom('&', ';', '&&', ';&');
    const written = fc
      .array(fc.tuple(piece, joint), { maxLength: 4 })
      .map((all) => all.map(([text, by]) => text + by).join(''));
    fc.assert(
      fc.property(written, (raw) => {
        if (platformFault([limit], { query: raw, body: { kind: 'none' } }) !== null) return;
        for (const parted of [raw.split('&'), raw.split(/[&;]/)]) {
          const counts = parted
            .flatMap((text) => [...new URLSearchParams(text)])
            .filter(([name]) => name.toLowerCase() === 'n');
          expect(counts).toEqual([['n', '5']]);
        }
      }),
      { numRuns: 1_000 },
    );
  });
});

describe('a fingerprint and a vendor’s key', () => {
  const text = fc.string({ unit: fc.constantFrom(...'a?&/1:é\u001f;'), maxLength: 4 });
  const parts = fc.record({
    method: fc.constantFrom('GET', 'POST'),
    path: text,
    query: fc.option(text),
    body: text.map((each) => new TextEncoder().encode(each)),
  });
  const bytesOf = (chunks: readonly Uint8Array[]): string =>
    chunks.map((chunk) => [...chunk].join()).join();

  it('are the same for the same call only', () => {
    fc.assert(
      fc.property(parts, parts, (one, other) => {
        const [first, second] = [one, other].map((each) => bytesOf(fingerprintChunks(each)));
        const isSame = JSON.stringify(one) === JSON.stringify(other);
        expect(first === second).toBe(isSame);
      }),
      { numRuns: 1_000 },
    );
  });

  it('have no other caller’s parts in them', () => {
    const key = fc.record({ tenantId: text, scope: text, key: text, pins: fc.array(text) });
    fc.assert(
      fc.property(key, key, (one, other) => {
        const told = [one, other].map((each) => [...vendorKeyInput(each)].join());
        const meant = [one, other].map((each) =>
          JSON.stringify({ ...each, pins: [...each.pins].sort() }),
        );
        expect(told[0] === told[1]).toBe(meant[0] === meant[1]);
      }),
      { numRuns: 1_000 },
    );
  });
});
