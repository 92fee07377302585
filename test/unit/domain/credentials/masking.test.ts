import { describe, expect, it } from 'vitest';
import {
  headerHit,
  maskText,
  maskValue,
  prepareMask,
} from '../../../../src/domain/credentials/masking';

const secret = 'p@ss/w+rd';
const masks = [prepareMask(secret), prepareMask('user:pass'), prepareMask('pass')];
const unchanged = { kind: 'unchanged' };
const unsafe = { kind: 'unsafe' };

describe('maskText', () => {
  it.each([
    ['raw', 'bad key p@ss/w+rd!', 'bad key ***!'],
    ['twice', 'p@ss/w+rdp@ss/w+rd', '******'],
    ['%-encoded, upper hex', 'k=p%40ss%2Fw%2Brd&a=1', 'k=***&a=1'],
    ['%-encoded, lower hex', 'k=p%40ss%2fw%2brd', 'k=***'],
    ['base64 of the Basic pair', 'Basic dXNlcjpwYXNz', 'Basic ***'],
    ['JSON-escaped slash', '{"m":"p@ss\\/w+rd"}', '{"m":"***"}'],
    ['HTML-escaped slash', '<b>p@ss&#x2F;w+rd</b>', '<b>***</b>'],
    ['%-encoded twice', 'p%2540ss%252Fw%252Brd', '***'],
    ['base64 of a longer text on its boundary', btoa('k: p@ss/w+rd!!'), 'azog***ISE='],
    ['the pair before its password', 'login user:pass', 'login ***'],
  ])('C053: %s becomes ***', (_name, text, expected) => {
    expect(maskText(text, masks)).toEqual({ kind: 'masked', text: expected });
  });

  it.each([
    ['any character JSON-escaped', '{"m":"\\u0070@ss\\/w+rd"}'],
    ['any character %-encoded, mixed hex', '%70%40s%73%2fw%2Brd'],
    ['any character as an HTML reference', '&#112;&commat;ss&sol;w&plus;rd'],
    ['%-encoded three times', 'p%252540ss%25252Fw%25252Brd'],
    ['JSON in a JSON string', '"{\\"m\\":\\"\\\\u0070@ss/w+rd\\"}"'],
    ['base64 of a longer text, second alignment', btoa('=p@ss/w+rd is wrong')],
    ['base64 of a longer text, third alignment', btoa('k=p@ss/w+rd is wrong')],
    ['base64 of JSON', btoa('{"m":"\\u0070@ss\\/w+rd"}')],
    ['base64 of base64', btoa(btoa('k=p@ss/w+rd is wrong'))],
    ['base64 in lines', btoa('the key p@ss/w+rd is wrong').replace(/(.{10})/g, '$1\r\n')],
    ['base64 with escaped slashes', btoa('k=p@ss/w+rd???').replaceAll('/', '\\/')],
    ['masked once, hidden once', 'p@ss/w+rd and %70@ss/w+rd'],
  ])('C053: %s makes the whole text unsafe', (_name, text) => {
    expect(maskText(text, [prepareMask(secret)])).toEqual(unsafe);
  });

  it.each([
    ['the innocent field', '{"key":"uniqueId"}'],
    ['a prefix of the secret', 'p@ss/w+r'],
    ['another case', 'P@SS/W+RD'],
    ['nothing', ''],
    [
      'many escapes of other things',
      '{"a":"\\u00e9\\/%2F&amp;%25","b":"aGVsbG8gd29ybGQsIGhlbGxv"}',
    ],
  ])('C053, exact only: %s stays', (_name, text) => {
    expect(maskText(text, [prepareMask(secret)])).toEqual(unchanged);
  });

  it('without secrets everything stays', () =>
    expect(maskText('p@ss/w+rd', [])).toEqual(unchanged));

  it.each([
    ['+ for a space', 'k=my+s3cret%21'],
    ['%20 for a space', 'k=my%20s3cret!'],
  ])('a form value with %s is found', (_n, text) => {
    expect(maskText(text, [prepareMask('my s3cret!')])).toEqual({ kind: 'masked', text: 'k=***' });
  });

  it('a form value with other escapes is found', () => {
    expect(maskText('k=m%79+s3cret', [prepareMask('my s3cret')])).toEqual(unsafe);
  });

  it.each([
    ['abc', 'xabcx', unsafe],
    ['abc', 'x%61bc', unsafe],
    ['abc', btoa('abc'), unsafe],
    ['a', 'banana', unsafe],
    ['abc', 'ab c', unchanged],
    ['', 'anything', unchanged],
    ['abcd', 'xabcdx', { kind: 'masked', text: 'x***x' }],
  ])(
    'a secret below four characters is never masked, a text that has it is unsafe: %j in %j',
    (value, text, expected) => {
      expect(maskText(text, [prepareMask(value)])).toEqual(expected);
    },
  );

  it.each(['', 'x', 'xy'])(
    'a secret whose base64 ends inside four characters is found behind %j',
    (before) => {
      expect(maskText(btoa(`${before}s3cr>t?k~y and more`), [prepareMask('s3cr>t?k~y')])).toEqual(
        unsafe,
      );
    },
  );

  it('a mask that completes another secret is unsafe', () => {
    expect(maskText('a12345b', [prepareMask('12345'), prepareMask('a***b')])).toEqual(unsafe);
  });

  it.each([
    ['base64', `"${'QUJD'.repeat(1_000_000)}"`],
    ['escapes', '%25\\u0025&amp;%5c'.repeat(150_000)],
  ])('a text that needs more decoding than the bound is unsafe: %s', (_name, text) => {
    expect(maskText(text, [prepareMask(secret)])).toEqual(unsafe);
  });

  it('non-ASCII secrets are masked raw, %-encoded, JSON-escaped and in base64', () => {
    const text =
      'schlüssel🔑 schl%C3%BCssel%F0%9F%94%91 schl\\u00fcssel\\ud83d\\udd11 c2NobMO8c3NlbPCflJE=';
    expect(maskText(text, [prepareMask('schlüssel🔑')])).toEqual({
      kind: 'masked',
      text: '*** *** *** ***',
    });
  });
});

describe('headers', () => {
  const headers = 'application/json\nreq_123\nhttps://vendor.test/next?page=2%2F3';

  it.each([
    ['plain', 'p@ss/w+rd', true],
    ['%-encoded', 'https://x.test/?k=p%40ss%2Fw%2Brd', true],
    ['oddly escaped', 'https://x.test/?k=%70@ss/w+rd', true],
    ['inside base64', btoa('key is p@ss/w+rd'), true],
    ['absent', 'https://x.test/?k=p', false],
  ])('a hit is found: %s', (_name, value, expected) => {
    expect(headerHit(`${headers}\n${value}`, [prepareMask(secret)])).toBe(expected);
  });

  it('a secret too short to mask does not count in headers', () => {
    expect(headerHit(headers, [prepareMask('a')])).toBe(false);
    expect(maskValue('application/json', [prepareMask('a')])).toBe('application/json');
  });

  it.each([
    ['https://x.test/?k=p%40ss%2Fw%2Brd&a=1', 'https://x.test/?k=***&a=1'],
    ['https://x.test/?k=%70@ss/w+rd', '***'],
    ['Basic dXNlcjpwYXNz', 'Basic ***'],
    ['nothing here', 'nothing here'],
  ])('maskValue: %s', (value, expected) => {
    expect(maskValue(value, masks)).toBe(expected);
  });
});
