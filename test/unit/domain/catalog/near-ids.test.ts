/** Suggestions for an id that cannot be called. */
import { describe, expect, it } from 'vitest';
import {
  catalogEndpointsMax,
  catalogIdCharsMax,
  nearIdsMax,
} from '../../../../src/base/limits-money';
import type { EndpointHeading } from '../../../../src/domain/catalog/endpoint';
import { editsBetween, nearIds, nearRows } from '../../../../src/domain/catalog/near-ids';

const heading = (id: string, parts: Partial<EndpointHeading> = {}): EndpointHeading => ({
  id,
  capability: 'chat.completion',
  access: 'account',
  guideMicros: null,
  retired: false,
  ...parts,
});
const ids = [
  'openai.chat.completions',
  'openai.embeddings',
  'openrouter.chat.completions',
  'brave.web_search',
  'github.repos.get',
  'github.repos.list',
];
const headings = ids.map((id) => heading(id));

describe('a mistyped id', () => {
  it.each([
    ['openai.chat.completion', ['openai.chat.completions']],
    ['opneai.chat.completions', ['openai.chat.completions', 'openrouter.chat.completions']],
    ['OpenAI.embeddings', ['openai.embeddings']],
    ['openai.embedding', ['openai.embeddings']],
    ['brave.search', ['brave.web_search']],
    ['github.repos', ['github.repos.get', 'github.repos.list']],
    ['mistral.chat.completions', ['openai.chat.completions', 'openrouter.chat.completions']],
    ['nothing.like.it', []],
    ['', []],
    ['x'.repeat(catalogIdCharsMax + 1), []],
  ])('%s may have meant %j', (asked, expected) => {
    const found = nearIds(asked, headings);
    for (const id of expected) expect(found).toContain(id);
    expect(found[0]).toBe(expected[0]);
  });

  it('gets at most five suggestions, the nearest first', () => {
    const many = Array.from({ length: 50 }, (_, i) => heading(`vendor.op${i}`));
    const found = nearIds('vendor.op1x', many);
    expect(found).toHaveLength(nearIdsMax);
    expect(found[0]).toBe('vendor.op1');
  });

  it('is never sent to a retired row', () => {
    const rows = new Map([['openai.edits', heading('openai.edits', { retired: true })]]);
    expect(nearRows('openai.edit', rows)).toEqual({ didYouMean: [], alternatives: [] });
  });

  it('costs no more than a moment in the largest catalog', () => {
    const many = Array.from({ length: catalogEndpointsMax }, (_, i) =>
      heading(`vendor${i % 100}.${'abcdefghij'.repeat(7)}${i}`),
    );
    const compared = nearIds(`vendor5.${'jihgfedcba'.repeat(7)}`, many);
    expect(compared.length).toBeLessThanOrEqual(nearIdsMax);
  });
});

describe('edits', () => {
  it.each([
    ['', '', 0],
    ['abc', 'abc', 0],
    ['abc', 'abd', 1],
    ['abc', 'acb', 1],
    ['abc', 'bc', 1],
    ['abc', 'xabc', 1],
    ['abcd', 'badc', 2],
    ['abcdef', 'uvwxyz', 4],
    ['a', 'abcde', 4],
  ])('%j → %j: %i (4 is more than three)', (a, b, edits) => {
    expect([editsBetween(a, b), editsBetween(b, a)]).toEqual([edits, edits]);
  });
});

describe('alternatives of a row that cannot be called', () => {
  const rows = new Map(
    [
      heading('a.dead', { retired: true }),
      heading('b.dear', { guideMicros: 900 }),
      heading('c.cheap', { guideMicros: 10 }),
      heading('d.free', { guideMicros: 0, access: 'anonymous' }),
      heading('e.own', { access: 'own' }),
      heading('f.gone', { guideMicros: 1, retired: true }),
      heading('g.other', { guideMicros: 1, capability: 'web.search' }),
    ].map((row) => [row.id, row] as const),
  );

  it('do the same, cheapest first, and say with whose credential', () => {
    expect(nearRows('a.dead', rows)).toEqual({
      didYouMean: [],
      alternatives: [
        { id: 'd.free', access: 'anonymous', guideMicros: 0 },
        { id: 'c.cheap', access: 'account', guideMicros: 10 },
        { id: 'b.dear', access: 'account', guideMicros: 900 },
        { id: 'e.own', access: 'own', guideMicros: null },
      ],
    });
  });

  it('are at most five', () => {
    const many = new Map(
      Array.from({ length: 20 }, (_, i) => [`v.${i}`, heading(`v.${i}`, { guideMicros: i })]),
    );
    expect(nearRows('v.0', many).alternatives.map((row) => row.guideMicros)).toEqual([
      1, 2, 3, 4, 5,
    ]);
  });
});
