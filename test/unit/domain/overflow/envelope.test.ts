/** Envelopes of both aggregators: what is posted, byte by byte, and what every recorded answer means. */
import { describe, expect, it } from 'vitest';
import { overflowBodyBytesMax } from '../../../../src/base/limits-capacity';
import type { CapacitySignal } from '../../../../src/domain/capacity/signal';
import { aggregatorNamed, usualAggregators } from '../../../../src/domain/overflow/aggregators';
import {
  build,
  type EnvelopeOutcome,
  parse,
  pollRequest,
  type RelayedCall,
} from '../../../../src/domain/overflow/envelope';
import monidAnswers from '../../../fixtures/aggregators/monid.json';
import orthogonalAnswers from '../../../fixtures/aggregators/orthogonal.json';

const named = (name: string) => {
  const found = aggregatorNamed(usualAggregators, name);
  if (found === null) throw new Error(`there is no ${name}`);
  return found;
};
const [orthogonal, monid] = [named('orthogonal'), named('monid')];

const call = (parts: Partial<RelayedCall> = {}): RelayedCall => ({
  vendor: 'acme',
  operation: '/v1/search',
  method: 'GET',
  path: '/v1/search',
  query: null,
  bodyText: null,
  ...parts,
});

/** The signature table of these tests: a 402, and a 422 that says so in its error field. */
function signalOf({ status, bodyHead }: { status: number; bodyHead: string }) {
  const signal = (kind: CapacitySignal['kind']) => ({ kind, waitMs: null, because: 'test' });
  if (status === 402) return signal('balance');
  if (status === 422 && bodyHead === '{"error":"Insufficient credits"}') return signal('balance');
  return status === 429 ? signal('burst') : null;
}

/** An outcome with its body as text, as the fixtures have it. */
const shown = (outcome: EnvelopeOutcome) =>
  outcome.kind === 'served'
    ? { ...outcome, body: new TextDecoder().decode(outcome.body) }
    : outcome;

const bodyOf = (aggregator: typeof orthogonal, parts: Partial<RelayedCall>): string | null => {
  const built = build(aggregator, call(parts));
  if (!built.ok) throw new Error(built.error);
  return built.value.body;
};

describe('a run', () => {
  it.each([
    [orthogonal, 'https://api.orthogonal.com/v1/run'],
    [monid, 'https://api.monid.ai/v1/run'],
  ])('is posted as JSON without the key', (aggregator, url) => {
    const built = build(aggregator, call());
    expect(built).toMatchObject({ ok: true, value: { method: 'POST', url } });
    expect(built.ok && Object.fromEntries(built.value.headers)).toEqual({
      accept: 'application/json',
      'accept-encoding': 'identity',
      'content-type': 'application/json',
    });
  });

  it.each([
    ['nothing but the operation', {}, '{"api":"acme","path":"/v1/search"}'],
    [
      'a query, decoded, repeated names as a list',
      { query: 'q=a%20b&q=c&x=1+2&empty' },
      '{"api":"acme","path":"/v1/search","query":{"q":["a b","c"],"x":"1 2","empty":""}}',
    ],
    [
      'a name of the language in a query',
      { query: '__proto__=1&constructor=2' },
      '{"api":"acme","path":"/v1/search","query":{"__proto__":"1","constructor":"2"}}',
    ],
    [
      'a body with its own bytes',
      { method: 'POST', bodyText: '{ "n": 1.0, "big": 12345678901234567890 }' },
      '{"api":"acme","path":"/v1/search","body":{ "n": 1.0, "big": 12345678901234567890 }}',
    ],
    ['an empty body as none', { bodyText: '' }, '{"api":"acme","path":"/v1/search"}'],
    [
      'a path whose placeholders are filled',
      { operation: '/v1/people/{id}', path: '/v1/people/a%2Fb' },
      '{"api":"acme","path":"/v1/people/a%2Fb"}',
    ],
  ])('of {api, path, query, body} carries %s', (_, parts, text) => {
    expect(bodyOf(orthogonal, parts)).toBe(text);
  });

  it.each([
    ['nothing but the operation', {}, '{"provider":"acme","endpoint":"/v1/search","input":{}}'],
    [
      'query and body',
      { method: 'POST', query: 'q=a', bodyText: '[1.0]' },
      '{"provider":"acme","endpoint":"/v1/search","input":{"queryParams":{"q":"a"},"body":[1.0]}}',
    ],
    [
      'what fills its placeholders, whatever base path stands before it',
      { operation: '/people/{id}/posts/{n}', path: '/v1/people/a%2Fb/posts/7' },
      '{"provider":"acme","endpoint":"/people/{id}/posts/{n}","input":{"pathParams":{"n":"7","id":"a/b"}}}',
    ],
  ])('of {provider, endpoint, input} carries %s', (_, parts, text) => {
    expect(bodyOf(monid, parts)).toBe(text);
  });

  it.each([
    ['a body that is no JSON', { bodyText: 'a=1' }, 'body_not_json'],
    ['half of a body', { bodyText: '{"a":' }, 'body_not_json'],
    [
      'a body one byte too large',
      { bodyText: `"${'x'.repeat(overflowBodyBytesMax - 1)}"` },
      'body_too_large',
    ],
    [
      'a body of three bytes a letter',
      { bodyText: `"${'€'.repeat(overflowBodyBytesMax / 3)}"` },
      'body_too_large',
    ],
  ])('is refused with %s', (_, parts, error) => {
    for (const aggregator of [orthogonal, monid])
      expect(build(aggregator, call(parts))).toEqual({ ok: false, error });
  });

  it('with a body of exactly the bound is built', () => {
    const bodyText = `"${'x'.repeat(overflowBodyBytesMax - 2)}"`;
    expect(build(orthogonal, call({ bodyText })).ok).toBe(true);
  });

  it.each(['/v1/other/7', '/7', ''])('of another path than %j is refused', (path) => {
    expect(build(monid, call({ operation: '/v1/people/{id}', path }))).toEqual({
      ok: false,
      error: 'path',
    });
  });

  it('is asked after at its own address', () => {
    expect(pollRequest(monid, '01RUN')).toMatchObject({
      method: 'GET',
      url: 'https://api.monid.ai/v1/runs/01RUN',
      body: null,
    });
  });
});

