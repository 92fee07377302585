/** The development allowance and the gateway's own hosts. */
import { describe, expect, it } from 'vitest';
import { egressAllowMax } from '../../../../src/base/limits';
import {
  type EgressAllowance,
  isAllowed,
  isGatewayHost,
  parseEgressAllow,
} from '../../../../src/domain/egress/allowance';

function allowanceOf(text: string): EgressAllowance {
  const parsed = parseEgressAllow(text);
  if (!parsed.ok) throw new Error(parsed.error);
  return parsed.value;
}

describe('parseEgressAllow', () => {
  it.each([
    ['', 0],
    [' , ,', 0],
    ['127.0.0.1:9000', 1],
    ['127.0.0.1:9000,[::1]:9000 localhost:80\n api.t:443', 4],
    ['API.T:443 api.t:443', 1],
    ['127.0.0.1:65535', 1],
    [Array.from({ length: egressAllowMax }, (_, i) => `127.0.0.1:${i + 1}`).join(), egressAllowMax],
  ])('%j opens %i pairs', (text, size) => expect(allowanceOf(text).pairs.size).toBe(size));

  it.each([
    '127.0.0.1',
    ':9000',
    '127.0.0.1:',
    '127.0.0.1:0',
    '127.0.0.1:65536',
    '127.0.0.1:090',
    '127.0.0.1:*',
    '*:80',
    '*.t:80',
    'http://127.0.0.1:80',
    '127.0.0.1:80/x',
    'user@127.0.0.1:80',
    '127.1:80',
    '0x7f000001:80',
    '::1:80',
    '[0:0:0:0:0:0:0:1]:80',
    '[::1]',
    'bücher.t:80',
    Array.from({ length: egressAllowMax + 1 }, (_, i) => `127.0.0.1:${i + 1}`).join(),
  ])('%j is an error at start', (text) => expect(parseEgressAllow(text).ok).toBe(false));
});

describe('isAllowed', () => {
  const allow = allowanceOf('127.0.0.1:9000,[::1]:9001,Origin.T:443');
  it.each([
    ['127.0.0.1', 9000],
    ['::1', 9001],
    ['[::1]', 9001],
    ['ORIGIN.t', 443],
  ])('%s:%i is open', (host, port) => expect(isAllowed(allow, host, port)).toBe(true));

  it.each([
    ['127.0.0.1', 9001],
    ['127.0.0.1', 80],
    ['127.0.0.2', 9000],
    ['127.1', 9000],
    ['127.0.0.1.', 9000],
    ['localhost', 9000],
    ['::1', 9000],
    ['::ffff:127.0.0.1', 9000],
    ['x.origin.t', 443],
    ['origin.t.evil.t', 443],
    ['origin.t:443', 443],
  ])('%s:%i beside the pairs stays shut', (host, port) =>
    expect(isAllowed(allow, host, port)).toBe(false),
  );

  it('nothing is open by default', () =>
    expect(isAllowed(allowanceOf(''), '127.0.0.1', 80)).toBe(false));
});

describe('isGatewayHost', () => {
  const hosts = ['gw.example.com', 'Console.Example.com.', '127.0.0.1:8787', '[::1]:8787'];
  it.each([
    ['gw.example.com', 443, true],
    ['GW.example.com.', 8443, true],
    ['console.example.com', 443, true],
    ['127.0.0.1', 8787, true],
    ['127.0.0.1', 9000, false],
    ['::1', 8787, true],
    ['[::1]', 9000, false],
    ['x.gw.example.com', 443, false],
    ['gw.example.com.evil.t', 443, false],
  ])('%s:%i is the gateway: %s', (host, port, expected) =>
    expect(isGatewayHost(hosts, host, port)).toBe(expected),
  );

  it('an entry with a port matches by host when no port is known', () =>
    expect(isGatewayHost(hosts, '127.0.0.1')).toBe(true));
});
