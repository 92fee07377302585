/**
 * The limits of the metered road, over sockets, on a platform account whose vendor is the recording origin. Called by
 * test/proofs/bounds.ts.
 */
import {
  catalogIdCharsMax,
  contractJsonDepthMax,
  keyedBodyBytesMax,
  ledgerTagCharsMax,
  ledgerTagPairsMax,
  metaCharsMax,
  meteredAnswerBytesMax,
  meteredBodyBytesMax,
  recordKeyCharsMax,
} from '../../../src/base/limits-money.ts';
import { same } from '../../support/proof.ts';
import { exchange, headerOf } from '../../support/raw-client.ts';
import { reply } from '../../support/recording-origin.ts';
import { chunked, type Named, nested, object, refused, type Stand, sized } from './stand.ts';
import { calling, headOf, wire } from './wire.ts';

// Always `/catalog/call/`: on `/call/` the stand's own upstreams at this origin are the first rung.

/** The platform account's key, and the name of its setting. */
export const account = { setting: 'LAB_KEY', key: 'lab-platform-key-0123456789' } as const;

const longName = 'n'.repeat(catalogIdCharsMax - 'lab.'.length);
const perCall = 'cost: { kind: per_call, prices: [{ price_micros: 1 }] }';
const usage = (reserve: string): string => `settlement: { fallback_micros: 1 }
    cost:
      kind: usage
      meters: [{ name: units, paths: [units], required: true, reserve: [${reserve}] }]
      prices: [{ per_million_micros: { units: 1000000 } }]`;

const row = (name: string, method: string, more: string): string => `
  - name: ${name}
    capability: lab.work
    summary: work
    method: ${method}
    path: /work
    platform_auth: account
    ${more}`;

/** The catalog of the stand. */
export const labFile = (authority: string): { name: string; text: string } => ({
  name: 'lab.yaml',
  text: `provider: lab
name: Lab
base_urls: ['http://${authority}']
auth: [{ in: header, name: x-lab-key }]
accounts: [{ label: main, setting: ${account.setting} }]
price_note: a test's own
endpoints:${[
    row('look', 'GET', perCall),
    row('post', 'POST', perCall),
    row('read', 'GET', usage('{ kind: fixed, units: 1 }')),
    row('sized', 'POST', usage('{ kind: body_bytes, bytes_per_unit: 1000000 }')),
    row(
      'strict',
      'POST',
      `body_allowlist: true
    parameters: [{ in: body, name: a, type: any }]
    ${perCall}`,
    ),
    row(longName, 'GET', perCall),
  ].join('')}
`,
});

const look = (stand: Stand, head: string): string =>
  calling(stand, '/catalog/call/lab.look', `${head}\r\n\r\n`);

/** Tags as `X-Weir-Meta` has them. */
const meta = (pairs: readonly (readonly [key: string, value: string])[]): string =>
  `X-Weir-Meta: ${pairs.map((pair) => pair.join('=')).join(', ')}`;

let keys = 0;
/** A key that no other call has, of that many characters. */
function newKey(chars: number): string {
  keys += 1;
  return `${keys}-`.padEnd(chars, 'k');
}

const metaLimit = { status: 422, code: 'meta.invalid' } as const;

/** Every row of this file. */
export const onTheMeteredRoad: readonly Named[] = [
  ...[sized, chunked].flatMap((framed): Named[] => {
    const how = framed === sized ? 'declared' : 'chunked';
    const attack = (target: string, head: string, max: number) => (stand: Stand) =>
      wire(
        stand,
        (size) => {
          const request = calling(stand, target, `${head}${framed(object(size))}`, 'POST');
          return framed === sized && size > max ? headOf(request) : request;
        },
        { max, status: 413, code: 'payload.too_large' },
      );
    return [
      [
        `meteredBodyBytesMax: a ${how} body above ${meteredBodyBytesMax} whose price is read from it is 413`,
        attack('/catalog/call/lab.sized', '', meteredBodyBytesMax),
      ],
      [
        `keyedBodyBytesMax: a ${how} body above ${keyedBodyBytesMax} with an Idempotency-Key is 413`,
        attack('/catalog/call/lab.post', `Idempotency-Key: ${how}\r\n`, keyedBodyBytesMax),
      ],
    ];
  }),
  [
    `meteredAnswerBytesMax: a metered answer above ${meteredAnswerBytesMax} is 502 before any header`,
    async (stand) => {
      const json = ['Content-Type: application/json'];
      const answered = (size: number) => {
        stand.origin.answer(reply('200 OK', json, `{"units":1}`.padEnd(size, ' ')));
        return exchange(stand.gateway.port, calling(stand, '/catalog/call/lab.read'));
      };
      const whole = await answered(meteredAnswerBytesMax);
      same(whole.status, 200, 'at the limit');
      same(whole.body.length, meteredAnswerBytesMax, 'bytes at the limit');
      same(headerOf(whole.lines, 'x-weir-cost-micro'), '1', 'cost at the limit');
      const problem = refused(
        await answered(meteredAnswerBytesMax + 1),
        502,
        'response_buffer_limit',
      );
      same(problem.blame, 'gateway', 'blame');
      stand.origin.answer(reply('200 OK', [], 'ok'));
    },
  ],
  [
    `metaCharsMax: X-Weir-Meta above ${metaCharsMax} characters is 422`,
    (stand) => {
      const padded = (size: number) => `X-Weir-Meta: a=1,${' '.repeat(size - 7)}b=2`;
      return wire(stand, (size) => look(stand, padded(size)), { max: metaCharsMax, ...metaLimit });
    },
  ],
  [
    `ledgerTagPairsMax: more than ${ledgerTagPairsMax} tags is 422`,
    (stand) => {
      const tags = (size: number) =>
        meta(Array.from({ length: size }, (_, i) => [`t${i}`, 'v'] as const));
      return wire(stand, (size) => look(stand, tags(size)), {
        max: ledgerTagPairsMax,
        ...metaLimit,
      });
    },
  ],
  ...(['key', 'value'] as const).map(
    (part): Named => [
      `ledgerTagCharsMax: the ${part} of a tag above ${ledgerTagCharsMax} characters is 422`,
      (stand) => {
        const tag = (size: number) => {
          const long = 'a'.repeat(size);
          return meta([part === 'key' ? [long, 'v'] : ['k', long]]);
        };
        return wire(stand, (size) => look(stand, tag(size)), {
          max: ledgerTagCharsMax,
          ...metaLimit,
        });
      },
    ],
  ),
  [
    `recordKeyCharsMax: an Idempotency-Key above ${recordKeyCharsMax} characters is 400`,
    (stand) =>
      wire(stand, (size) => look(stand, `Idempotency-Key: ${newKey(size)}`), {
        max: recordKeyCharsMax,
        status: 400,
        code: 'idempotency.key_invalid',
      }),
  ],
  [
    `catalogIdCharsMax: an id of ${catalogIdCharsMax} characters is called, a longer one is none`,
    (stand) =>
      wire(stand, (size) => calling(stand, `/catalog/call/lab.${'n'.repeat(size - 4)}`), {
        max: catalogIdCharsMax,
        status: 404,
        code: 'catalog.not_found',
      }),
  ],
  [
    `contractJsonDepthMax: a body that a contract reads may nest ${contractJsonDepthMax} deep; one more is 400`,
    (stand) =>
      wire(
        stand,
        (size) => calling(stand, '/catalog/call/lab.strict', sized(nested(size)), 'POST'),
        {
          max: contractJsonDepthMax,
          status: 400,
          code: 'catalog.parameter_invalid',
        },
      ),
  ],
];
