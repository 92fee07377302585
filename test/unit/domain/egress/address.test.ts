/** Address verdicts: every special-purpose range, its edges, its embeddings; and what lies just outside. */
import { describe, expect, it } from 'vitest';
import { addressVerdict, canonicalAddress } from '../../../../src/domain/egress/address';

/** first and last address of a private IPv4 range, then the public neighbours (null: none, or private for another reason). */
const V4_RANGES: readonly (readonly [string, string, string, string | null, string | null])[] = [
  ['this network', '0.0.0.0', '0.255.255.255', null, '1.0.0.0'],
  ['private 10/8', '10.0.0.0', '10.255.255.255', '9.255.255.255', '11.0.0.0'],
  ['carrier-grade NAT', '100.64.0.0', '100.127.255.255', '100.63.255.255', '100.128.0.0'],
  ['loopback', '127.0.0.0', '127.255.255.255', '126.255.255.255', '128.0.0.0'],
  ['link-local', '169.254.0.0', '169.254.255.255', '169.253.255.255', '169.255.0.0'],
  ['private 172.16/12', '172.16.0.0', '172.31.255.255', '172.15.255.255', '172.32.0.0'],
  ['protocol assignments', '192.0.0.0', '192.0.0.255', '191.255.255.255', '192.0.1.0'],
  ['documentation 1', '192.0.2.0', '192.0.2.255', '192.0.1.255', '192.0.3.0'],
  ['6to4 relays', '192.88.99.0', '192.88.99.255', '192.88.98.255', '192.88.100.0'],
  ['private 192.168/16', '192.168.0.0', '192.168.255.255', '192.167.255.255', '192.169.0.0'],
  ['benchmarks', '198.18.0.0', '198.19.255.255', '198.17.255.255', '198.20.0.0'],
  ['documentation 2', '198.51.100.0', '198.51.100.255', '198.51.99.255', '198.51.101.0'],
  ['documentation 3', '203.0.113.0', '203.0.113.255', '203.0.112.255', '203.0.114.0'],
  ['multicast', '224.0.0.0', '239.255.255.255', '223.255.255.255', null],
  ['reserved and broadcast', '240.0.0.0', '255.255.255.255', null, null],
  ['Azure WireServer', '168.63.129.16', '168.63.129.16', '168.63.129.15', '168.63.129.17'],
];

