/** Shapes of bodies: members and lists count, values do not. */
import { describe, expect, it } from 'vitest';
import { overflowShapeDepthMax, overflowShapePathsMax } from '../../../../src/base/limits-capacity';
import { isEmptier, shapeOf } from '../../../../src/domain/overflow/shape';

const shape = (text: string): string => shapeOf(new TextEncoder().encode(text));

describe('two bodies', () => {
  it.each([
    ['of other values', '{"a":1,"b":["x"]}', '{"a":null,"b":[2]}'],
    ['of another order', '{"a":1,"b":{"c":2,"d":3}}', '{"b":{"d":0,"c":0},"a":0}'],
    ['of another number of entries', '[{"a":1}]', '[{"a":1},{"a":2},{"a":3}]'],
    ['whose entries together have the same members', '[{"a":1,"b":2}]', '[{"a":1},{"b":2}]'],
    ['whose entries come in another order', '[{"a":1},{"b":1}]', '[{"b":1},{"a":1}]'],
    ['of two texts', 'plain', '<html>'],
    ['of nothing', '', ''],
    ['of two leaves', '1', '"x"'],
  ])('%s have one shape', (_, a, b) => {
    expect(shape(a)).toBe(shape(b));
  });

  it.each([
    ['with a member less', '{"a":1,"b":2}', '{"a":1}'],
    ['with a member of another name', '{"a":1}', '{"A":1}'],
    ['with a list for an object', '{"a":[]}', '{"a":{}}'],
    ['with a leaf for a list', '{"a":[]}', '{"a":1}'],
    ['with a deeper member', '{"a":{"b":1}}', '{"a":1}'],
    ['with a name that looks like a path', '{"a.b":1}', '{"a":{"b":1}}'],
    ['of text and JSON', 'plain', '"plain"'],
    ['of nothing and something', '', '{}'],
    ['of nothing and a text', '', 'plain'],
    ['with an empty object', '{"a":{}}', '{}'],
    ['in an envelope of its own', '{"data":{"a":1}}', '{"a":1}'],
    ['with a member of the language', '{"__proto__":1}', '{}'],
  ])('%s have two', (_, a, b) => {
    expect(shape(a)).not.toBe(shape(b));
  });

  it.each([
    ['a list that has none', '{"a":[],"n":0}', '{"a":[{"b":1}],"n":1}', true],
    ['a list of leaves', '[]', '[1]', true],
    ['a list of lists', '{"a":[[]]}', '{"a":[[{"b":[1]}]]}', true],
    ['two lists', '{"a":[],"b":[]}', '{"a":[1],"b":[{"c":2}]}', true],
    ['nothing', '{"a":[1]}', '{"a":[1]}', true],
    ['a list that is filled, the other way round', '{"a":[1]}', '{"a":[]}', false],
    ['a member less beside it', '{"a":[]}', '{"a":[1],"b":1}', false],
    ['a member more beside it', '{"a":[],"b":1}', '{"a":[1]}', false],
    ['other entries', '{"a":[{"b":1}]}', '{"a":[{"c":1}]}', false],
    ['fewer members of an entry', '[{"b":1}]', '[{"b":1,"c":1}]', false],
    ['a list for an object', '{"a":[]}', '{"a":{"b":1}}', false],
    ['a name that looks like a list', '{"a":[],"a[]":1}', '{"a":[]}', false],
    ['no JSON', 'plain', '[]', false],
  ])('differ in %s: %s beside %s', (_, poor, rich, expected) => {
    expect(isEmptier(shape(poor), shape(rich))).toBe(expected);
  });

  it('never carry a value', () => {
    expect(shape('{"name":"planted-value","list":["planted-value"]}')).not.toContain('planted');
  });

  it('of any size are bounded', () => {
    const members = Array.from({ length: 3 * overflowShapePathsMax }, (_, i) => `"m${i}":1`);
    expect(shape(`{${members.join(',')}}`).split('\n')).toHaveLength(overflowShapePathsMax);
    expect(shape(`{${members.toReversed().join(',')}}`)).toBe(shape(`{${members.join(',')}}`));
    const deep = 4 * overflowShapeDepthMax;
    const text = shape(`${'['.repeat(deep)}${']'.repeat(deep)}`);
    expect(text.split('\n')).toHaveLength(overflowShapeDepthMax + 1);
  });
});
