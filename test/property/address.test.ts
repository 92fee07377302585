/** Addresses against a library's own reading of them (ipaddr.js, here as the oracle): the same text, the same number. Seeds are printed by fast-check. */
import fc from 'fast-check';
import ipaddr from 'ipaddr.js';
import { describe, expect, it } from 'vitest';
import { addressVerdict, canonicalAddress } from '../../src/domain/egress/address';

const runs = { numRuns: 3_000 };
const byte = fc.integer({ min: 0, max: 255 });
const quad = fc.tuple(byte, byte, byte, byte).map((parts) => parts.join('.'));
/** Few distinct groups, so that runs of zeros and known prefixes come up. */
const group = fc.oneof(
  fc.constantFrom(0, 0, 0, 1, 0x64, 0x2001, 0x2002, 0xdb8, 0xfe80, 0xff02, 0xffff, 0x5efe),
  fc.integer({ min: 0, max: 0xffff }),
);
const groups = fc.array(group, { minLength: 8, maxLength: 8 });
const spelled = fc.tuple(groups, fc.boolean()).map(([parts, isUpper]) => {
  const text = parts.map((part) => part.toString(16)).join(':');
  return isUpper ? text.toUpperCase() : text;
});

describe('an IPv4 address', () => {
  it('is read as the library reads it', () => {
    fc.assert(
      fc.property(quad, (text) => {
        expect(canonicalAddress(text)).toBe(ipaddr.IPv4.parse(text).toString());
      }),
      runs,
    );
  });

  it('that the library calls private, loopback, link-local, multicast or reserved is never public', () => {
    fc.assert(
      fc.property(quad, (text) => {
        const isUnicast = ipaddr.IPv4.parse(text).range() === 'unicast';
        if (!isUnicast && !/^192\.0\.0\.(?:9|10)$/.test(text))
          expect(addressVerdict(text)).toBe('private');
      }),
      runs,
    );
  });
});

describe('an IPv6 address', () => {
  it('is the same number however it is spelled, and its text is the canonical one', () => {
    fc.assert(
      fc.property(spelled, (text) => {
        const canonical = canonicalAddress(text);
        expect(canonical).not.toBeNull();
        const read = ipaddr.IPv6.parse(canonical ?? '');
        expect(read.toByteArray()).toEqual(ipaddr.IPv6.parse(text).toByteArray());
        expect(canonicalAddress(canonical ?? '')).toBe(canonical);
      }),
      runs,
    );
  });

  it('outside of global unicast is never public', () => {
    fc.assert(
      fc.property(groups, (parts) => {
        const text = parts.map((part) => part.toString(16)).join(':');
        const isGlobal = (parts[0] ?? 0) >> 13 === 1;
        if (!isGlobal) expect(addressVerdict(text)).toBe('private');
      }),
      runs,
    );
  });
});

it.each([
  '127.1',
  '0x7f.0.0.1',
  '0177.0.0.1',
  '1.2.3',
  '1.2.3.4.5',
  '256.1.1.1',
  '01.2.3.4',
  '::1%lo',
  '[::1]',
  '1::2::3',
])('%s is no strict spelling', (text) => {
  expect([canonicalAddress(text), addressVerdict(text)]).toEqual([null, 'private']);
});
