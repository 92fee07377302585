/** Host judgement: one normal form, no second reading. */
import { describe, expect, it } from 'vitest';
import { judgeHost } from '../../../../src/domain/egress/hostname';

const name = (host: string) => ({ ok: true, value: { kind: 'name', host } });

describe('names', () => {
  it.each([
    ['api.openai.com', 'api.openai.com'],
    ['Api.OpenAI.COM', 'api.openai.com'],
    ['api.openai.com.', 'api.openai.com'],
    ['127.0.0.1.example.com', '127.0.0.1.example.com'],
    ['0x7f.com', '0x7f.com'],
    ['1e100.net', '1e100.net'],
    ['localhost.example.com', 'localhost.example.com'],
    ['internal.example.com', 'internal.example.com'],
    ['r3---sn-4g5e6nsz.example.com', 'r3---sn-4g5e6nsz.example.com'],
    ['bücher.example.com', 'xn--bcher-kva.example.com'],
    ['BÜCHER.example.com', 'xn--bcher-kva.example.com'],
    ['API.bücher.example.com', 'api.xn--bcher-kva.example.com'],
    ['xn--bcher-kva.example.com', 'xn--bcher-kva.example.com'],
    ['xn--a.example.com', 'xn--a.example.com'],
    ['faß.de', 'xn--fa-hia.de'],
    ['api.t', 'api.t'],
    ['api.test', 'api.test'],
    ['api.example', 'api.example'],
    ['api.invalid', 'api.invalid'],
    ['example.a1', 'example.a1'],
    ['example.1a', 'example.1a'],
    ['example.0xg', 'example.0xg'],
    [`${'a.'.repeat(125)}com`, `${'a.'.repeat(125)}com`],
    [`${'a.'.repeat(125)}com.`, `${'a.'.repeat(125)}com`],
    [`${'a'.repeat(63)}.com`, `${'a'.repeat(63)}.com`],
  ])('%s normalises to %s', (host, normal) => expect(judgeHost(host)).toEqual(name(normal)));

  it.each([
    '',
    '.',
    '..',
    '.example.com',
    'a..com',
    'example.com..',
    '-a.com',
    'a-.com',
    'a_b.com',
    'a b.com',
    'a\tb.com',
    'a\u0000.com',
    'a%2ecom',
    '%6cocalhost',
    'a@b.com',
    'a/b.com',
    'a\\b.com',
    'a*.com',
    'a,b.com',
    'xn--localhost-.com',
    `${'a.'.repeat(125)}coma`,
    `${'a'.repeat(64)}.com`,
    `${'a.'.repeat(130)}com`,
    'api.com:443',
    '[api.com]',
    '[8.8.8.8]',
  ])('%j is no RFC 1123 host name', (host) =>
    expect(judgeHost(host)).toEqual({ ok: false, error: 'host' }),
  );

  it.each([
    ['circled letter', 'ⓛocalhost'],
    ['full-width letters', 'ｌｏｃａｌｈｏｓｔ'],
    ['Kelvin sign', '\u212aube.example.com'],
    ['long s', 'ho\u017ft.example.com'],
    ['soft hyphen', 'loc\u00adalhost.example.com'],
    ['zero width space', 'api\u200b.example.com'],
    ['ligature', 'o\ufb03ce.example.com'],
    ['ideographic full stop', 'api\u3002example.com'],
    ['full-width full stop', 'api\uff0eexample.com'],
    ['half-width full stop', 'api\uff61example.com'],
    ['one dot leader', 'api\u2024example.com'],
    ['care of sign', 'a\u2100.example.com'],
    ['lone surrogate', '\ud800.example.com'],
  ])('IDNA never folds a %s into another ASCII name', (_, host) =>
    expect(judgeHost(host)).toEqual({ ok: false, error: 'host' }),
  );
});

describe('reserved names', () => {
  it.each([
    'localhost',
    'LOCALHOST',
    'localhost.',
    'db.localhost',
    'router.local',
    'metadata',
    'instance-data',
    'router',
    'metadata.google.internal',
    'metadata.google.internal.',
    'x.internal',
    'x.home.arpa',
    '1.0.0.127.in-addr.arpa',
    '1.0.0.0.ip6.arpa',
    'ipv4only.arpa',
    'kubernetes.default.svc',
    'kubernetes.default.svc.cluster.local',
    'nas.lan',
    'wiki.intranet',
    'wiki.corp',
    'nas.home',
    'x.mail',
    'x.private',
    'host.localdomain',
    'x.onion',
    'x.alt',
    'com',
  ])('%s is refused in any case and with the root dot', (host) =>
    expect(judgeHost(host)).toEqual({ ok: false, error: 'reserved_name' }),
  );
});

describe('addresses', () => {
  it.each([
    ['8.8.8.8', '8.8.8.8'],
    ['2606:4700:4700::1111', '2606:4700:4700::1111'],
    ['[2606:4700:4700:0::1111]', '2606:4700:4700::1111'],
    ['[2606:4700:4700::ABCD]', '2606:4700:4700::abcd'],
  ])('%s is the address %s', (host, address) =>
    expect(judgeHost(host)).toEqual({
      ok: true,
      value: { kind: 'address', host: address, address },
    }),
  );

  it.each([
    '127.0.0.1',
    '10.0.0.1',
    '169.254.169.254',
    '100.100.100.200',
    '::1',
    '[::1]',
    '[::10.0.0.1]',
    '[::ffff:127.0.0.1]',
    '[64:ff9b::808:808]',
    '[fc00::1]',
  ])('%s is private', (host) =>
    expect(judgeHost(host)).toEqual({ ok: false, error: 'private_address' }),
  );

  it.each([
    '[fe80::1%25eth0]',
    '[fe80::1%eth0]',
    '[::1',
    '::1]',
    '[]',
    '[:]',
    '[::1]x',
    '[[::1]]',
    '1:2',
    '[v1.x]',
    '[2606::010.0.0.1]',
  ])('%s is no IPv6 literal', (host) =>
    expect(judgeHost(host)).toEqual({ ok: false, error: 'host' }),
  );

  it.each([
    '2130706433',
    '0x7f000001',
    '0X7F000001',
    '017700000001',
    '0x7f.0x0.0x0.0x1',
    '0177.0.0.1',
    '127.0.0.01',
    '127.1',
    '127.0.1',
    '0',
    '0.0',
    '0x',
    'foo.0x',
    'foo.1',
    '1.2.3.4.5',
    '256.1.1.1',
    '8.8.8.8.',
    '127.0.0.1.',
    '0x7f000001.',
    '08.8.8.8',
    '134744072',
    '１２７.０.０.１',
    '①②⑦.⓪.⓪.①',
    '𝟙𝟚𝟟.𝟘.𝟘.𝟙',
    '127\u30020\u30020\u30021',
    '127\uff0e0\uff0e0\uff0e1',
    '127\uff610\uff610\uff611',
    '０x７f０００００１',
    '127%2e0%2e0%2e1',
    '%31%32%37%2e%30%2e%30%2e%31',
    '8%2E8%2E8%2E8',
  ])('C041: %s is a numeric spelling, refused even where the address would be public', (host) =>
    expect(judgeHost(host)).toEqual({ ok: false, error: 'numeric_host' }),
  );
});