const PRIVATE_V6 = [
  ['unspecified', '::'],
  ['loopback', '::1'],
  ['loopback in full', '0000:0000:0000:0000:0000:0000:0000:0001'],
  ['IPv4-compatible', '::10.0.0.1'],
  ['IPv4-compatible, public inside', '::8.8.8.8'],
  ['IPv4-mapped', '::ffff:127.0.0.1'],
  ['IPv4-mapped in groups', '0:0:0:0:0:FFFF:7F00:0001'],
  ['IPv4-mapped, public inside', '::ffff:8.8.8.8'],
  ['IPv4-translated', '::ffff:0:7f00:1'],
  ['NAT64', '64:ff9b::a9fe:a9fe'],
  ['NAT64, public inside', '64:ff9b::808:808'],
  ['NAT64 local', '64:ff9b:1::1'],
  ['discard', '100::1'],
  ['dummy prefix', '100:0:0:1::1'],
  ['Teredo', '2001:0:0:0:0:0:80ff:fefe'],
  ['anycast beside the three assigned', '2001:1::4'],
  ['benchmarks', '2001:2::1'],
  ['old ORCHID', '2001:10::1'],
  ['last of the protocol assignments', '2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['documentation', '2001:db8::1'],
  ['6to4', '2002:7f00:1::'],
  ['6to4, public inside', '2002:808:808::1'],
  ['documentation 3fff', '3fff:fff:ffff::1'],
  ['above global unicast', '4000::1'],
  ['segment routing', '5f00::1'],
  ['unique local', 'fd00:ec2::254'],
  ['link-local', 'fe80::1'],
  ['link-local, last', 'febf::1'],
  ['site-local', 'fec0::1'],
  ['multicast', 'ff02::1'],
  ['ISATAP under a public prefix', '2a00:1450::5efe:10.0.0.1'],
  ['ISATAP with the universal bit', '2a00:1450::200:5efe:7f00:1'],
] as const;

const PUBLIC_V6 = [
  '2001:1::1',
  '2001:1::2',
  '2001:1::3',
  '2001:3::1',
  '2001:4:112::1',
  '2001:20::1',
  '2001:30::1',
  '2001:200::1',
  '2001:4860:4860::8888',
  '2001:db7:ffff::1',
  '2001:db9::1',
  '2003::1',
  '2400:cb00::1',
  '2606:4700:4700::1111',
  '2620:4f:8000::1',
  '3ffe:ffff::1',
];

describe('IPv4', () => {
  it.each(V4_RANGES)(
    '%s is private from its first to its last address and not beyond',
    (_, first, last, before, after) => {
      expect(addressVerdict(first)).toBe('private');
      expect(addressVerdict(last)).toBe('private');
      if (before !== null) expect(addressVerdict(before)).toBe('public');
      if (after !== null) expect(addressVerdict(after)).toBe('public');
    },
  );

  it.each(['192.0.0.9', '192.0.0.10', '192.31.196.1', '192.52.193.1', '192.175.48.1', '8.8.8.8'])(
    '%s is globally reachable by the registry',
    (text) => expect(addressVerdict(text)).toBe('public'),
  );

  it.each(['192.0.0.8', '192.0.0.11', '192.0.0.170', '192.0.0.192'])(
    '%s beside the anycast pair stays private',
    (text) => expect(addressVerdict(text)).toBe('private'),
  );
});

describe('IPv6', () => {
  it.each(PRIVATE_V6)('%s is private', (_, text) => expect(addressVerdict(text)).toBe('private'));
  it.each(PUBLIC_V6)('%s is public', (text) => expect(addressVerdict(text)).toBe('public'));

  it.each(['127.0.0.1', '10.1.2.3', '169.254.169.254', '192.168.1.1'])(
    '%s is private in every embedding',
    (v4) => {
      const [a = 0, b = 0, c = 0, d = 0] = v4.split('.').map(Number);
      const groups = `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
      const prefixes = [
        '::',
        '::ffff:',
        '::ffff:0:',
        '64:ff9b::',
        '64:ff9b:1::',
        '2001::',
        'fe80::5efe:',
        '2400:cb00::5efe:',
      ];
      for (const prefix of prefixes) {
        expect(addressVerdict(`${prefix}${v4}`), prefix).toBe('private');
        expect(addressVerdict(`${prefix}${groups}`), prefix).toBe('private');
      }
      expect(addressVerdict(`2002:${groups}::1`)).toBe('private');
    },
  );
});

describe('spelling', () => {
  const loose = [
    '',
    'api.t',
    '127.1',
    '8.8',
    '0x8.8.8.8',
    '010.8.8.8',
    '8.8.8.8.',
    '8.8.8.256',
    '134744072',
    '٨.8.8.8',
  ];
  const looseV6 = [
    '[2606::1]',
    '2606::1%eth0',
    '2606::1%25eth0',
    '2606:::1',
    '2606::010.0.0.1',
    '2606::1/64',
    // What the platform's URL parser drops, or takes for the end of the host.
    '2606::\t1',
    '2606::\n1',
    '2606::1]',
    '2606::1]:80/[2606::1',
    `2606::${'0'.repeat(60)}1`,
  ];
  it.each([...loose, ...looseV6])(
    '%j is no strict literal: private, and without a canonical text',
    (text) => {
      expect(addressVerdict(text)).toBe('private');
      expect(canonicalAddress(text)).toBeNull();
    },
  );

  it.each([
    ['8.8.8.8', '8.8.8.8'],
    ['2606:4700:0:0:0:0:0:1111', '2606:4700::1111'],
    ['2606:4700::ABCD', '2606:4700::abcd'],
    ['::10.0.0.1', '::a00:1'],
    ['::ffff:10.0.0.1', '::ffff:a00:1'],
    ['1:0:2:3:4:5:6:7', '1:0:2:3:4:5:6:7'],
  ])('%s has the canonical text %s', (text, canonical) =>
    expect(canonicalAddress(text)).toBe(canonical),
  );
});
