import { describe, expect, it } from 'vitest';
import { clientCodeInput, clientCodeText } from '../../../../src/domain/idempotency/client-code';

const input = (provider: string, tenantId: string): string =>
  new TextDecoder().decode(clientCodeInput(provider, tenantId));

describe('the code of a client', () => {
  it('is read as lengths and parts, so that no two pairs of provider and tenant are one', () => {
    expect(input('vendor', 'ten_A')).toBe('19:weir.client-code.v16:vendor5:ten_A');
    expect(input('vendort', 'en_A')).not.toBe(input('vendor', 'ten_A'));
  });

  it('is t_ and the first 24 hex characters of the HMAC', () => {
    const hmac = Uint8Array.from({ length: 32 }, (_, at) => at);
    expect(clientCodeText(hmac)).toBe('t_000102030405060708090a0b');
    expect(() => clientCodeText(new Uint8Array(11))).toThrow('HMAC');
  });
});
