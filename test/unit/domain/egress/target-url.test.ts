/** Target URLs: one strict reading, which the platform's parser shares. The classes are those of the SSRF corpus. */
import { describe, expect, it } from 'vitest';
import { type EgressPolicy, parseEgressAllow } from '../../../../src/domain/egress/allowance';
import { judgeEndpoint, parseTarget, repairScheme } from '../../../../src/domain/egress/target-url';

function policyOf(allow: string, rest: Partial<EgressPolicy> = {}): EgressPolicy {
  const parsed = parseEgressAllow(allow);
  if (!parsed.ok) throw new Error(parsed.error);
  return { allow: parsed.value, gatewayHosts: [], httpsOnly: false, ...rest };
}
const open = policyOf('');
const fault = (reason: string) => ({ ok: false, error: reason });

describe('what is accepted', () => {
  it.each([
    [
      'https://api.t',
      { host: 'api.t', port: 443, defaultPort: true, authority: 'api.t', rest: '' },
    ],
    [
      'HTTPS://API.T:443/v1',
      { host: 'api.t', port: 443, defaultPort: true, authority: 'api.t', rest: '/v1' },
    ],
    [
      'https://api.t.:8443/v1',
      { host: 'api.t', port: 8443, defaultPort: false, authority: 'api.t:8443', rest: '/v1' },
    ],
    [
      'http://api.t:443?a=b',
      { scheme: 'http', port: 443, defaultPort: false, authority: 'api.t:443', rest: '?a=b' },
    ],
    ['https://api.t:65535', { port: 65_535, authority: 'api.t:65535', rest: '' }],
    ['https://api.t/a%2Fb/./c?q=%20&q=é@x:y', { rest: '/a%2Fb/./c?q=%20&q=é@x:y' }],
    [
      'https://8.8.8.8/',
      {
        host: '8.8.8.8',
        authority: '8.8.8.8',
        judged: { kind: 'address', host: '8.8.8.8', address: '8.8.8.8' },
      },
    ],
    [
      'https://[2606:4700:0::1111]:444/',
      { host: '2606:4700::1111', port: 444, authority: '[2606:4700::1111]:444' },
    ],
    ['https://bücher.t/', { host: 'xn--bcher-kva.t', authority: 'xn--bcher-kva.t' }],
    ['https://api.t/\\x', { host: 'api.t', rest: '/\\x' }],
    ['https://127.0.0.1.example.com/v1', { host: '127.0.0.1.example.com' }],
  ])('%s', (raw, expected) =>
    expect(parseTarget(raw, open)).toMatchObject({ ok: true, value: expected }),
  );
});

describe('what is refused', () => {
  it.each([
    ['', 'scheme'],
    ['api.t/v1', 'scheme'],
    ['//127.0.0.1/', 'scheme'],
    ['file:///etc/passwd', 'scheme'],
    ['gopher://127.0.0.1:6379/_x', 'scheme'],
    ['ws://api.t/', 'scheme'],
    ['javascript:1', 'scheme'],
    ['blob:http://127.0.0.1/x', 'scheme'],
    ['http:127.0.0.1/', 'scheme'],
    ['http:/127.0.0.1/', 'scheme'],
    ['http:\\\\127.0.0.1/', 'scheme'],
    ['http:/\\127.0.0.1/', 'scheme'],
    ['httpss://api.t/', 'scheme'],
    ['http://', 'host'],
    ['http:///', 'host'],
    ['https:///api.t/', 'host'],
    ['http://?x', 'host'],
    ['http://:80/', 'host'],
    ['https://api.t#x', 'host'],
    ['https://api.t/x#y', 'host'],
    ['https://api.t?x#y', 'host'],
    ['http://127.0.0.1#@example.com/', 'host'],
    ['http://user:pw@127.0.0.1/', 'userinfo'],
    ['http://allowed.t:80@127.0.0.1:8080/', 'userinfo'],
    ['http://@127.0.0.1/', 'userinfo'],
    ['http://api.t%2f@127.0.0.1/', 'userinfo'],
    ['http://%40127.0.0.1/', 'numeric_host'],
    ['http://127.0.0.1\\@example.com/', 'backslash'],
    ['http://api.t\\.evil.t/', 'backslash'],
    ['http://127.0.0.1?@example.com/', 'private_address'],
    [' http://api.t/', 'whitespace'],
    ['http://api.t/ ', 'whitespace'],
    ['ht\ttp://127.0.0.1/', 'whitespace'],
    ['http://127\n.0.0.1/', 'whitespace'],
    ['http://api.t/a b', 'whitespace'],
    ['http://api.t/\u0000', 'whitespace'],
    ['http://api.t/\u007f', 'whitespace'],
    ['http://api.t/\u00a0', 'whitespace'],
    ['\ufeffhttp://api.t/', 'whitespace'],
    ['http://api.t:/', 'port'],
    ['http://api.t:0/', 'port'],
    ['http://api.t:65536/', 'port'],
    ['http://api.t:99999999999999999999/', 'port'],
    ['http://api.t:080/', 'port'],
    ['http://api.t:+80/', 'port'],
    ['http://api.t:8o/', 'port'],
    ['http://api.t:80:90/', 'port'],
    ['http://[::1]:80:90/', 'port'],
    ['http://::1/', 'host'],
    ['http://[::1/', 'host'],
    ['http://[::1]x/', 'host'],
    ['http://x[::1]/', 'host'],
    ['http://[127.0.0.1]/', 'host'],
    ['http://[fe80::1%25eth0]/', 'host'],
    ['http://[::ffff:127.0.0.1]/', 'private_address'],
    ['http://[::127.0.0.1]/', 'private_address'],
    ['https://[64:ff9b::127.0.0.1]/', 'private_address'],
    ['https://[2002:7f00:1::1]/', 'private_address'],
    ['https://10.0.0.1/', 'private_address'],
    ['http://2130706433/', 'numeric_host'],
    ['http://0177.0.0.1/', 'numeric_host'],
    ['http://127.0.0.1./', 'numeric_host'],
    ['http://127%2e0%2e0%2e1/', 'numeric_host'],
    ['http://①②⑦.⓪.⓪.①/', 'numeric_host'],
    ['http://localhost./', 'reserved_name'],
    ['http://db.LOCALHOST:8080/', 'reserved_name'],
    ['http://metadata.google.internal./', 'reserved_name'],
    ['http://metadata/', 'reserved_name'],
  ])('C043, C044, C049: %j is refused as %s', (raw, reason) =>
    expect(parseTarget(raw, open)).toEqual(fault(reason)),
  );
});

