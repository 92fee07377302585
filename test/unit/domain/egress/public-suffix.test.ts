/** Our compact form of the Public Suffix List against the list itself and against a well-kept library that reads the same list. */
import { getDomain } from 'tldts';
import { describe, expect, it } from 'vitest';
import list from '../../../../node_modules/psl/data/rules.js?raw';
import { isRegistrable } from '../../../../src/domain/egress/public-suffix';

const ascii = (name: string): string => URL.parse(`http://${name}`)?.hostname ?? '';

/** Every rule: `*.ck`, `!www.ck`, `xn--55qx5d.cn`. */
const rules = new Set(
  [...list.matchAll(/"(\*\.|!|)([^"]+)"/g)].map(([, mark = '', name = '']) => mark + ascii(name)),
);

/** The algorithm of publicsuffix.org as it is written there, over the plain list. */
function suffixLabels(host: string): number {
  const labels = host.split('.');
  const ends = labels.map((_, at) => labels.slice(at).join('.'));
  for (const [at, end] of ends.entries()) {
    if (rules.has(`!${end}`)) return labels.length - at - 1;
    if (rules.has(end) || rules.has(`*.${ends[at + 1]}`)) return labels.length - at;
  }
  return 1;
}

describe('public suffixes', () => {
  it.each([
    ['com', false],
    ['example.com', true],
    ['a.b.example.com', true],
    ['co.uk', false],
    ['foo.co.uk', true],
    ['pages.dev', false],
    ['a.pages.dev', true],
    ['vendor.t', true],
    ['t', false],
    ['ck', false],
    ['foo.ck', false],
    ['www.ck', true],
    ['city.kobe.jp', true],
    ['x.kobe.jp', false],
    ['xn--55qx5d.cn', false],
  ])('%s is registrable: %s', (host, expected) => {
    expect(isRegistrable(host)).toBe(expected);
  });

  it('every rule means what it means in the plain list', () => {
    const names = [...rules].map((rule) => rule.replace(/^(\*\.|!)/, ''));
    const hosts = names.flatMap((name) => [name, `a.${name}`, `b.a.${name}`, `x${name}`]);
    const wrong = hosts.filter((host) => {
      return isRegistrable(host) !== host.split('.').length > suffixLabels(host);
    });
    expect(hosts.length).toBeGreaterThan(38_000);
    expect(wrong).toEqual([]);
  });

  it('agrees with tldts on every label and what hangs below it, but for rules that one of the two lists does not have yet', () => {
    const labels = [...new Set([...rules].flatMap((rule) => rule.match(/[a-z0-9-]{2,}/g) ?? []))];
    const names = labels.flatMap((label) => [
      `${label}.com`,
      `x.${label}.jp`,
      `x.${label}.co.uk`,
      `${label}.io`,
    ]);
    const differing = names.filter(
      (name) => isRegistrable(name) !== (getDomain(name, { allowPrivateDomains: true }) !== null),
    );
    expect(names.length).toBeGreaterThan(20_000);
    expect(differing.length).toBeLessThan(names.length / 200);
  });
});
