/** What may not leave in the headers of an answer, and that everything else stays as it came. */
import { describe, expect, it } from 'vitest';
import { maskableNameCharsMin } from '../../../../src/base/limits';
import { type MaskedSecret, prepareMask } from '../../../../src/domain/credentials/masking';
import { cleanAnswerHeaders } from '../../../../src/domain/relay/answer-headers';

const secret = 'sk-vendor-0123456789';
const masks = [prepareMask(secret)];

function cleaned(pairs: [string, string][], secrets: readonly MaskedSecret[] = []): Headers {
  const headers = new Headers();
  for (const [name, value] of pairs) headers.append(name, value);
  cleanAnswerHeaders(headers, secrets);
  return headers;
}

describe('headers that go', () => {
  it.each([
    'connection',
    'keep-alive',
    'proxy-authenticate',
    'te',
    'trailer',
    'transfer-encoding',
    'upgrade',
    'x-weir-cost-micro',
    'x-weir-idempotent-replay',
    'X-Weir-Anything',
  ])('%s', (name) => {
    expect([...cleaned([[name, 'v']])]).toEqual([]);
  });
});

describe('headers that stay', () => {
  it('are those that Connection does not name, and the length', () => {
    const pairs: [string, string][] = [
      ['connection', 'X-Hop, close, content-length, "x-odd"'],
      ['connection', 'x-two'],
      ['content-length', '5'],
      ['x-hop', '1'],
      ['x-odd', '1'],
      ['x-two', '2'],
    ];
    expect([...cleaned(pairs, masks)].map(([name]) => name)).toEqual(['content-length', 'x-odd']);
  });

  it('are all others, also those that a request would lose', () => {
    const pairs: [string, string][] = [
      ['cf-ray', '1'],
      ['content-length', '5'],
      ['via', '1.1 x'],
      ['x-weird', '1'],
    ];
    expect([...cleaned(pairs, masks)]).toEqual(pairs);
  });

  it('keep every Set-Cookie line but ours', () => {
    const lines = ['a=1; Path=/', '__Host-weir_session=x', 'b=__Host-weir_session', 'a=2'];
    const headers = cleaned(lines.map((line) => ['set-cookie', line]));
    expect(headers.getSetCookie()).toEqual([lines[0], lines[2], lines[3]]);
  });
});

describe('an injected credential', () => {
  it.each([
    ['as it is', `key ${secret}`, 'key ***'],
    [
      'percent-encoded',
      `https://t/?k=${encodeURIComponent('sk-vendor-0123456789')}`,
      'https://t/?k=***',
    ],
    ['twice', `${secret} ${secret}`, '*** ***'],
  ])('is masked %s, and its neighbours keep their bytes', (_, value, shown) => {
    const headers = cleaned(
      [
        ['x-echo', value],
        ['x-other', 'a=1'],
      ],
      masks,
    );
    expect([headers.get('x-echo'), headers.get('x-other')]).toEqual([shown, 'a=1']);
  });

  it('is masked in the one cookie line that has it', () => {
    const headers = cleaned(
      [
        ['set-cookie', `t=${secret}; Path=/`],
        ['set-cookie', 'a=1, b'],
      ],
      masks,
    );
    expect(headers.getSetCookie()).toEqual(['t=***; Path=/', 'a=1, b']);
  });

  it.each([
    ['as it is', secret],
    ['in upper case', secret.toUpperCase()],
    ['beside other text', `x-${secret}-y`],
    ['as base64', btoa(secret).replace(/=+$/, '')],
    ['inside base64', btoa(`{"k":"${secret}"}`).replace(/=+$/, '')],
  ])('in a name, %s, takes the line away, and its neighbours stay', (_, name) => {
    const pairs: [string, string][] = [
      [name, '1'],
      ['x-other', 'a=1'],
    ];
    expect([...cleaned(pairs, masks)]).toEqual([['x-other', 'a=1']]);
  });

  it('that is a word takes no name away that has it', () => {
    const pairs: [string, string][] = [['content-type', 'text/html; a']];
    expect([...cleaned(pairs, [prepareMask('content-type')])]).toEqual(pairs);
    const masked = (chars: number): number =>
      [...cleaned([[`x-${'k'.repeat(chars)}`, '1']], [prepareMask('k'.repeat(chars))])].length;
    expect([maskableNameCharsMin - 1, maskableNameCharsMin].map(masked)).toEqual([1, 0]);
  });

  it('in a header that goes anyway masks nothing else', () => {
    const pairs: [string, string][] = [
      ['x-weir-echo', secret],
      ['set-cookie', 'a=1'],
    ];
    expect([...cleaned(pairs, masks)]).toEqual([['set-cookie', 'a=1']]);
  });
});
