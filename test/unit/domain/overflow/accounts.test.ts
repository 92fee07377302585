/** Aggregators as accounts of the sweep: their key goes to their own base URL. */
import { describe, expect, it } from 'vitest';
import { collectRequest } from '../../../../src/domain/capacity/collect';
import { defaultPolicy } from '../../../../src/domain/capacity/policy';
import { aggregatorAccounts } from '../../../../src/domain/overflow/accounts';
import { aggregatorsWith, usualAggregators } from '../../../../src/domain/overflow/aggregators';

const policy = { allow: { pairs: new Set<string>() }, gatewayHosts: [], httpsOnly: true };
const accounts = aggregatorAccounts(usualAggregators, policy);

/** The request for the balance of an account; null where none is declared. */
const asked = (provider: (typeof accounts)[number]) => {
  const { balance, slug } = provider;
  if (balance?.kind !== 'call') return null;
  const { url, method } = balance;
  const account = { provider, account: 'primary', setting: slug };
  const request = collectRequest(account, { url, method, credential: 'k' }, policy);
  return request.ok ? request.value : request.error;
};

describe('an aggregator', () => {
  it('is an account under its overflow name, with its own key, and a policy that code knows', () => {
    expect(accounts.map(({ slug, accounts: [first] }) => [slug, first?.setting])).toEqual([
      ['overflow:orthogonal', 'OVERFLOW_KEY_ORTHOGONAL'],
      ['overflow:monid', 'OVERFLOW_KEY_MONID'],
    ]);
    for (const { slug, balance } of accounts) expect(defaultPolicy(slug, balance)).not.toBeNull();
  });

  it('is asked for its balance where it publishes one, at its own base URL', () => {
    const [orthogonal, monid] = accounts.map(asked);
    expect(orthogonal).toBeNull();
    expect(monid).toMatchObject({
      url: 'https://api.monid.ai/v1/wallet/balance',
      headers: expect.arrayContaining([['authorization', 'Bearer k']]),
    });
  });

  it('that is hosted elsewhere is asked there', () => {
    const moved = aggregatorsWith('{"monid":{"base_url":"https://relay.example/x"}}', policy);
    const [, monid] = moved.ok ? aggregatorAccounts(moved.value, policy).map(asked) : [];
    expect(monid).toMatchObject({ url: 'https://relay.example/x/wallet/balance' });
  });
});
