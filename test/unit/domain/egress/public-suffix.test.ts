/** Our compact form of the Public Suffix List against a well-kept library that reads the same list. */

import tree from 'weir:public-suffixes';
import { getDomain } from 'tldts';
import { describe, expect, it } from 'vitest';
import { isRegistrable } from '../../../../src/domain/egress/public-suffix';

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

  it('agrees with tldts on every top label and what hangs below it, but for rules that one of the two lists does not have yet', () => {
    const labels = [...tree.matchAll(/[a-z0-9-]{2,}/g)].map(([label]) => label.replace(/-$/, ''));
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
