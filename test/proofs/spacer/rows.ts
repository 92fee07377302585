/** What smoothing guarantees. Called by test/proofs/spacer.ts. */
import { costOf, type MoneyTenant, newCase, refusalOf } from '../../support/money-world.ts';
import { answers, type Plan } from '../../support/priced-origin.ts';
import { holds, same } from '../../support/proof.ts';
import { headerOf, type RawAnswer } from '../../support/raw-client.ts';
import { burstOf, isolateCount, rates, type Stand, type Vendor } from './stand.ts';

type Named = readonly [name: string, run: (stand: Stand) => Promise<string | void>];

const rush = (tenant: MoneyTenant, endpoint: string, count: number): Promise<RawAnswer[]> =>
  Promise.all(
    Array.from({ length: count }, (_, at) => tenant.call(endpoint, { isolate: at % isolateCount })),
  );

const waitOf = (answer: RawAnswer): number =>
  Number(/wait=(\d+)/.exec(headerOf(answer.lines, 'x-weir-smoothed') ?? '')?.[1] ?? 0);

const statuses = (all: readonly RawAnswer[]): Record<string, number> => {
  const counts: Record<string, number> = {};
  for (const { status } of all) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
};

/** Every isolate has read what it needs, and the window of those calls is over. */
async function warm(stand: Stand, tenant: MoneyTenant, vendor: Vendor): Promise<void> {
  for (let isolate = 0; isolate < isolateCount; isolate += 1)
    await tenant.call(`${vendor}.do`, { isolate });
  await stand.pass(1.5 * rates[vendor].windowMs);
  stand.forget();
}

const fits: Named = [
  '100 at once from 4 isolates, the wait fits into 2 s: no 429, the window is never exceeded',
  async (stand) => {
    const tenant = await stand.world.tenant();
    await warm(stand, tenant, 'quick');
    const all = await rush(tenant, 'quick.do', 100);
    same(statuses(all), { 200: 100 }, 'answers');
    same(stand.refusals('quick'), 0, 'refusals of the vendor');
    const times = stand.times('quick');
    const { limit, windowMs } = rates.quick;
    const most = Math.max(
      ...times.map((from) => times.filter((at) => at >= from && at < from + windowMs).length),
    );
    holds(most <= limit, `${most} requests in one window of ${limit}`);
    const longest = Math.max(...all.map(waitOf));
    holds(longest > 1_000 && longest <= 2_000, `the longest wait was ${longest} ms`);
    same((await tenant.ended()).settled, (100 + isolateCount) * 60, 'settled');
    return `at most ${most} of ${limit} in a window, longest wait ${longest} ms`;
  },
];

const longer: Named = [
  'what would wait longer than 2 s proceeds at once, and is never refused by us',
  async (stand) => {
    const tenant = await stand.world.tenant();
    stand.forget();
    const all = await rush(tenant, 'slow.do', 60);
    same(all.filter((answer) => refusalOf(answer) !== null).length, 0, 'refusals of ours');
    same(stand.times('slow').length, 60, 'requests at the vendor');
    const spaced = all.filter((answer) => waitOf(answer) > 0).length;
    holds(spaced >= 15 && spaced <= 20, `${spaced} waited`);
    return `${spaced} waited, ${stand.refusals('slow')} refused by the vendor`;
  },
];

const enforced: Named = [
  'an enforced bucket: the vendor never sees more than its window; the others get 429 with Retry-After and no hold',
  async (stand) => {
    const tenant = await stand.world.tenant();
    await warm(stand, tenant, 'strict');
    const all = await rush(tenant, 'strict.do', 60);
    same(stand.refusals('strict'), 0, 'refusals of the vendor');
    const refused = all.filter((answer) => refusalOf(answer) === 'provider_rate_limited');
    holds(refused.length > 0, 'nobody was refused');
    same(refused.length + all.filter(({ status }) => status === 200).length, 60, 'answers');
    for (const answer of refused) {
      same(answer.status, 429, 'the status');
      holds(Number(headerOf(answer.lines, 'retry-after')) >= 1, 'Retry-After');
    }
    same((await tenant.ended()).settled, (60 - refused.length + isolateCount) * 60, 'settled');
    return `${60 - refused.length} sent, ${refused.length} refused`;
  },
];

