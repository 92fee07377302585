/**
 * The operator's accounts at aggregators, as the sweep reads them: they are prepaid and run dry as vendors' do (digest A12).
 * Promises: the key goes to the aggregator's own base URL, an overridden one included. Pure. Called by wiring.ts.
 */

import type { SweptProvider } from '../capacity/collect';
import type { BalanceCall, BalanceRequest } from '../catalog/balance';
import type { EgressPolicy } from '../egress/allowance';
import { parseTarget } from '../egress/target-url';
import { type Aggregator, overflowProvider } from './aggregators';

/** Below the base URL. Source: docs.monid.ai (Wallet); what is held for open runs is subtracted there already. */
const balances: Readonly<Record<string, Pick<BalanceRequest, 'remaining'> & { path: string }>> = {
  monid: { path: '/wallet/balance', remaining: 'balance.value' },
};

/** Whether it is known how an aggregator's balance is read. */
export const hasBalanceCall = (name: string): boolean => Object.hasOwn(balances, name);

/** Every aggregator as an account; one without a key is left out by the sweep, as a provider is. */
export function aggregatorAccounts(
  aggregators: readonly Aggregator[],
  policy: EgressPolicy,
): readonly SweptProvider[] {
  return aggregators.flatMap((aggregator): SweptProvider[] => {
    const target = parseTarget(aggregator.baseUrl, policy);
    if (!target.ok) return [];
    const { scheme, host, port, rest } = target.value;
    return [
      {
        slug: overflowProvider(aggregator.name),
        baseUrls: [{ scheme, host, port, basePath: rest }],
        bindings: [
          {
            location: 'header',
            name: 'authorization',
            injector: 'bearer',
            format: null,
            field: null,
          },
        ],
        requiredHeaders: [],
        accounts: [{ label: 'main', setting: aggregator.setting }],
        balance: balanceOf(aggregator),
      },
    ];
  });
}

function balanceOf({ name, baseUrl }: Aggregator): BalanceCall | null {
  const known = hasBalanceCall(name) ? balances[name] : undefined;
  if (known === undefined) return null;
  return {
    kind: 'call',
    method: 'GET',
    url: baseUrl + known.path,
    lookup: null,
    setting: null,
    remaining: known.remaining,
    remainingMinus: null,
    total: null,
    resetsAt: null,
    unit: 'usd',
    divideBy: 1,
    confidence: 'exact',
    note: null,
  };
}