describe('repairScheme', () => {
  it.each([
    ['https:/api.t/v1', 'https://api.t/v1'],
    ['http:/api.t', 'http://api.t'],
    ['HTTPS:/api.t', 'HTTPS://api.t'],
    ['https://api.t/v1', 'https://api.t/v1'],
    ['https:///api.t', 'https:///api.t'],
    ['https:api.t', 'https:api.t'],
    ['https:/', 'https:/'],
    ['https:/\\api.t', 'https:/\\api.t'],
    ['https:\\api.t', 'https:\\api.t'],
    ['ftp:/api.t', 'ftp:/api.t'],
    [' https:/api.t', ' https:/api.t'],
    ['x/https:/api.t', 'x/https:/api.t'],
  ])('C049: %j becomes %j, only the collapsed slash is restored', (raw, repaired) =>
    expect(repairScheme(raw)).toBe(repaired),
  );
});

describe('the policy', () => {
  const dev = policyOf('127.0.0.1:9000,[::1]:9000,localhost:9000', { httpsOnly: true });
  it.each([
    ['http://127.0.0.1:9000/x', '127.0.0.1', '127.0.0.1:9000'],
    ['https://127.0.0.1:9000/x', '127.0.0.1', '127.0.0.1:9000'],
    ['http://[::1]:9000/x', '::1', '[::1]:9000'],
    ['http://LocalHost:9000/x', 'localhost', 'localhost:9000'],
  ])('an allowed pair passes in plain http: %s', (raw, host, authority) =>
    expect(parseTarget(raw, dev)).toMatchObject({
      ok: true,
      value: { host, authority, judged: { kind: 'allowed', host } },
    }),
  );

  it.each([
    ['https://127.0.0.1:9001/', 'private_address'],
    ['https://127.0.0.1/', 'private_address'],
    ['https://127.0.0.2:9000/', 'private_address'],
    ['https://127.1:9000/', 'numeric_host'],
    ['https://127.0.0.1.:9000/', 'numeric_host'],
    ['https://localhost.:9000/', 'reserved_name'],
    ['https://x.localhost:9000/', 'reserved_name'],
    ['https://[0:0:0:0:0:0:0:1]:9000/', 'private_address'],
    ['https://[::ffff:127.0.0.1]:9000/', 'private_address'],
    ['https://user@127.0.0.1:9000/', 'userinfo'],
    ['http://127.0.0.1:9001/', 'scheme'],
    ['http://api.t/', 'scheme'],
  ])('an allowed pair opens nothing beside itself: %s is refused as %s', (raw, reason) =>
    expect(parseTarget(raw, dev)).toEqual(fault(reason)),
  );

  const own = policyOf('127.0.0.1:8787', {
    gatewayHosts: ['gw.example.com', '8.8.8.8', '127.0.0.1:8787', '[2606::1]'],
  });
  it.each([
    'https://gw.example.com/',
    'https://GW.Example.com.:8443/',
    'https://8.8.8.8/',
    'http://127.0.0.1:8787/',
    'https://[2606:0::1]/',
  ])('the gateway never calls itself, allowed or not: %s', (raw) =>
    expect(parseTarget(raw, own)).toEqual(fault('reserved_name')),
  );

  it('an endpoint of a registration is judged by the same rules', () => {
    expect(judgeEndpoint({ scheme: 'https', host: 'API.t.', port: 443 }, dev)).toEqual({
      ok: true,
      value: { kind: 'name', host: 'api.t' },
    });
    expect(judgeEndpoint({ scheme: 'http', host: 'api.t', port: 80 }, dev)).toEqual(
      fault('scheme'),
    );
    expect(judgeEndpoint({ scheme: 'https', host: '127.1', port: 443 }, dev)).toEqual(
      fault('numeric_host'),
    );
    expect(judgeEndpoint({ scheme: 'http', host: '::1', port: 9000 }, dev)).toEqual({
      ok: true,
      value: { kind: 'allowed', host: '::1' },
    });
  });
});
