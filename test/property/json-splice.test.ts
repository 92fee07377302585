import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  decodeUtf8,
  jsonString,
  parseJson,
  scanObject,
  setTopLevelFields,
} from '../../src/base/json';

const options = { depthMax: 64 };
const space = fc.stringMatching(/^[ \n\r\t]{0,3}$/);
const names = fc.constantFrom('a', 'key', 'é', '__proto__', '', 'n"\\', '1', '😀');
const scalar = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 8 }).map((text) => JSON.stringify(text)),
  fc.constantFrom(
    '1.00',
    '-0',
    '1e400',
    '123456789012345678901234567890',
    'true',
    'false',
    'null',
    '"\\ud800"',
    '"\\u0041\\/"',
  ),
);

/**
 * A name as one of the texts that mean it: some of its UTF-16 units escaped, in either hex case.
 */
const spelledName = (name: string): fc.Arbitrary<string> =>
  fc
    .array(fc.constantFrom(0, 1, 2), { minLength: name.length, maxLength: name.length })
    .map((choices) => {
      const units = name.split('').map((unit, at) => {
        const hex = unit.charCodeAt(0).toString(16).padStart(4, '0');
        const choice = choices[at] ?? 0;
        const mustEscape = /["\\\ud800-\udfff]/.test(unit);
        if (choice === 0 && !mustEscape) return unit;
        return `\\u${choice === 1 ? hex : hex.toUpperCase()}`;
      });
      return `"${units.join('')}"`;
    });

const named = (name: string): fc.Arbitrary<[string, string]> =>
  fc.tuple(fc.constant(name), spelledName(name));

interface Node {
  readonly text: string;
  readonly hasRepeat: boolean;
}

const tree = fc.letrec<{ node: Node; object: Node; array: Node }>((tie) => ({
  node: fc.oneof(
    { maxDepth: 4 },
    scalar.map((text) => ({ text, hasRepeat: false })),
    tie('object'),
    tie('array'),
  ),
  array: fc.tuple(space, fc.array(tie('node'), { maxLength: 3 })).map(([gap, nodes]) => ({
    text: `[${gap}${nodes.map((node) => node.text).join(`${gap},`)}${gap}]`,
    hasRepeat: nodes.some((node) => node.hasRepeat),
  })),
  object: fc
    .tuple(space, fc.array(fc.tuple(names.chain(named), tie('node')), { maxLength: 3 }))
    .map(([gap, members]) => ({
      text: `{${members.map(([[, name], node]) => `${gap}${name}${gap}:${node.text}`).join(`${gap},`)}${gap}}`,
      hasRepeat:
        members.some(([, node]) => node.hasRepeat) ||
        new Set(members.map(([[name]]) => name)).size < members.length,
    })),
})).object;

/** An object as the pieces that it was made of. */
const pieces = fc
  .uniqueArray(fc.tuple(names, scalar), { selector: ([name]) => name, maxLength: 6 })
  .chain((members) =>
    fc.tuple(
      ...members.map(([name, value]) =>
        fc.tuple(fc.constant(name), spelledName(name), fc.constant(value), space),
      ),
    ),
  );

const print = (members: readonly (readonly [string, string, string, string])[]): string =>
  `{${members.map(([, name, value, gap]) => `${gap}${name}${gap}:${gap}${value}`).join(',')}\n}`;

describe('setTopLevelFields', () => {
  it('replaces the bytes of one value and keeps every other byte', () => {
    fc.assert(
      fc.property(
        pieces.filter((members) => members.length > 0),
        fc.nat(),
        fc.string({ unit: 'grapheme' }),
        (members, pick, value) => {
          const target = members[pick % members.length];
          if (target === undefined) return;
          const text = print(members);
          const set = setTopLevelFields(text, [[target[0], jsonString(value)]], options);
          const expected = members.map((m) =>
            m === target ? ([m[0], m[1], jsonString(value), m[3]] as const) : m,
          );
          expect(set).toEqual({ ok: true, value: print(expected) });
        },
      ),
    );
  });

  it('appends a member and keeps every byte', () => {
    fc.assert(
      fc.property(pieces, fc.string({ unit: 'binary' }), (members, value) => {
        const text = print(members);
        const set = setTopLevelFields(text, [['new', jsonString(value)]], options);
        if (!set.ok) throw new Error(set.error);
        const at = text.lastIndexOf('\n}');
        const cut = members.length === 0 ? 1 : at;
        expect(set.value.startsWith(text.slice(0, cut))).toBe(true);
        expect(set.value.endsWith(text.slice(cut))).toBe(true);
        expect(JSON.parse(set.value)).toEqual({ ...JSON.parse(text), new: value });
      }),
    );
  });

  it('sets what it then reads, and setting it again changes nothing', () => {
    fc.assert(
      fc.property(
        tree.filter((node) => !node.hasRepeat),
        names,
        scalar,
        ({ text }, name, value) => {
          const once = setTopLevelFields(text, [[name, value]], options);
          if (!once.ok) throw new Error(once.error);
          const scanned = scanObject(once.value, options);
          if (!scanned.ok) throw new Error(scanned.error);
          const member = scanned.value.find((found) => found.name === name);
          expect(once.value.slice(member?.valueStart, member?.valueEnd)).toBe(value);
          expect(setTopLevelFields(once.value, [[name, value]], options)).toEqual(once);
        },
      ),
    );
  });
});

describe('scanner', () => {
  it('finds a repeated name exactly where an object has one', () => {
    fc.assert(
      fc.property(tree, ({ text, hasRepeat }) => {
        const parsed = parseJson(text, options);
        expect(parsed.ok ? null : parsed.error).toBe(hasRepeat ? 'duplicate_key' : null);
      }),
      { numRuns: 500 },
    );
  });

  it('accepts no text that JSON.parse refuses, and refuses as syntax none that it accepts', () => {
    const noise = fc.constantFrom('', ...'"\\{}[],:0-.eut \n\u0001\u00a0\ufeff');
    fc.assert(
      fc.property(tree, fc.nat(), fc.nat({ max: 3 }), noise, ({ text }, pick, length, inserted) => {
        const at = pick % (text.length + 1);
        const mutated = text.slice(0, at) + inserted + text.slice(at + length);
        const scanned = parseJson(mutated, options);
        let isJson = true;
        try {
          JSON.parse(mutated);
        } catch {
          isJson = false;
        }
        if (scanned.ok) expect(isJson).toBe(true);
        else if (isJson) expect(scanned.error).toBe('duplicate_key');
      }),
      { numRuns: 2000 },
    );
  });

  it('finds a repeated name among any number of names, whatever it is spelled like', () => {
    const name = fc.oneof(
      fc.nat(30).map((n) => `n${n}`),
      fc.nat(12).map(String),
      fc.constantFrom('__proto__', 'constructor', '', '"', '\\', '\ud800', 'é', 'e\u0301'),
    );
    const spelled = name.chain((text) => fc.tuple(fc.constant(text), spelledName(text)));
    fc.assert(
      fc.property(fc.array(spelled, { maxLength: 24 }), fc.boolean(), (all, isNested) => {
        const object = `{${all.map(([, text], at) => `${text}:${at}`).join(',')}}`;
        const parsed = parseJson(isNested ? `[1,{"a":${object}}]` : object, options);
        const isRepeated = new Set(all.map(([text]) => text)).size < all.length;
        expect(parsed.ok ? null : parsed.error).toBe(isRepeated ? 'duplicate_key' : null);
      }),
      { numRuns: 1000 },
    );
  });

  it('reads so deep and no deeper, whatever stands on the way', () => {
    const level = fc.constantFrom<[string, string]>(
      ['[', ']'],
      ['{"a":', '}'],
      [' [ 1 , ', ' , "]" ] '],
      ['{"[{":"}","b":', ',"c":[]}'],
    );
    const bottom = fc.constantFrom('1', '"\\"[{"', 'null');
    fc.assert(
      fc.property(fc.array(level, { minLength: 1, maxLength: 12 }), bottom, (levels, value) => {
        const text = levels.reduceRight<string>(
          (inner, [open, close]) => open + inner + close,
          value,
        );
        const depth = levels.reduce(
          (most, [, close], at) => Math.max(most, at + (close.includes('[]') ? 2 : 1)),
          0,
        );
        const at = (depthMax: number) => parseJson(text, { depthMax });
        expect(at(depth)).toEqual({ ok: true, value: JSON.parse(text) });
        expect(at(depth - 1)).toEqual({ ok: false, error: 'too_deep' });
      }),
      { numRuns: 500 },
    );
  });

  it('decodes what UTF-8 encodes and refuses what it does not', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 12 }), (bytes) => {
        const decoded = decodeUtf8(bytes);
        if (decoded.ok) expect([...new TextEncoder().encode(decoded.value)]).toEqual([...bytes]);
      }),
      { numRuns: 1000 },
    );
  });
});
