/** Header rules and the cleaning of answers: what a rule or the contract names changes, every other pair is there as it was. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { prepareMask } from '../../src/domain/credentials/masking';
import { cleanAnswerHeaders } from '../../src/domain/relay/answer-headers';
import { applyEdits } from '../../src/domain/relay/header-edits';
import { nominated } from '../../src/domain/relay/header-policy';
import { weirCookies } from '../../src/http/header-names';

const name = fc.constantFrom('a', 'b', 'accept', 'cookie', 'x-y');
const value = fc.constantFrom('1', 'x, y', 'k=v', 'a;b', '"q"');
const pair = fc.tuple(name, value);
const pairs = fc.array(pair, { maxLength: 5 });
/** Of several lines of one name the runtimes differ; a caller's arrive as one. */
const callers = fc.uniqueArray(pair, { maxLength: 4, selector: ([key]) => key });
const edits = fc.record({ remove: fc.array(name, { maxLength: 2 }), set: pairs, add: pairs });

/** Lines by name, in their order. */
type Lines = Map<string, string[]>;
const linesOf = (all: readonly (readonly [string, string])[]): Lines => {
  const lines: Lines = new Map();
  for (const [key, text] of all) lines.set(key, [...(lines.get(key) ?? []), text]);
  return lines;
};

describe('header rules', () => {
  it('remove, then set, then add, and leave all else', () => {
    fc.assert(
      fc.property(callers, edits, (before, rules) => {
        const headers = new Headers(before.map(([key, text]): [string, string] => [key, text]));
        applyEdits(headers, rules);
        const lines = linesOf(before);
        for (const key of rules.remove) lines.delete(key);
        for (const [key, text] of rules.set) lines.set(key, [text]);
        const seen = new Map([...lines].map(([key, list]) => [key, list.join(', ')]));
        for (const [key, text] of rules.add) {
          const known = seen.get(key);
          const joint = key === 'cookie' ? '; ' : ', ';
          seen.set(key, known === undefined ? text : known + joint + text);
        }
        expect(new Map(headers)).toEqual(seen);
      }),
      { numRuns: 1_000 },
    );
  });
});

describe('a cleaned answer', () => {
  const secret = 'sk-live/1+2 3"e';
  const spelled = fc.constantFrom(
    ...[secret, encodeURIComponent(secret), btoa(secret), JSON.stringify(secret)],
    ...[encodeURIComponent(encodeURIComponent(secret)), secret.replaceAll('"', '&quot;')],
  );
  const field = fc.constantFrom(
    'a',
    'location',
    'etag',
    'set-cookie',
    'x-weir-cost-micro',
    'te',
    'b',
  );
  const plain = fc.constantFrom(
    '1',
    'k=v; Path=/',
    `${weirCookies[0]}=x; Secure`,
    'a, b',
    '%zz',
    '"',
  );
  const text = fc.oneof(
    { weight: 3, arbitrary: plain.map((shown) => ({ shown, hides: false })) },
    spelled.map((shown) => ({ shown: `k=${shown}; x`, hides: true })),
  );
  const connection = fc.constantFrom(
    'close',
    'keep-alive',
    'a',
    'B, close',
    'content-length, a',
    '',
  );

  it('keeps every line that nothing names, and shows no secret in the others', () => {
    const masks = [prepareMask(secret)];
    fc.assert(
      fc.property(fc.array(fc.tuple(field, text), { maxLength: 5 }), connection, (given, hop) => {
        const headers = new Headers(
          given.map(([key, { shown }]): [string, string] => [key, shown]),
        );
        headers.set('content-length', '7');
        headers.set('connection', hop);
        cleanAnswerHeaders(headers, masks);
        const gone = new Set(['te', 'x-weir-cost-micro', 'connection', ...nominated(hop)]);
        const kept = given.filter(([key, { shown }]) => {
          const isOwn = key === 'set-cookie' && shown.startsWith(weirCookies[0] ?? '');
          return !gone.has(key) && !isOwn;
        });
        const wanted = linesOf(
          kept.map(([key, { shown, hides }]) => [key, hides ? 'k=***; x' : shown] as const),
        );
        wanted.set('content-length', ['7']);
        const left = linesOf([...headers]);
        expect([...left.keys()].sort()).toEqual([...wanted.keys()].sort());
        expect(headers.getSetCookie().length).toBe(wanted.get('set-cookie')?.length ?? 0);
        for (const [key, lines] of wanted) {
          if (key !== 'set-cookie' && lines.every((line) => !line.includes('***')))
            expect(headers.get(key)).toBe(lines.join(', '));
          expect(headers.get(key)).not.toContain('sk-live');
        }
      }),
      { numRuns: 500 },
    );
  });
});