const noMoney: Named = [
  'a tenant without money uses no place',
  async (stand) => {
    const poor = await stand.world.tenant({ topUpMicros: 0 });
    const rich = await stand.world.tenant();
    await stand.world.origin.until(() => true);
    stand.forget();
    const refused = await rush(poor, 'quick.do', 50);
    same(refused.map(refusalOf), Array(50).fill('insufficient_balance'), 'the poor one');
    const answer = await rich.call('quick.do');
    holds(waitOf(answer) < 100, `the first call of another tenant waited ${waitOf(answer)} ms`);
  },
];

const unused: Named = [
  'places whose clients leave while they wait go to the next ones',
  async (stand) => {
    const tenant = await stand.world.tenant();
    await warm(stand, tenant, 'slow');
    const leaving = await Promise.all(
      Array.from({ length: 15 }, () => tenant.open('slow.do', { caseId: newCase() })),
    );
    await stand.world.origin.until(() => stand.times('slow').length >= 2, 20_000);
    for (const client of leaving) client.reset();
    // The last of their places is 1.6 s away; the first that was left is nearer than two.
    await stand.pass(200);
    const sent = stand.times('slow').length;
    const answer = await tenant.call('slow.do');
    same(answer.status, 200, 'the answer');
    holds(waitOf(answer) < 300, `waited ${waitOf(answer)} ms`);
    holds(sent < 8, `${sent} were sent though their clients had left`);
    return `${sent} of 15 sent, the next one waited ${waitOf(answer)} ms`;
  },
];

const resent = (
  how: string,
  plans: readonly Plan[],
  wanted: {
    readonly status: number;
    readonly sends: number;
    readonly retry: boolean;
    readonly method?: string;
    readonly vendor?: string;
  },
): Named => [
  `one re-send: ${how}`,
  async (stand) => {
    const tenant = await stand.world.tenant();
    const vendor = wanted.vendor ?? 'plain';
    stand.forget();
    let served = 0;
    stand.vendor(vendor, (call) => {
      const plan = plans[Math.min(served, plans.length - 1)] as Plan;
      served += 1;
      return plan(call);
    });
    const isPost = wanted.method === 'POST';
    const answer = await tenant.call(`${vendor}.${isPost ? 'do' : 'look'}`, {
      method: isPost ? 'POST' : 'GET',
    });
    same(answer.status, wanted.status, 'the answer');
    same(stand.times(vendor).length, wanted.sends, 'sends');
    const smoothed = headerOf(answer.lines, 'x-weir-smoothed');
    same(smoothed?.includes('retry=1') ?? false, wanted.retry, `X-Weir-Smoothed ${smoothed}`);
    const settled = wanted.status === 200 ? 60 : 0;
    same((await tenant.ended()).settled, settled, 'settled');
    if (wanted.status === 200) same(costOf(answer), 60, 'the cost');
  },
];

const well = answers();
const quotaWords = { message: 'Daily quota reached' };

export const spacerRows: readonly Named[] = [
  fits,
  longer,
  enforced,
  noMoney,
  unused,
  resent('a GET whose 429 says a second: sent again, charged once', [burstOf('1'), well], {
    status: 200,
    sends: 2,
    retry: true,
  }),
  resent('a second 429 stands', [burstOf('1'), burstOf('1')], {
    status: 429,
    sends: 2,
    retry: true,
  }),
  resent('C077: a wait that is no number is no wait', [burstOf('soon'), well], {
    status: 429,
    sends: 1,
    retry: false,
  }),
  resent('a wait above 5 s is the caller’s', [burstOf('6'), well], {
    status: 429,
    sends: 1,
    retry: false,
  }),
  resent('C065: a POST is never sent again', [burstOf('1'), well], {
    status: 429,
    sends: 1,
    retry: false,
    method: 'POST',
  }),
  resent('a quota that wears a 429 is none', [burstOf('1', quotaWords), well], {
    status: 429,
    sends: 1,
    retry: false,
    vendor: 'lusha',
  }),
];
