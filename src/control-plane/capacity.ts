/**
 * Capacity views: how the operator's vendor accounts stand, why a call is refused now, and the way to clear what is wrong.
 * Promises: operator only; reading changes nothing; an object that does not answer is `unknown` in the list and 503 where it is the
 * question. Must never: show a credential or a setting's value. Operations read by `operations.ts`; the sweep's are in `capacity-sweep.ts`.
 */
import * as z from 'zod/mini';
import { configRetryMs } from '../base/limits';
import { catalogIdCharsMax } from '../base/limits-money';
import { err, ok, type Result } from '../base/result';
import { explain as explained, type Overall, overallOf } from '../domain/capacity/explain';
import type { CapacityState } from '../domain/capacity/operations';
import { type CapacityPolicy, sourceOf } from '../domain/capacity/policy';
import { primaryAccount } from '../domain/capacity/signal';
import type { Provider } from '../domain/catalog/provider';
import { hasBalanceCall } from '../domain/overflow/accounts';
import { overflowProvider } from '../domain/overflow/aggregators';
import type { Refusal } from '../domain/refusal';
import type { Page } from '../ports/store';
import { invalid } from './body';
import { capacityAnswer, capacityWire, causeWire, explainAnswer } from './capacity-wire';
import { providerName } from './fields';
import { answering, type Call, type Operation, writing } from './operation';
import { paged, pageOf, pageQuery } from './pagination';

/** A lock's key: provider or catalog id, and the label of an account behind `#`. */
const keyCharsMax = catalogIdCharsMax + 40;

/** Body of a reset. */
const resetBody = z.strictObject({
  key: z
    ._default(z.nullable(z.string().check(z.maxLength(keyCharsMax))), null)
    .check(z.describe('One key of the view; `reading` is the reading. Null clears all.')),
});

const resetAnswer = z.object({
  provider: z.string(),
  cleared: z.int(),
  items: z
    .array(z.object({ what: z.enum(['lock', 'strike', 'mark', 'reading']), key: z.string() }))
    .check(z.describe('What stood there when the reset was asked for.')),
});

/** The operations on capacity. */
export const capacityOperations: readonly Operation[] = [
  answering({
    method: 'GET',
    path: '/capacity',
    permission: 'operator',
    scope: 'gateway',
    summary: 'List the providers at which this gateway has an account, and how each stands',
    query: pageQuery,
    answer: pageOf(capacityAnswer),
    handle: list,
  }),
  answering({
    method: 'GET',
    path: '/capacity/{id}/explain',
    id: providerName,
    permission: 'operator',
    scope: 'gateway',
    summary: 'Say why a call is refused now, since when, until when, and who may probe next',
    query: {
      endpoint: { description: 'Catalog id; without it, any paid call.' },
      account: { description: 'Label of one account; without it, all of them.' },
    },
    answer: explainAnswer,
    handle: explain,
  }),
  writing({
    method: 'POST',
    path: '/capacity/{id}/reset',
    id: providerName,
    permission: 'operator',
    scope: 'gateway',
    summary: 'Clear locks, strikes, marks and the reading of a provider, or one key of them',
    body: resetBody,
    status: 200,
    answer: resetAnswer,
    handle: reset,
  }),
];

/** A provider at which the operator has an account. */
interface Account {
  readonly provider: string;
  readonly labels: readonly string[];
  /** Whether the catalog says how its balance is read. */
  readonly isRead: boolean;
}

async function list(call: Call) {
  const page = await paged(call, {
    names: providerName,
    read: (asked) => accountsBehind(call, asked),
    nameOf: ({ provider }) => provider,
    toWire: (account) => account,
  });
  if (!page.ok) return page;
  const rows = await rowsOf(call, page.value.data);
  return rows.ok ? ok({ ...page.value, data: rows.value.map(capacityWire) }) : rows;
}

async function accountsBehind(call: Call, { after, limit }: Page) {
  const accounts = await accountsOf(call);
  if (!accounts.ok) return accounts;
  const behind = accounts.value.filter(({ provider }) => after === null || provider > after);
  return ok(behind.slice(0, limit));
}

async function rowsOf(call: Call, accounts: readonly Account[]) {
  const { capacity, capacityRecords } = call.services;
  const [policies, snapshots, states] = await Promise.all([
    capacityRecords.policies(),
    capacityRecords.latest(),
    Promise.all(accounts.map(({ provider }) => capacity.state(provider))),
  ]);
  if (!policies.ok) return policies;
  if (!snapshots.ok) return snapshots;
  return ok(
    accounts.map((account, at) => {
      const { provider, labels } = account;
      const policy = policies.value.find((one) => one.provider === provider) ?? null;
      const isOurs = (one: { provider: string; account: string }): boolean =>
        one.provider === provider && one.account === primaryAccount;
      const state = states[at] ?? null;
      return {
        provider,
        accounts: labels,
        overall: overall(state, policy, account),
        state,
        snapshot: snapshots.value.find(isOurs) ?? null,
        policy,
      };
    }),
  );
}

