/** JSON paths and spans against a walk of the parsed document: the same values, the same texts, whatever the names. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parsePath, readJsonExactly, readPath } from '../../src/base/json-path';
import { arrayEntries, objectMembers } from '../../src/domain/pricing/json-spans';

const name = fc.constantFrom(
  'a',
  'b',
  '__proto__',
  'constructor',
  'length',
  '0',
  '',
  'é"\\',
  '-',
  '$_',
);
const document = fc.letrec<{ any: unknown; object: object; list: unknown[] }>((tie) => ({
  any: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom<unknown>(null, 0, 1.5, true, 'x', '', []),
    tie('object'),
    tie('list'),
  ),
  object: fc.dictionary(name, tie('any'), { maxKeys: 4, noNullPrototype: true }),
  list: fc.array(tie('any'), { maxLength: 3 }),
})).any;
type Step = string | number | '*each';
const step: fc.Arbitrary<Step> = fc.oneof(name, fc.nat(3), fc.constant('*each' as const));
const steps = fc.array(step, { minLength: 1, maxLength: 5 });

const written = (path: readonly Step[]): string =>
  path
    .map((each, at) => {
      if (each === '*each') return '[*]';
      if (typeof each === 'number') return `[${each}]`;
      if (!/^[A-Za-z0-9_$-]+$/.test(each)) return `[${JSON.stringify(each)}]`;
      return at === 0 ? each : `.${each}`;
    })
    .join('');

/** Every value that a path leads to, one by one. */
function walked(value: unknown, path: readonly Step[]): unknown[] {
  const [first, ...rest] = path;
  if (first === undefined) return [value];
  if (first === '*each') return Array.isArray(value) ? value.flatMap((v) => walked(v, rest)) : [];
  const isList = Array.isArray(value);
  if (typeof value !== 'object' || value === null || isList !== (typeof first === 'number'))
    return [];
  return Object.hasOwn(value, first) ? walked(Reflect.get(value, first), rest) : [];
}

describe('a path', () => {
  it('leads where a walk leads', () => {
    fc.assert(
      fc.property(document, steps, (made, path) => {
        const value: unknown = JSON.parse(JSON.stringify(made));
        const parsed = parsePath(written(path));
        if (!parsed.ok) throw new Error(parsed.error);
        const found = readPath(value, parsed.value);
        const wanted = walked(value, path);
        if (found.kind === 'missing') expect(wanted).toEqual([]);
        else if (found.kind === 'values') expect(found.values).toEqual(wanted);
        else expect([found.count, path.at(-1)]).toEqual([wanted.length, '*each']);
      }),
      { numRuns: 1_000 },
    );
  });
});

describe('spans', () => {
  it('are the texts of the members and entries', () => {
    const gap = fc.constantFrom(0, 1, '\t');
    fc.assert(
      fc.property(document, gap, (made, indent) => {
        const text = JSON.stringify(made, null, indent);
        const value: unknown = JSON.parse(text);
        const whole = { start: 0, end: text.length };
        const members = objectMembers(text, whole);
        const read = members.map(({ name: key, start, end }) => [
          key,
          JSON.parse(text.slice(start, end)),
        ]);
        const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
        expect(new Map(read as [string, unknown][])).toEqual(
          new Map(isObject ? Object.entries(value) : []),
        );
        const entries = arrayEntries(text, whole).map(({ start, end }) =>
          JSON.parse(text.slice(start, end)),
        );
        expect(entries).toEqual(Array.isArray(value) ? value : []);
      }),
      { numRuns: 1_000 },
    );
  });
});

describe('a number that is read exactly', () => {
  it('is the double, or the digits that no double holds', () => {
    const digits = fc.bigInt({ min: -(10n ** 22n), max: 10n ** 22n }).map(String);
    const other = fc.constantFrom(
      '1.0',
      '1e3',
      '-0',
      '9007199254740991',
      '9007199254740993',
      '1e400',
    );
    fc.assert(
      fc.property(fc.oneof(digits, other), (text) => {
        const read = readJsonExactly(new TextEncoder().encode(`{"id":${text}}`));
        const { id } = read.ok ? (read.value as { id: unknown }) : { id: undefined };
        const isWhole = /^-?[0-9]+$/.test(text);
        if (isWhole && !Number.isSafeInteger(Number(text))) expect(id).toBe(text);
        else expect(id).toBe(Number(text));
      }),
      { numRuns: 500 },
    );
  });
});
