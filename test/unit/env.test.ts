/** The environment: accounts that the road could not use are a start error that never shows a value. */
import { describe, expect, it } from 'vitest';
import { accountsMax } from '../../src/base/limits-capacity';
import { type Bindings, parseEnv } from '../../src/env';

const key = (text: string): string => btoa(text.repeat(32).slice(0, 32));
const settings = { CO_KEY: 'co-primary', OTHER: 'other' };
const parse = (accounts: unknown, more: Record<string, string> = {}) =>
  parseEnv({
    OPERATOR_KEY: 'o'.repeat(32),
    KEY_CHECK_SECRETS: `1:${key('k')}`,
    MASTER_KEYS: `1:${key('m')}`,
    EGRESS_RESOLVER: 'https://resolver.test/dns-query',
    PLATFORM_SETTINGS: JSON.stringify(settings),
    PLATFORM_ACCOUNTS: typeof accounts === 'string' ? accounts : JSON.stringify(accounts),
    ...more,
  } as unknown as Bindings);

describe('PLATFORM_ACCOUNTS', () => {
  it('adds accounts with values of their own beside the primary', () => {
    const env = parse({ contactout: { b: { CO_KEY: 'co-b' }, c: { CO_KEY: 'co-c' } } });
    expect([...env.platformAccounts]).toEqual([['contactout', ['b', 'c']]]);
    expect(env.platformSettings.get('CO_KEY')).toBe('co-primary');
    expect(env.platformSettings.get('contactout/b/CO_KEY')).toBe('co-b');
    expect(env.platformSettings.get('contactout/c/CO_KEY')).toBe('co-c');
  });

  const many = Object.fromEntries(
    Array.from({ length: accountsMax + 1 }, (_, at) => [`l${at}`, { CO_KEY: `v${at}` }]),
  );
  it.each([
    ['no JSON', '{', 'wants'],
    ['an empty value', { contactout: { b: { CO_KEY: '' } } }, 'wants'],
    ['no setting', { contactout: { b: {} } }, 'contactout/b names no setting'],
    ['the label of the primary', { contactout: { primary: { CO_KEY: 'x' } } }, 'no usable label'],
    ['a label with other letters', { contactout: { 'B#1': { CO_KEY: 'x' } } }, 'no usable label'],
    [
      'a primary that is not set',
      { contactout: { b: { NONE: 'x' } } },
      'which the primary account lacks',
    ],
    [
      'the value of the primary',
      { contactout: { b: { CO_KEY: 'co-primary' } } },
      'the same CO_KEY',
    ],
    [
      'the value of another',
      { contactout: { b: { CO_KEY: 'x' }, c: { CO_KEY: 'x' } } },
      'the same CO_KEY',
    ],
    ['more than accountsMax', { contactout: many }, `more than ${accountsMax}`],
  ])('%s is a start error', (_, accounts, says) => {
    expect(() => parse(accounts)).toThrow(says);
  });

  it('never says a value', () => {
    const secret = 'co-secret-value';
    const accounts = { contactout: { b: { CO_KEY: secret }, c: { CO_KEY: secret } } };
    expect(() => parse(accounts)).toThrow(/^(?!.*co-secret-value)/);
  });
});

describe('PROVIDER_RATE_ENFORCE', () => {
  it('is a list of buckets', () => {
    expect(parse({}, { PROVIDER_RATE_ENFORCE: 'Strict, a.b' }).rateEnforced).toEqual([
      'strict',
      'a.b',
    ]);
  });
});

describe('GATEWAY_HOSTS', () => {
  it('are hosts, with a port or without', () => {
    const hosts = 'Weir.example, weir.example:8443 weir.example. [2606:4700::1]:8443 2606:4700::1';
    expect(parse({}, { GATEWAY_HOSTS: hosts }).gatewayHosts.length).toBe(5);
    expect(parse({}, { GATEWAY_HOSTS: '' }).gatewayHosts).toEqual([]);
  });

  it.each([
    'https://weir.example',
    'weir.example/',
    '*.weir.example',
    'weir.example:99999',
    'bücher.example',
    'weir_1.example:x',
  ])('%s would protect nothing: a start error', (hosts) => {
    expect(() => parse({}, { GATEWAY_HOSTS: `ok.example,${hosts}` })).toThrow(
      `GATEWAY_HOSTS: "${hosts}"`,
    );
  });
});

describe('MASTER_KEYS', () => {
  const parseMasters = (versions: readonly number[]) =>
    parse(
      {},
      { MASTER_KEYS: versions.map((version) => `${version}:${key(String(version))}`).join(',') },
    );

  it.each([[[1]], [[3]], [[1, 2]], [[2, 9, 10]]])(
    '%j are keys, the last one the newest',
    (versions) => {
      expect(parseMasters(versions).masterKeys.map(({ version }) => version)).toEqual(versions);
    },
  );

  it.each([[[2, 1]], [[1, 10, 9]], [[1, 1]]])(
    '%j are a start error: a rotation would say that it has ended and wrap nothing',
    (versions) => {
      expect(() => parseMasters(versions)).toThrow('MASTER_KEYS: ');
    },
  );
});
