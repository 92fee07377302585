/**
 * Cases of the kind `json`: a body that two readers could understand differently is refused before
 * anything is held; one that nobody reads is not touched. Called by ../cases.ts.
 */

import { type MoneyTenant, newCase } from '../../support/money-world.ts';
import { holds, same } from '../../support/proof.ts';
import { exchange } from '../../support/raw-client.ts';
import { operatorKey } from '../../support/test-env.ts';
import { type Check, placed, refusedEach, type Stand, says } from './stand.ts';

/** An upstream of one's own that wants its credential in the body, and one that wants nothing. */
async function upstreams(stand: Stand, tenant: MoneyTenant): Promise<void> {
  const secret = await tenant.scenario.secret('json', 'json-secret');
  const base = {
    scheme: 'http',
    endpoints: [{ host: '127.0.0.1', port: stand.world.origin.port }],
  };
  const bindings = [{ location: 'json', name: 'token', secret }];
  await tenant.scenario.upstream({ name: 'bound', alias: 'bound.test', bindings, ...base });
  await tenant.scenario.upstream({ name: 'plain', alias: 'plain.test', ...base });
}

const judgedCode = [400, 'catalog.parameter_invalid'] as const;
const boundCode = [400, 'binding.body_invalid'] as const;

const twoMeanings: Check = async (stand) => {
  const [tenant, own] = [await stand.tenant(), await stand.tenant()];
  await upstreams(stand, own);
  await refusedEach(stand, tenant, 'lab.judged', [
    ['a member twice', { body: '{"n":1,"n":1000}' }, ...judgedCode],
    ['a member twice, escaped', { body: '{"n":1,"\\u006e":1000}' }, ...judgedCode],
    ['a nested member twice', { body: '{"n":1,"o":{"a":1,"a":2}}' }, ...judgedCode],
    [
      'a nested member twice, in a list',
      { body: '{"n":1,"o":[{"a":1,"\\u0061":2}]}' },
      ...judgedCode,
    ],
    ['__proto__', { body: '{"n":1,"__proto__":{"n":1000}}' }, ...judgedCode],
  ]);
  await refusedEach(stand, own, 'bound/x', [
    ['the bound field twice', { body: '{"token":"a","token":"b"}' }, ...boundCode],
    ['the bound field twice, escaped', { body: '{"token":"a","\\u0074oken":"b"}' }, ...boundCode],
  ]);
  same(await placed(tenant), 0, 'holds');
  await policyDocument(stand, tenant);
  const good = await tenant.call('lab.judged', { body: '{"n":3,"o":{"a":1}}' });
  same([good.status, (await tenant.ended()).settled], [200, 3], 'a body with one meaning');
};

/** A rule of our own in two meanings: sent raw, since a client would not write it. */
async function policyDocument(stand: Stand, tenant: MoneyTenant): Promise<void> {
  const body = '{"method":"DELETE","method":"GET","host":"a.example.com"}';
  const head = [
    `POST /api/v1/deny-rules?tenant=${tenant.id} HTTP/1.1`,
    'Host: gw',
    `Authorization: Bearer ${operatorKey}`,
    'Content-Type: application/json',
    `Content-Length: ${body.length}`,
  ];
  const request = `${head.join('\r\n')}\r\n\r\n${body}`;
  const { status } = await exchange(stand.world.gateway.port, request);
  same(status, 400, 'a policy document with a member twice');
  same((await tenant.api('GET', '/deny-rules')).data, [], 'rules');
}

const bom = Buffer.from([0xef, 0xbb, 0xbf]);
const lone = '{"n":1,"o":"\\ud800"}';
const withBom = Buffer.concat([bom, Buffer.from('{"n":1}')]);
const invalidUtf8 = Buffer.concat([Buffer.from('{"o":"'), Buffer.from([0xff]), Buffer.from('"}')]);
const deep = `{"o":${'['.repeat(100_000)}${']'.repeat(100_000)}}`;
const oversize = `{"o":"${'x'.repeat(8 * 1024 * 1024 + 1 - 8)}"}`;

/** What the vendor got as the body of a case. */
const bodyOf = async (stand: Stand, caseId: string): Promise<Buffer> =>
  (await stand.arrived(caseId)).request.body;

const strangeBodies: Check = async (stand) => {
  const [tenant, own] = [await stand.tenant(), await stand.tenant()];
  await upstreams(stand, own);
  for (const [by, target, [status, code]] of [
    [own, 'bound/x', boundCode],
    [tenant, 'lab.judged', judgedCode],
  ] as const) {
    const caseId = newCase();
    says(await by.call(target, { caseId, body: lone }), 200, null, `${target}, \\ud800`);
    holds((await bodyOf(stand, caseId)).includes('"\\ud800"'), 'the escape changed');
    await refusedEach(stand, by, target, [
      ['a byte order mark', { body: withBom }, status, code],
      ['invalid UTF-8', { body: invalidUtf8 }, status, code],
      ['100000 levels', { body: deep }, status, code],
    ]);
    await tooLarge(stand, by, target);
  }
  await unread(stand, own, 'plain/x');
  await unread(stand, tenant, 'lab.fixed');
};

/** Refused by its declared length: the reset of an unread body could overtake the answer. */
async function tooLarge(stand: Stand, tenant: MoneyTenant, target: string): Promise<void> {
  const before = await placed(tenant);
  const caseId = newCase();
  const request = tenant.request(target, { caseId, body: oversize });
  const head = request.subarray(0, request.indexOf('\r\n\r\n') + 4);
  const answer = await exchange(stand.world.gateway.port, head, { method: 'POST' });
  says(answer, 413, 'payload.too_large', `${target}, 8 MiB and a byte`);
  same([stand.arrivals(caseId), await placed(tenant)], [0, before], 'requests and holds');
}

/** Where nothing has to be read, all of them arrive byte for byte. */
async function unread(stand: Stand, tenant: MoneyTenant, target: string): Promise<void> {
  for (const body of [lone, withBom, invalidUtf8, deep, oversize, '{"n":1,"n":1000}']) {
    const caseId = newCase();
    says(await tenant.call(target, { caseId, body }), 200, null, target);
    const arrived = await bodyOf(stand, caseId);
    holds(arrived.equals(Buffer.from(body)), `${target}: other bytes arrived`);
  }
  same((await tenant.ended()).held, 0, 'held');
}

/** Checks by case. */
export const jsonChecks: Readonly<Record<string, Check>> = {
  C093: twoMeanings,
  C095: strangeBodies,
};
