/** Answers of vendors, whatever they hold: judged without a fault; a row's own words strike, and never where the request says them too. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { capacityVendorHoldMsMax } from '../../src/base/limits-capacity';
import { judge } from '../../src/domain/capacity/classify';
import { isExhausting } from '../../src/domain/capacity/signal';
import { type Signature, signatures } from '../../src/domain/capacity/signatures';

const nowMs = Date.UTC(2026, 10, 30);
const texts = signatures.flatMap(({ match }) => (match.by === 'status' ? [] : match.values));
const member = fc.constantFrom(
  ...[
    'error',
    'message',
    'code',
    'detail',
    'errors',
    'type',
    '__proto__',
    'details',
    'status',
    'x',
  ],
);
const word = fc.oneof(
  fc.constantFrom(...texts),
  fc.constantFrom(
    '',
    'daily',
    'invalid',
    '“',
    "'",
    ':',
    '. ',
    '; ',
    'K',
    'ﬁ',
    '\u0000',
    '[',
    '</p>',
  ),
);
const sentence = fc.array(word, { maxLength: 4 }).map((words) => words.join(' '));
const value = fc.letrec<{ any: unknown; object: object; list: unknown[] }>((tie) => ({
  any: fc.oneof(
    { maxDepth: 3 },
    sentence,
    fc.constantFrom<unknown>(null, 1, true),
    tie('object'),
    tie('list'),
  ),
  object: fc.dictionary(member, tie('any'), { maxKeys: 3 }),
  list: fc.array(tie('any'), { maxLength: 2 }),
})).any;
const body = fc.oneof(
  value.map((document) => JSON.stringify(document)),
  value.map((document) => JSON.stringify(document).slice(0, -1)),
  sentence,
  sentence.map((text) => `<html>${text}`),
  fc.constant(null),
);
const row = fc.constantFrom(...signatures);
const status = fc.oneof(
  row.map((each) => each.status),
  fc.integer({ min: 100, max: 599 }),
);
const headers = fc.dictionary(
  fc.constantFrom('retry-after', 'x-ratelimit-reset', 'server', 'content-type', 'cf-mitigated'),
  fc.constantFrom('5', '99999999999999999999', 'cloudflare', 'text/html', 'x', ''),
);

describe('judge', () => {
  it('never throws; what it gives is a wait within bounds and words of ours', () => {
    fc.assert(
      fc.property(row, status, headers, body, sentence, (of, code, said, bodyHead, requestText) => {
        const header = (name: string): string | null => said[name] ?? null;
        const answer = {
          provider: of.provider,
          status: code,
          header,
          bodyHead,
          requestText,
          nowMs,
        };
        const judged = judge(answer);
        if (code < 400 || code > 503) expect(judged).toBeNull();
        const { waitMs = null, kind } = judged?.signal ?? {};
        if (waitMs !== null) {
          expect(waitMs).toBeGreaterThanOrEqual(0);
          expect(waitMs).toBeLessThanOrEqual(capacityVendorHoldMsMax);
        }
        if (kind !== undefined && isExhausting(kind) && judged?.rule === 'table')
          expect(judged.row?.status).toBe(code);
      }),
      { numRuns: 1_500 },
    );
  });

  /** An answer in the words of a row; null: the row has none. */
  const inWordsOf = (
    { match }: Signature,
    pick: number,
  ): { body: string; phrase: string } | null => {
    if (match.by !== 'phrase' && match.by !== 'sentence') return null;
    const phrase = match.values[pick % match.values.length] ?? '';
    const at = match.at[pick % match.at.length] ?? '';
    const names = at.replaceAll('[*]', '').split('.').reverse();
    const isList = at.includes('[*]');
    const text = `${phrase.charAt(0).toUpperCase()}${phrase.slice(1)}.`;
    const document = names.reduce<unknown>(
      (inner, name, index) => ({ [name]: isList && index === names.length - 1 ? [inner] : inner }),
      text,
    );
    return { body: JSON.stringify(document), phrase };
  };

  it('knows the words of every row in every field, and takes them for an echo where the request has them', () => {
    const spelling = fc.constantFrom<(text: string) => string>(
      (text) => text,
      (text) => text.toUpperCase(),
      (text) => encodeURIComponent(text),
      (text) => text.replaceAll(' ', '_'),
      (text) => JSON.stringify({ q: text }),
      (text) => text.replace(/[a-z]/, (c) => `\\u00${c.charCodeAt(0).toString(16)}`),
    );
    fc.assert(
      fc.property(row, fc.nat(40), spelling, (of, pick, spelled) => {
        const words = inWordsOf(of, pick);
        if (words === null) return;
        const header = () => null;
        const answer = {
          provider: of.provider,
          status: of.status,
          header,
          bodyHead: words.body,
          nowMs,
        };
        expect(judge({ ...answer, requestText: '' })?.rule).toBe('table');
        const echoed = judge({ ...answer, requestText: `x ${spelled(words.phrase)} y` });
        expect(echoed?.rule === 'echo' || !isExhausting(echoed?.signal.kind ?? 'unrecorded')).toBe(
          true,
        );
      }),
      { numRuns: 1_000 },
    );
  });
});
