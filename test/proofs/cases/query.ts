/**
 * Cases of the kind `query`: what of a query is the caller's, the row's and the credential's.
 * Called by ../cases.ts.
 */
import { type MoneyTenant, newCase } from '../../support/money-world.ts';
import { same } from '../../support/proof.ts';
import { type Check, placed, refusedEach, type Stand, vendorKey } from './stand.ts';

/** The request target that a call had at the vendor. */
async function sent(
  stand: Stand,
  tenant: MoneyTenant,
  target: string,
  query: string,
): Promise<string> {
  const caseId = newCase();
  const method = target === 'lab.search' ? 'GET' : 'POST';
  const answer = await tenant.call(target, { caseId, query, method });
  same(answer.status, 200, `${target}${query}`);
  return (await stand.arrived(caseId)).request.target;
}

/** On an upstream of one's own and on the platform account alike. */
const credentialInTheQuery: Check = async (stand) => {
  const [tenant, own] = [await stand.tenant(), await stand.tenant()];
  const secret = await own.scenario.secret('query', vendorKey);
  await own.scenario.upstream({
    name: 'own',
    alias: 'own.test',
    scheme: 'http',
    endpoints: [{ host: '127.0.0.1', port: stand.world.origin.port }],
    bindings: [{ location: 'query', name: 'key', secret }],
  });
  for (const [by, target, path] of [
    [own, 'own/call', '/call'],
    [tenant, 'pair.call', '/pair/call'],
  ] as const)
    for (const [query, arrives] of [
      ['?key=evil&a=1&key=evil2', `key=${vendorKey}&a=1`],
      ['?%6Bey=evil&a=1', `key=${vendorKey}&a=1`],
      ['?a=1#', `a=1&key=${vendorKey}`],
    ] as const)
      same(await sent(stand, by, target, query), `${path}?${arrives}`, `${target}${query}`);
};

/** The row's own query comes first and stays. */
const queryOfTheRow: Check = async (stand) => {
  const tenant = await stand.tenant();
  for (const [query, arrives] of [
    ['', '/v1/search?type=b'],
    ['?q=1', '/v1/search?type=b&q=1'],
    ['?', '/v1/search?type=b'],
  ] as const)
    same(await sent(stand, tenant, 'lab.search', query), arrives, `"${query}"`);
};

/** What is priced is what is served. */
const strictQuery: Check = async (stand) => {
  const tenant = await stand.tenant();
  const wrong = [
    '?limit=1&limit=1000',
    '?Limit=5',
    '?limit[]=5',
    '?%6Cimit=1&limit=9',
    '?limit=1&x=2',
  ];
  const refused = [400, 'catalog.parameter_invalid'] as const;
  const calls = wrong.map((query) => [query, { method: 'GET', query }, ...refused] as const);
  await refusedEach(stand, tenant, 'lab.strict', calls);
  same(await placed(tenant), 0, 'holds');
  const good = await tenant.call('lab.strict', { method: 'GET', query: '?limit=5&q=x' });
  same([good.status, (await tenant.ended()).settled], [200, 5], 'a declared query');
};

/** Checks by case. */
export const queryChecks: Readonly<Record<string, Check>> = {
  C037: credentialInTheQuery,
  C039: queryOfTheRow,
  C040: strictQuery,
};
