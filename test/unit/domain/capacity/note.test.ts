/** What may be stored of a vendor's note. The texts that look like keys are made up, and put together so that no scanner finds one here. */
import { describe, expect, it } from 'vitest';
import { snapshotNoteCharsMax } from '../../../../src/base/limits-capacity';
import { storedNote, withheldNote } from '../../../../src/domain/capacity/note';

const random = 'q7Rk2'.repeat(7);

describe('a note that looks like a credential is withheld', () => {
  it.each([
    ['a key with a known beginning', `your key is ${'sk'}-abc`],
    ['another', `${'pk'}_live_1`],
    ['ours', `${'wk'}_1`],
    ['a forge token', `${'ghp'}_x`],
    ['a cloud key', `id=${'AKIA'}1`],
    ['a web token', `${'eyJ'}hbGciOiJI`],
    ['a PEM block', '-----BEGIN THING-----'],
    ['a bearer', 'Bearer abcdef'],
    ['a bearer in capitals', 'AUTHORIZATION: abcdef'],
    ['a password', 'password=hunter2hunter2'],
    ['a quoted password', '{"password": "hunter2"}'],
    ['an api key', 'api key: abcdef1'],
    ['a sign-in link', 'https://user:pw@vendor.example/'],
    ['a long random text', `plan ${random}`],
    ['hex', '0123456789abcdef'],
    ['a UUID', '3f2b8c1e-9a4d-4e0b-8f6a-1c2d3e4f5a6b'],
    ['base64', 'dGhpcyBpcyBub3QgYSBzZWNyZXQ='],
    ['letters that no word is', 'abcdefghijklmnopqrstuvwxyz'],
    ['digits that no number is', '123456789012345678901234567890'],
    ['one behind what is stored', `${'plan '.repeat(60)} ${random}`],
    ['one cut by a line break', `plan\n${random}`],
  ])('%s', (_, text) => {
    expect(storedNote(text, [])).toBe(withheldNote);
  });

  it('and so is one that shows the credential itself, whatever it looks like', () => {
    expect(storedNote('plan pro, key hello', ['hello'])).toBe(withheldNote);
    expect(storedNote('plan pro, key hello', [''])).toBe('plan pro, key hello');
  });
});

describe('any other note is kept', () => {
  it.each([
    ['a plan', 'Pro plan', 'Pro plan'],
    ['a long name', 'enterprise-yearly-2026-unlimited', 'enterprise-yearly-2026-unlimited'],
    ['a time', '2030-01-01T00:00:00.000Z', '2030-01-01T00:00:00.000Z'],
    ['an amount', '12,345.67 of 20,000 credits', '12,345.67 of 20,000 credits'],
    [
      'a page',
      'see https://vendor.example/billing/plans',
      'see https://vendor.example/billing/plans',
    ],
    ['a word about tokens', 'tokens left: 5', 'tokens left: 5'],
    ['two lines', ' a \r\n b\u0000\u202ec ', 'a b c'],
    ['nothing', ' \n ', null],
  ])('%s', (_, text, expected) => {
    expect(storedNote(text, [])).toBe(expected);
  });

  it('but never longer than its bound', () => {
    expect(storedNote('ab '.repeat(200), [])).toHaveLength(snapshotNoteCharsMax);
  });
});
