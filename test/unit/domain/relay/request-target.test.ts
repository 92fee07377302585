/** Parts of a message that are read as they were sent. */
import { describe, expect, it } from 'vitest';
import { answerLength } from '../../../../src/domain/relay/request-target';

describe('the length of an answer', () => {
  it.each<[string, number | null, [string, string][]]>([
    ['as it is declared', 5, [['content-length', '5']]],
    ['of nothing', 0, [['content-length', '0']]],
    [
      'said twice the same',
      5,
      [
        ['content-length', '5'],
        ['content-length', '5'],
      ],
    ],
    ['said twice in one line', 5, [['content-length', '5,5']]],
    ['said twice, differently', null, [['content-length', '5, 6']]],
    ['that is no number', null, [['content-length', '5x']]],
    ['that is not said', null, []],
    [
      'that a chunked frame overrides',
      null,
      [
        ['content-length', '5'],
        ['transfer-encoding', 'chunked'],
      ],
    ],
  ])('%s: %j', (_, length, lines) => {
    expect(answerLength(new Headers(lines))).toBe(length);
  });
});
