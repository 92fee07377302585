/** The environment: what could not be used is a start error that says what is wanted and never shows a value. */
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
    [
      'the label of the primary',
      { contactout: { primary: { CO_KEY: 'x' } } },
      'contactout/primary',
    ],
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
    ['a provider that is no slug', { ContactOut: { b: { CO_KEY: 'x' } } }, 'no usable slug'],
    ['more than accountsMax', { contactout: many }, `more than ${accountsMax}`],
  ])('%s is a start error', (_, accounts, says) => {
    expect(() => parse(accounts)).toThrow(says);
  });

  it('never says a value', () => {
    const secret = 'co-secret-value';
    const accounts = { contactout: { b: { CO_KEY: secret }, c: { CO_KEY: secret } } };
    expect(() => parse(accounts)).toThrow(/^(?!.*co-secret-value)/);
  });

  it.each([
    ['setting', { contactout: { b: { 'co-secret-value': 'CO_KEY' } } }],
    ['label', { contactout: { 'co-secret:value': { CO_KEY: 'x' } } }],
    ['provider', { 'Co-secret-value': { b: { CO_KEY: 'x' } } }],
  ])('does not repeat a value that stands where the name of a %s is wanted', (_, accounts) => {
    expect(() => parse(accounts)).toThrow(/^PLATFORM_ACCOUNTS: (?!.*secret)/);
  });
});

/** A secret of the platform has 5 KB: some dozens of credentials. */
describe('a document in parts', () => {
  const parts = (more: Record<string, string>) => parse({}, more);

  it('settings of all parts are one list', () => {
    const env = parts({
      PLATFORM_SETTINGS_2: '{"BRAVE_KEY":"b"}',
      PLATFORM_SETTINGS_EU: '{"X":"x"}',
    });
    expect([...env.platformSettings]).toEqual([
      ['CO_KEY', 'co-primary'],
      ['OTHER', 'other'],
      ['BRAVE_KEY', 'b'],
      ['X', 'x'],
    ]);
  });

  it('accounts of all parts are one list, beside the settings of all parts', () => {
    const env = parts({
      PLATFORM_SETTINGS_2: '{"BRAVE_KEY":"b"}',
      PLATFORM_ACCOUNTS: '{"contactout":{"b":{"CO_KEY":"co-b"}}}',
      PLATFORM_ACCOUNTS_2: '{"brave":{"eu":{"BRAVE_KEY":"eu"}}}',
    });
    expect([...env.platformAccounts]).toEqual([
      ['contactout', ['b']],
      ['brave', ['eu']],
    ]);
    expect(env.platformSettings.get('brave/eu/BRAVE_KEY')).toBe('eu');
  });

  it.each([
    ['PLATFORM_SETTINGS_2', '{"CO_KEY":"planted"}', 'has a name that another part has'],
    ['PLATFORM_SETTINGS_2', '["planted"]', 'wants a JSON object of strings'],
    ['PLATFORM_ACCOUNTS_2', '{"a":{"b":"planted"}}', 'wants {"provider"'],
  ])('%s = %s: is a start error that shows no value', (name, text, wanted) => {
    expect(() => parts({ [name]: text })).toThrow(`${name}: ${wanted}`);
    expect(() => parts({ [name]: text })).toThrow(/^(?!.*planted)/);
  });

  it('a name that only begins alike is no part', () => {
    expect(parts({ PLATFORM_SETTINGSX: 'no JSON' }).platformSettings.size).toBe(2);
  });
});

/** What is wanted, for a value that cannot be used; the value itself is never shown. */
describe('a setting that cannot be used', () => {
  const planted = 'planted-value';
  it.each([
    ['OPERATOR_KEY', undefined, 'is missing'],
    ['OPERATOR_KEY', planted, '32 or more'],
    ['OPERATOR_KEY', `${'o'.repeat(32)} ${planted}`, 'without spaces'],
    ['OPERATOR_KEY', 'ö'.repeat(32), 'ASCII'],
    ['KEY_CHECK_SECRETS', undefined, 'is missing'],
    ['KEY_CHECK_SECRETS', planted, 'version:base64'],
    ['MASTER_KEYS', undefined, 'is missing'],
    ['MASTER_KEYS', `1:${planted}`, 'base64'],
    ['PLATFORM_SETTINGS', planted, 'a JSON object of strings'],
    ['WEIR_ENV', planted, 'wants production or development'],
    ['EGRESS_RESOLVER', undefined, 'is missing'],
    ['EGRESS_RESOLVER', planted, 'wants an https URL'],
    ['EGRESS_RESOLVER', 'http://resolver.test/', 'wants an https URL'],
    ['OVERFLOW_MODE', planted, 'wants off, shadow or on'],
    ['OVERFLOW_DAILY_BUDGET_USD', planted, 'wants a number from 0 to 100000'],
    ['OVERFLOW_DAILY_BUDGET_USD', '', 'wants a number from 0 to 100000'],
    ['OVERFLOW_DAILY_BUDGET_USD', '100000.01', 'wants a number from 0 to 100000'],
    ['CONFIG_TTL_S', '61', 'wants a whole number from 1 to 60'],
    ['CONFIG_TTL_S', '1.5', 'wants a whole number from 1 to 60'],
    ['CALL_RETENTION_DAYS', '0', 'wants a whole number from 1 to 400'],
    ['CALL_RETENTION_DAYS', '', 'wants a whole number from 1 to 400'],
    ['GATEWAY_HOSTS', `weir.test https://${planted}/`, 'entry 2 is not a host or host:port'],
    ['GATEWAY_HOSTS', `*.${planted}`, 'entry 1 is not a host or host:port'],
    ['CLIENT_IP_HEADERS', `x-real-ip;${planted}`, 'wants header names'],
    ['ANONYMOUS_PROVIDERS', `one;${planted}`, 'wants slugs of providers'],
    ['PROVIDER_RATE_ENFORCE', `one;${planted}`, 'wants slugs of providers and catalog ids'],
  ])('%s = %j: is a start error that says what is wanted', (name, value, wanted) => {
    const setting = { [name]: value } as Record<string, string>;
    expect(() => parse({}, setting)).toThrow(`${name}: `);
    expect(() => parse({}, setting)).toThrow(wanted);
    expect(() => parse({}, setting)).toThrow(/^(?!.*planted)/);
  });

  it('EGRESS_ALLOW: the entry is counted, not repeated', () => {
    const dev = { WEIR_ENV: 'development', EGRESS_ALLOW: `127.0.0.1:9000 ${planted}` };
    expect(() => parse({}, dev)).toThrow('EGRESS_ALLOW: entry 2 is not an exact host:port');
  });
});

describe('GATEWAY_HOSTS', () => {
  it('takes hosts with and without a port, in any letter case', () => {
    const hosts = 'Weir.test, weir.test.:8443 127.0.0.1:8787 [::1]:8787 ::1';
    expect(parse({}, { GATEWAY_HOSTS: hosts }).gatewayHosts).toEqual([
      'weir.test',
      'weir.test.:8443',
      '127.0.0.1:8787',
      '[::1]:8787',
      '::1',
    ]);
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
      'GATEWAY_HOSTS: entry 2 is not a host or host:port',
    );
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
