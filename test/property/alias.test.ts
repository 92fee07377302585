/** Aliases of endpoint pools against the table of digest B4, with another library's reading of the Public Suffix List. */
import fc from 'fast-check';
import { getDomain } from 'tldts';
import { describe, expect, it } from 'vitest';
import { checkAlias, deriveAlias, nextAlias } from '../../src/domain/egress/alias';

const host = fc.constantFrom(
  ...['api.vendor.com', 'eu.api.vendor.com', 'vendor.com', 'API.Vendor.com', 'us.vendor.com.'],
  ...['a.pages.dev', 'b.pages.dev', 'x.a.pages.dev', 'y.a.pages.dev', 'shop.co.uk', 'w.shop.co.uk'],
  ...[
    'other.co.uk',
    'vendor.org',
    'xvendor.com',
    'com',
    'a.city.kawasaki.jp',
    'b.city.kawasaki.jp',
  ],
);
const address = fc.constantFrom('8.8.8.8', '1.1.1.1', '2606:4700::1111');
const port = fc.oneof({ weight: 6, arbitrary: fc.constant(443) }, fc.constantFrom(80, 8443));
const endpointOf = (hosts: fc.Arbitrary<string>) => fc.record({ host: hosts, port });
const family = fc.constantFrom(
  '.vendor.com',
  '.a.pages.dev',
  '.co.uk',
  '.shop.co.uk',
  '.pages.dev',
);
const related = family.chain((suffix) =>
  fc.array(
    fc.record({
      host: fc.constantFrom('a', 'b', 'c.d').map((label) => label + suffix),
      port: fc.constant(443),
    }),
    { minLength: 1, maxLength: 3 },
  ),
);
const pool = fc.oneof(
  fc.array(endpointOf(host), { maxLength: 3 }),
  fc.array(endpointOf(fc.oneof(host, address, address)), { maxLength: 3 }),
  related,
);
const scheme = fc.constantFrom('https' as const, 'http' as const);
type Pool = typeof pool extends fc.Arbitrary<infer T> ? T : never;

const bare = (text: string): string => text.replace(/\.+$/, '').toLowerCase();
const isAddress = (text: string): boolean => /^[0-9.]+$|:/.test(text);

/** The table; null: the caller has to name it. */
function aliasByTable(endpoints: Pool, of: 'http' | 'https'): string | null | 'refused' {
  const [first] = endpoints;
  const hosts = [...new Set(endpoints.map((endpoint) => bare(endpoint.host)))];
  const addresses = hosts.filter(isAddress).length;
  if (first === undefined || endpoints.some((e) => e.port !== first.port)) return 'refused';
  if (addresses > 0) return addresses === hosts.length ? null : 'refused';
  const standard = of === 'https' ? 443 : 80;
  const name = hosts.length === 1 ? hosts[0] : suffixOf(hosts);
  if (name === undefined || name === null) return null;
  return first.port === standard ? name : `${name}:${first.port}`;
}

function suffixOf(hosts: readonly string[]): string | null {
  const shared: string[] = [];
  const labels = hosts.map((each) => each.split('.').reverse());
  for (const [at, label] of (labels[0] ?? []).entries()) {
    if (!labels.every((each) => each[at] === label)) break;
    shared.unshift(label);
  }
  const suffix = shared.join('.');
  const isOwned =
    getDomain(suffix, { allowPrivateDomains: true, validateHostname: false }) !== null;
  return shared.length >= 2 && isOwned ? suffix : null;
}

describe('an alias', () => {
  it('is derived exactly where the table derives one', () => {
    fc.assert(
      fc.property(pool, scheme, (endpoints, of) => {
        const wanted = aliasByTable(endpoints, of);
        const derived = deriveAlias(endpoints as never, of);
        const alias = derived.ok
          ? derived.value.kind === 'derived'
            ? derived.value.alias
            : null
          : 'refused';
        expect(alias).toBe(wanted);
      }),
      { numRuns: 1_000 },
    );
  });

  it('after a change is derived, or named by the caller, or the one that was named before', () => {
    const named = fc.option(
      fc.constantFrom('mine', 'Mine.', 'vendor.com', 'api.vendor.com', 'a b'),
      {
        nil: undefined,
      },
    );
    fc.assert(
      fc.property(pool, pool, scheme, named, fc.boolean(), (old, now, of, explicit, isNew) => {
        const oldDerived = aliasByTable(old, of);
        if (oldDerived === 'refused') return;
        const before = { alias: oldDerived ?? 'was-named', endpoints: old as never, scheme: of };
        const next = nextAlias({
          ...(isNew ? {} : { before }),
          endpoints: now as never,
          scheme: of,
          explicit,
        });
        const derived = aliasByTable(now, of);
        const asked =
          explicit === undefined ? undefined : explicit.replace(/\.$/, '').toLowerCase();
        if (derived === 'refused' || asked === 'a b') {
          expect(next.ok).toBe(false);
          return;
        }
        const kept = isNew || oldDerived !== null ? null : before.alias;
        const isTolerated =
          asked === undefined || asked === derived || (!isNew && asked === before.alias);
        const wanted = derived === null ? (asked ?? kept) : isTolerated ? derived : null;
        expect(next.ok ? next.value : null).toBe(wanted);
      }),
      { numRuns: 1_000 },
    );
  });

  it('has one spelling', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom(...'aZ09.:-_ éK\n/'), maxLength: 6 }),
        (text) => {
          const checked = checkAlias(text);
          expect(checked.ok).toBe(/^[A-Za-z0-9.:_-]+$/.test(text) && !/^\.+$/.test(text));
          if (checked.ok) expect(checkAlias(checked.value)).toEqual(checked);
        },
      ),
      { numRuns: 500 },
    );
  });
});