describe('an answer', () => {
  it.each(orthogonalAnswers.map((row) => [row.name, row] as const))(
    'of {success, data}: %s',
    (_, { status, body, want }) => {
      const bytes = new TextEncoder().encode(body);
      expect(shown(parse(orthogonal, { status, bytes }, signalOf))).toEqual(want);
    },
  );

  it.each(monidAnswers.map((row) => [row.name, row] as const))(
    'of {runId, status, output}: %s',
    (_, { status, body, want }) => {
      const bytes = new TextEncoder().encode(body);
      expect(shown(parse(monid, { status, bytes }, signalOf))).toEqual(want);
    },
  );

  it.each([
    ['bytes that are no UTF-8', [0x7b, 0xff, 0x7d]],
    ['a byte order mark', [0xef, 0xbb, 0xbf, 0x7b, 0x7d]],
  ])('with %s is malformed, and its cost is not known', (_, bytes) => {
    for (const aggregator of [orthogonal, monid])
      expect(parse(aggregator, { status: 200, bytes: new Uint8Array(bytes) }, signalOf)).toEqual({
        kind: 'failed',
        failure: 'malformed',
        costMicros: null,
      });
  });

  it.each([
    [500, '"code":"UNAUTHORIZED"', 'aggregator_auth', 0],
    [400, '"code":"INSUFFICIENT_CREDITS"', 'aggregator_balance', 0],
    [400, '"data":null,"code":"INSUFFICIENT_CREDITS"', 'aggregator_balance', 0],
    [400, '"code":"RATE_LIMITED"', 'unreachable', 0],
    [500, '"code":"NOT_FOUND"', 'contract', 0],
    [399, '"code":"OTHER"', 'malformed', null],
    [400, '"code":"OTHER"', 'contract', 0],
    [407, '"code":"OTHER"', 'contract', 0],
    [408, '"code":"OTHER"', 'malformed', null],
    [409, '"code":"OTHER"', 'contract', 0],
    [499, '"code":"OTHER"', 'contract', 0],
    [500, '"code":"OTHER"', 'malformed', null],
  ])(
    'of no vendor means what its code says, else its status: %d {%s}',
    (status, said, failure, costMicros) => {
      const bytes = new TextEncoder().encode(`{"success":false,${said}}`);
      const outcome = parse(orthogonal, { status, bytes }, signalOf);
      expect(outcome).toEqual({ kind: 'failed', failure, costMicros });
    },
  );

  it('whose success is no truth value is no answer of a vendor', () => {
    const bytes = new TextEncoder().encode('{"success":"yes","data":{"a":1}}');
    expect(parse(orthogonal, { status: 402, bytes }, signalOf)).toMatchObject({
      failure: 'aggregator_balance',
    });
  });

  it('that the table calls a burst is served as it is: a mark would be for a quarter of an hour', () => {
    const bytes = new TextEncoder().encode('{"success":false,"data":{"error":"slow down"}}');
    expect(parse(orthogonal, { status: 429, bytes }, signalOf)).toMatchObject({
      kind: 'served',
      status: 429,
    });
  });

  it('of 2xx is never asked about in the table', () => {
    const asked: number[] = [];
    const table = ({ status }: { status: number }) => {
      asked.push(status);
      return null;
    };
    for (const status of [200, 299, 400])
      parse(
        orthogonal,
        { status, bytes: new TextEncoder().encode(`{"success":${status < 400},"data":{"e":1}}`) },
        table,
      );
    expect(asked).toEqual([400]);
  });
});
