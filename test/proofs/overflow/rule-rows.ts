/** The rules of overflow, over every recorded envelope and over every combination of facts. Called by test/proofs/overflow.ts. */
import { readFileSync } from 'node:fs';
import { resolveSrcModules } from '../../../scripts/lib/src-modules.ts';
import type { SignalKind } from '../../../src/domain/capacity/signal.ts';
import type { OverflowTrigger } from '../../../src/domain/overflow/child.ts';
import type { EnvelopeOutcome, OverflowFailure } from '../../../src/domain/overflow/envelope.ts';
import type { DirectLeg, RelayLeg } from '../../../src/domain/overflow/verdict.ts';
import { holds, type Row, same } from '../../support/proof.ts';

resolveSrcModules();
const { classify } = await import('../../../src/domain/capacity/classify.ts');
const { usualAggregators } = await import('../../../src/domain/overflow/aggregators.ts');
const { decideOverflow } = await import('../../../src/domain/overflow/child.ts');
const { parse } = await import('../../../src/domain/overflow/envelope.ts');
const { markedFor, marksAfter } = await import('../../../src/domain/overflow/failure.ts');
const { alarmOf, verdictOf } = await import('../../../src/domain/overflow/verdict.ts');

interface Recorded {
  readonly name: string;
  readonly status: number;
  readonly body: string;
  readonly want: unknown;
}

const failures: readonly OverflowFailure[] = [
  'aggregator_auth',
  'aggregator_balance',
  'malformed',
  'vendor_dry',
  'contract',
  'unreachable',
];

const shown = (outcome: EnvelopeOutcome): unknown =>
  outcome.kind === 'served'
    ? { ...outcome, body: new TextDecoder().decode(outcome.body) }
    : outcome;

/** The vendor is `apollo`: its 422 is in the table. */
const signalOf = ({ status, bodyHead }: { status: number; bodyHead: string }) =>
  classify({
    provider: 'apollo',
    status,
    header: () => null,
    bodyHead,
    requestText: '',
    nowMs: 0,
  });

const envelopeRow = (name: string): Row => ({
  name: `${name}: every recorded envelope means what it should, by the real signature table`,
  run: async () => {
    const aggregator = usualAggregators.find((each) => each.name === name);
    holds(aggregator !== undefined, 'no such aggregator');
    const text = readFileSync(`test/fixtures/aggregators/${name}.json`, 'utf8');
    const recorded = JSON.parse(text) as readonly Recorded[];
    for (const { name: what, status, body, want } of recorded) {
      const bytes = new TextEncoder().encode(body);
      same(sorted(shown(parse(aggregator, { status, bytes }, signalOf))), sorted(want), what);
    }
    return `${recorded.length} envelopes`;
  },
});

const sorted = (value: unknown): unknown =>
  Object.fromEntries(Object.entries(value as object).sort(([a], [b]) => (a < b ? -1 : 1)));

/** Every cut of a good envelope: a broken transport never looks like a served answer. */
const cutsRow: Row = {
  name: 'an envelope that is cut anywhere is never served, and its cost is never taken for zero',
  run: async () => {
    let cuts = 0;
    for (const aggregator of usualAggregators) {
      const text =
        aggregator.dialect === 'api_path'
          ? '{"success":true,"priceCents":0,"data":{"a":[1,{"b":"}"}]}}'
          : '{"runId":"r","status":"COMPLETED","providerResponse":{"httpStatus":200},"output":{"a":1},"cost":{"value":0}}';
      for (let end = 0; end < text.length; end += 1) {
        const bytes = new TextEncoder().encode(text.slice(0, end));
        const outcome = parse(aggregator, { status: 200, bytes }, () => null);
        same(shown(outcome), { kind: 'failed', failure: 'malformed', costMicros: null }, `${end}`);
        cuts += 1;
      }
    }
    return `${cuts} cuts`;
  },
};

const marksRow: Row = {
  name: 'C079: a failure marks the aggregator only for our key, our balance, or three vendors without an envelope',
  run: async () => {
    for (const failure of failures) {
      const keys = marksAfter(failure, 'v1', []).map(({ key }) => key);
      const isOurs = failure === 'aggregator_auth' || failure === 'aggregator_balance';
      const wanted = isOurs ? [''] : failure === 'contract' ? [] : ['v1'];
      same(keys, wanted, failure);
    }
    const marks: { key: string; reason: string; endsInMs: number }[] = [];
    const fails = (vendor: string): void => {
      for (const { key, reason, forMs } of marksAfter('malformed', vendor, marks))
        marks.push({ key, reason, endsInMs: forMs });
    };
    fails('v1');
    same([markedFor('v1', marks, 0), markedFor('v2', marks, 0)], ['malformed', null], 'after one');
    fails('v2');
    same(markedFor('v3', marks, 0), null, 'after two');
    fails('v3');
    same(markedFor('v4', marks, 0), 'malformed', 'after three');
    same(markedFor('v4', marks, 900_000), null, 'a quarter of an hour later');
  },
};

