/** The aggregators and the base URLs that a deployment may give them. */
import { describe, expect, it } from 'vitest';
import { parseEgressAllow } from '../../../../src/domain/egress/allowance';
import {
  aggregatorsWith,
  authHeader,
  overflowProvider,
} from '../../../../src/domain/overflow/aggregators';

const allow = parseEgressAllow('127.0.0.1:4000');
if (!allow.ok) throw new Error(allow.error);
const policy = { allow: allow.value, gatewayHosts: ['gateway.example'], httpsOnly: true };
const bases = (text: string) => {
  const made = aggregatorsWith(text, policy);
  return made.ok ? made.value.map(({ name, baseUrl }) => `${name} ${baseUrl}`) : made.error;
};

describe('the aggregators', () => {
  it('are two, the preferred one first', () => {
    expect(bases('{}')).toEqual([
      'orthogonal https://api.orthogonal.com/v1',
      'monid https://api.monid.ai/v1',
    ]);
    expect(overflowProvider('monid')).toBe('overflow:monid');
    expect(authHeader('k')).toEqual(['authorization', 'Bearer k']);
  });

  it.each([
    ['https://runs.example/api', 'https://runs.example/api'],
    ['https://runs.example/', 'https://runs.example'],
    ['http://127.0.0.1:4000/v1/', 'http://127.0.0.1:4000/v1'],
  ])('may be called at %s', (given, baseUrl) => {
    expect(bases(JSON.stringify({ monid: { base_url: given } }))).toContain(`monid ${baseUrl}`);
  });

  it.each([
    'http://runs.example/v1',
    'http://127.0.0.1:4001',
    'https://10.0.0.1/v1',
    'https://gateway.example/v1',
    'https://runs.example/v1?x=1',
    'https://runs.example/a/../b',
    'https://user@runs.example',
    'nonsense',
  ])('may not be called at %s, and the error does not repeat it', (given) => {
    const error = bases(JSON.stringify({ monid: { base_url: given } }));
    expect(error).toBe('monid: base_url is no https URL that may be called');
  });

  it.each([
    '',
    '[]',
    '{"monid":"x"}',
    '{"monid":{}}',
    '{"monid":{"base_url":1}}',
    '{"monid":{"base_url":"https://a.example","x":1}}',
  ])('are no %j', (text) => {
    expect(bases(text)).toMatch(/^wants a JSON object/);
  });

  it('have no other names', () => {
    expect(bases('{"other":{"base_url":"https://a.example"}}')).toMatch(/not known/);
  });
});
