import { describe, expect, it } from 'vitest';
import { vendorKeyInput, vendorKeyText } from '../../../../src/domain/idempotency/vendor-key';

const base = { tenantId: 'ten_A', scope: 'prn_A', key: 'K', pins: ['end_1', 'end_2'] };
const input = (change: Partial<typeof base>): string =>
  new TextDecoder().decode(vendorKeyInput({ ...base, ...change }));

describe('vendorKeyInput', () => {
  it.each([
    ['tenants', { tenantId: 'ten_B' }],
    ['principals or tags', { scope: 'prn_B' }],
    ['keys', { key: 'L' }],
    ['pins', { pins: ['end_1'] }],
    ['no pins', { pins: [] }],
    ['parts that were shifted', { tenantId: 'ten_', scope: 'Aprn_A' }],
    ['a key that looks like a pin', { key: 'K5:end_1', pins: ['end_2'] }],
    ['pins that were joined', { pins: ['end_1end_2'] }],
  ])('C068: other %s, another vendor key', (_name, change) => {
    expect(input(change)).not.toBe(input({}));
  });

  it('the order of pins does not matter and is not changed', () => {
    const pins = ['end_2', 'end_1'];
    expect(input({ pins })).toBe(input({}));
    expect(pins).toEqual(['end_2', 'end_1']);
  });

  it('C068: is read as lengths and parts, so that no two lists are one', () => {
    expect(input({ pins: [] })).toBe('18:weir.vendor-key.v15:ten_A5:prn_A1:K');
  });
});

describe('vendorKeyText', () => {
  it('is a UUID of version 8 that depends on the first 16 bytes', () => {
    const hmac = Uint8Array.from({ length: 32 }, () => 0xff);
    expect(vendorKeyText(hmac)).toBe('ffffffff-ffff-8fff-bfff-ffffffffffff');
    expect(hmac.every((byte) => byte === 0xff)).toBe(true);
    expect(vendorKeyText(new Uint8Array(32))).toBe('00000000-0000-8000-8000-000000000000');
    const counted = Uint8Array.from({ length: 16 }, (_, at) => 0x11 * at);
    expect(vendorKeyText(counted)).toBe('00112233-4455-8677-8899-aabbccddeeff');
    expect(() => vendorKeyText(new Uint8Array(15))).toThrow('HMAC');
  });
});