function overall(
  state: CapacityState | null,
  policy: CapacityPolicy | null,
  { isRead }: Account,
): Overall | 'unknown' {
  if (state === null) return 'unknown';
  return overallOf(state, policy === null ? isRead : policy.source === 'api');
}

async function explain(call: Call) {
  const account = await accountNamed(call);
  if (!account.ok) return account;
  const { provider, labels } = account.value;
  const label = call.facts.query.get('account');
  if (label !== undefined && !labels.includes(label))
    return err(invalid({ path: 'account', message: `is none of ${labels.join(', ')}` }));
  const spends = await spendsBalance(call, provider);
  if (!spends.ok) return spends;
  const state = await call.services.capacity.state(provider);
  if (state === null) return err(unavailable);
  const endpoint = call.facts.query.get('endpoint') ?? null;
  const accounts = label === undefined ? labels : [label];
  const found = explained(state, {
    provider,
    endpointId: endpoint,
    accounts,
    spendsBalance: spends.value,
    isProbed: !isAggregator(provider),
  });
  return ok({
    provider,
    endpoint,
    accounts: [...accounts],
    refused: found.cause !== null,
    open_accounts: [...found.open],
    summary: found.summary,
    cause: found.cause === null ? null : causeWire(found.cause),
  });
}

/** `overflow:<name>`; no slug of a vendor has a colon. */
const isAggregator = (provider: string): boolean => provider.includes(':');

/** A free endpoint is asked about otherwise. Of an aggregator the endpoint is a vendor there, which no catalog knows. */
async function spendsBalance(call: Call, provider: string): Promise<Result<boolean, Refusal>> {
  const id = call.facts.query.get('endpoint');
  if (id === undefined || isAggregator(provider)) return ok(true);
  const entry = await call.services.store.catalog.get(id);
  if (entry.ok && entry.value.provider.slug === provider)
    return ok(entry.value.endpoint.cost.kind !== 'free');
  if (!entry.ok && entry.error.code !== 'resource.not_found') return entry;
  return err(invalid({ path: 'endpoint', message: `is no endpoint of ${provider}` }));
}

async function reset(call: Call, { key }: z.output<typeof resetBody>) {
  const account = await accountNamed(call);
  if (!account.ok) return account;
  const { provider } = account.value;
  const { capacity } = call.services;
  const before = await capacity.state(provider);
  if (before === null) return err(unavailable);
  const cleared = await capacity.reset(provider, key);
  if (cleared === null) return err(unavailable);
  return ok({ provider, cleared, items: itemsOf(before, key) });
}

function itemsOf({ locks, strikes, marks, reading }: CapacityState, key: string | null) {
  const isEmpty = reading?.state === 'exhausted' && !reading.isLifted;
  const all = [
    ...locks.map((one) => ({ what: 'lock' as const, key: one.key })),
    ...strikes.map((one) => ({ what: 'strike' as const, key: one.key })),
    ...marks.map((one) => ({ what: 'mark' as const, key: one.key })),
    ...(isEmpty ? [{ what: 'reading' as const, key: 'reading' }] : []),
  ];
  return all.filter((item) => key === null || item.key === key);
}

const unavailable: Refusal = {
  code: 'state.unavailable',
  what: 'capacity',
  retryAfterMs: configRetryMs,
};

async function accountNamed(call: Call): Promise<Result<Account, Refusal>> {
  const accounts = await accountsOf(call);
  if (!accounts.ok) return accounts;
  const account = accounts.value.find(({ provider }) => provider === call.facts.id);
  return account === undefined ? err({ code: 'resource.not_found' }) : ok(account);
}

/** Providers of the catalog and aggregators whose credential is among the settings, by name. */
async function accountsOf(call: Call): Promise<Result<readonly Account[], Refusal>> {
  const { platformSettings, platformAccounts } = call.services.env;
  const providers = await call.services.store.catalog.providers();
  if (!providers.ok) return providers;
  const isOurs = ({ accounts: [primary] }: Provider): boolean =>
    primary !== undefined && platformSettings.has(primary.setting);
  const vendors = providers.value.filter(isOurs).map(
    ({ slug, balance }): Account => ({
      provider: slug,
      labels: [primaryAccount, ...(platformAccounts.get(slug) ?? [])],
      isRead: sourceOf(balance) === 'api',
    }),
  );
  const aggregators = call.services.env.overflow.aggregators
    .filter(({ setting }) => platformSettings.has(setting))
    .map(
      ({ name }): Account => ({
        provider: overflowProvider(name),
        labels: [primaryAccount],
        isRead: hasBalanceCall(name),
      }),
    );
  return ok([...vendors, ...aggregators].sort((a, b) => (a.provider < b.provider ? -1 : 1)));
}
