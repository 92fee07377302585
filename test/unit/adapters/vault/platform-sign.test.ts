/** PlatformSigner: HMAC-SHA256 under the newest check secret, and the key is imported once. */
import { expect, it, vi } from 'vitest';
import { platformSigner } from '../../../../src/adapters/vault/platform-sign';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const hex = (found: Uint8Array): string =>
  [...found].map((byte) => byte.toString(16).padStart(2, '0')).join('');

it('signs as RFC 4231, test case 2, says', async () => {
  const sign = platformSigner([{ version: '1', secret: bytes('Jefe') }]);
  expect(hex(await sign(bytes('what do ya want for nothing?')))).toBe(
    '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843',
  );
});

it('signs under the newest secret', async () => {
  const [old, fresh] = ['old', 'new'].map((text, i) => ({
    version: String(i + 1),
    secret: bytes(text),
  }));
  if (old === undefined || fresh === undefined) throw new Error('two secrets');
  const input = bytes('input');
  const both = await platformSigner([old, fresh])(input);
  expect(both).toEqual(await platformSigner([fresh])(input));
  expect(both).not.toEqual(await platformSigner([old])(input));
});

it('imports its key once', async () => {
  const imports = vi.spyOn(crypto.subtle, 'importKey');
  const sign = platformSigner([{ version: '1', secret: bytes('s') }]);
  await sign(bytes('a'));
  await sign(bytes('b'));
  expect(imports).toHaveBeenCalledTimes(1);
  imports.mockRestore();
});

it('cannot be made without a secret', () => {
  expect(() => platformSigner([])).toThrow('no key check secret');
});