const signals: readonly (SignalKind | null)[] = [
  null,
  'balance',
  'quota',
  'burst',
  'unknown',
  'unrecorded',
  'edge_block',
];

const triggersRow: Row = {
  name: 'of every combination of mode, tier, method, tenant, route and answer only those go that the specification names',
  run: async () => {
    let [all, went] = [0, 0];
    const triggers: OverflowTrigger[] = [{ kind: 'window' }, { kind: 'skip_direct' }];
    for (const status of [200, 204, 302, 400, 401, 402, 403, 404, 418, 422, 429, 500, 503])
      for (const signal of signals) triggers.push({ kind: 'answer', status, signal });
    for (const mode of ['off', 'shadow', 'on'] as const)
      for (const tier of [null, 1, 2, 3, 4])
        for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])
          for (const tenantAllows of [true, false])
            for (const hasRoute of [true, false])
              for (const trigger of triggers) {
                all += 1;
                const facts = { mode, tier, method, tenantAllows, hasRoute, trigger };
                const isOurs =
                  trigger.kind !== 'answer' ||
                  (trigger.status >= 400 &&
                    trigger.status !== 401 &&
                    ['balance', 'quota', 'burst'].includes(trigger.signal ?? ''));
                const may =
                  mode !== 'off' &&
                  tier === 4 &&
                  /^(?:GET|HEAD|POST)$/.test(method) &&
                  tenantAllows &&
                  hasRoute &&
                  isOurs;
                const decision = decideOverflow(facts);
                same(decision.go, may, JSON.stringify(facts));
                if (decision.go) went += 1;
              }
    return `${went} of ${all} go`;
  },
};

const verdictsRow: Row = {
  name: 'of every pair of legs: only a direct 2xx lets a route fail, the aggregator side never does, one inconclusive stamps',
  run: async () => {
    const relays: RelayLeg[] = [
      { kind: 'pending' },
      ...failures.map((failure): RelayLeg => ({ kind: 'failed', failure })),
      ...[200, 201, 302, 400, 404, 429, 500].flatMap((status) =>
        ['A', 'B'].map((shape): RelayLeg => ({ kind: 'served', status, shape })),
      ),
    ];
    const directs: DirectLeg[] = [
      { kind: 'none' },
      { kind: 'unreachable' },
      ...[200, 204, 302, 400, 401, 402, 404, 500].flatMap((status) =>
        [true, false].map(
          (isDry): DirectLeg => ({
            kind: 'answered',
            status,
            shape: 'A',
            isDry: isDry && status >= 400,
          }),
        ),
      ),
    ];
    for (const relay of relays)
      for (const direct of directs) {
        const what = JSON.stringify({ relay, direct });
        const { verdict, stamps } = verdictOf({ relay, direct });
        const isProven = direct.kind === 'answered' && direct.status < 300;
        const isServed = relay.kind === 'served' && relay.status < 300;
        const isTheirs = relay.kind === 'failed' && relay.failure !== 'contract';
        holds((verdict === 'aggregator') === isTheirs, `${what}: aggregator`);
        holds(verdict !== 'failed' || isProven, `${what}: failed without proof`);
        holds(verdict !== 'passed' || (isProven && isServed && relay.shape === 'A'), what);
        const isDry = direct.kind === 'answered' && direct.isDry;
        same(stamps, verdict === 'passed' || (isServed && isDry), `${what}: stamps`);
      }
    return `${relays.length * directs.length} pairs`;
  },
};

const exitsRow: Row = {
  name: 'of every run of three routes: exit 1 for our key, our balance, when all were lost there, when nothing was attempted',
  run: async () => {
    const entries = [
      { verdict: 'passed', failure: null },
      { verdict: 'failed', failure: null },
      { verdict: 'inconclusive', failure: null },
      ...failures.map((failure) => ({ verdict: 'aggregator', failure }) as const),
    ] as const;
    same(alarmOf([]), 'nothing_attempted', 'nothing');
    const lost = ['aggregator_auth', 'aggregator_balance', 'malformed', 'unreachable'];
    for (const a of entries)
      for (const b of entries)
        for (const c of entries) {
          const run = [a, b, c];
          const has = (failure: OverflowFailure): boolean =>
            run.some((each) => each.failure === failure);
          const isOurs = has('aggregator_auth') || has('aggregator_balance');
          const isLost = run.every((each) => lost.includes(each.failure ?? ''));
          same(alarmOf(run) !== null, isOurs || isLost, JSON.stringify(run));
        }
    return `${entries.length ** 3} runs`;
  },
};

export const ruleRows: readonly Row[] = [
  envelopeRow('orthogonal'),
  envelopeRow('monid'),
  cutsRow,
  marksRow,
  triggersRow,
  verdictsRow,
  exitsRow,
];
