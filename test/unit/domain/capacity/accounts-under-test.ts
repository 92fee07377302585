/** Hand-made accounts for the tests of the sweep: one provider with a balance call, every part replaceable. */
import type { SweptAccount, SweptProvider } from '../../../../src/domain/capacity/collect';
import type { BalanceRequest } from '../../../../src/domain/catalog/balance';

/** The balance call of a vendor that says `{ left: … }`. */
export const balanceCall = (parts: Partial<BalanceRequest> = {}): BalanceRequest => ({
  kind: 'call',
  method: 'GET',
  url: 'https://api.vendor.example/v1/credits',
  lookup: null,
  setting: null,
  remaining: 'left',
  remainingMinus: null,
  total: null,
  resetsAt: null,
  unit: 'credits',
  divideBy: 1,
  confidence: 'exact',
  note: null,
  ...parts,
});

export const vendor = (parts: Partial<SweptProvider> = {}): SweptProvider => ({
  slug: 'vendor',
  baseUrls: [{ scheme: 'https', host: 'api.vendor.example', port: 443, basePath: '/v1' }],
  bindings: [
    { location: 'header', name: 'authorization', injector: 'bearer', format: null, field: null },
  ],
  requiredHeaders: [['x-version', '3']],
  accounts: [{ label: 'main', setting: 'VENDOR_KEY' }],
  balance: balanceCall(),
  ...parts,
});

/** The primary account of a vendor. */
export const account = (parts: Partial<SweptProvider> = {}): SweptAccount => ({
  provider: vendor(parts),
  account: 'primary',
  setting: 'VENDOR_KEY',
});
