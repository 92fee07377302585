/** How a caller may write its body for the way to us: which codings are known, and base64 wherever its pieces are cut. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Base64Decoder, readBodyCoding } from '../../../../src/domain/relay/body-coding';

const encoder = new TextEncoder();

/** What the decoder makes of pieces; null: it said no. */
function decoded(pieces: readonly string[]): string | null {
  const decoder = new Base64Decoder();
  let binary = '';
  const steps = [
    ...pieces.map((piece) => () => decoder.push(encoder.encode(piece))),
    () => decoder.end(),
  ];
  for (const step of steps) {
    const bytes = step();
    if (bytes === null) return null;
    binary += String.fromCharCode(...bytes);
  }
  return binary;
}

describe('the coding of a body', () => {
  it.each([
    ['base64', ['base64']],
    ['gzip', ['gzip']],
    [' Base64+GZIP ', ['base64', 'gzip']],
    ['', null],
    ['identity', null],
    ['gzip, base64', null],
    ['gzip+base64', null],
    ['constructor', null],
  ])('%j is %j', (value, coding) => {
    expect(readBodyCoding(value)).toEqual(coding);
  });
});

describe('base64', () => {
  it('is read in both alphabets, with or without padding, in lines or not, wherever it is cut', () => {
    const cuts = fc.array(fc.nat(200), { maxLength: 6 });
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 90 }),
        fc.boolean(),
        fc.boolean(),
        fc.boolean(),
        cuts,
        (bytes, isUrl, isPadded, inLines, places) => {
          const binary = String.fromCharCode(...bytes);
          let text = btoa(binary);
          if (!isPadded) text = text.replace(/=+$/, '');
          if (isUrl) text = text.replaceAll('+', '-').replaceAll('/', '_');
          if (inLines) text = text.replace(/.{1,7}/g, '$&\r\n');
          const at = [0, ...places.map((place) => place % (text.length + 1)), text.length];
          const marks = at.sort((a, b) => a - b);
          const pieces = marks.slice(1).map((mark, i) => text.slice(marks[i], mark));
          expect(decoded(pieces)).toBe(binary);
        },
      ),
      { numRuns: 1000 },
    );
  });

  it.each([
    [['YW*j']],
    [['Y']],
    [['YWJj', 'Y']],
    [['YQ==', 'YQ==']],
    [['YQ==YQ==']],
    [['YQ=']],
    [['YQ', '=']],
    [['=']],
    [['YWJj', '=']],
    [['YWJjé']],
    [['YW\0j']],
  ])('%j is refused', (pieces) => {
    expect(decoded(pieces)).toBeNull();
  });
});
