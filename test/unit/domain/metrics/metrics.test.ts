/** What is counted of a call, that labels are bounded, and the text that Prometheus reads. */
import { describe, expect, it } from 'vitest';
import { metricsNamesMax, metricsSeriesMax } from '../../../../src/base/limits-capacity';
import {
  bucketLabels,
  type CountedCall,
  countCall,
} from '../../../../src/domain/metrics/count-call';
import { prometheusText } from '../../../../src/domain/metrics/prometheus';
import { families, label, seriesParts, Totals } from '../../../../src/domain/metrics/series';

const call = (parts: Partial<CountedCall> = {}): CountedCall => ({
  id: 'call_1',
  surface: 'call',
  outcome: 'answered',
  status: 200,
  code: null,
  blame: null,
  latencyMs: 7,
  requestBytes: null,
  responseBytes: null,
  tier: 1,
  catalogId: null,
  costMicros: null,
  signal: null,
  found: null,
  servedVia: null,
  ...parts,
});

const isRefusal = (code: string): boolean => code === 'insufficient_balance';

function counted(...calls: readonly CountedCall[]) {
  const totals = new Totals();
  for (const one of calls) countCall(totals, one, isRefusal);
  return totals.list();
}

describe('a call', () => {
  it('and its child are one: the child adds its cost and the aggregator’s outcome', () => {
    const about = { tier: 4, catalogId: 'lusha.find' };
    const parent = call({ ...about, status: 402, signal: 'balance', found: 'error' });
    const child = call({
      id: 'call_1:overflow',
      tier: 4,
      catalogId: 'lusha.find',
      costMicros: 80,
      servedVia: 'overflow:monid',
    });
    expect(counted(parent, child)).toEqual({
      'calls|call,answered,none,4,4xx': 1,
      'duration|4,0.01': 1,
      'latency|4': 7,
      'answers|lusha,error': 1,
      'signals|lusha,balance': 1,
      'cost|lusha': 80,
      'overflow|monid,answered': 1,
    });
  });

  it('is counted once in each metric', () => {
    expect(counted(call(), call({ latencyMs: 20 }))).toEqual({
      'calls|call,answered,none,1,2xx': 2,
      'duration|1,0.01': 1,
      'duration|1,0.025': 1,
      'latency|1': 27,
    });
  });

  it.each([
    ['its sizes', { requestBytes: 12, responseBytes: 34 }, { 'sent|': 12, 'received|': 34 }],
    ['nothing of an empty body', { requestBytes: 0, responseBytes: 0 }, {}],
    [
      'the code that refused it',
      { outcome: 'refused', status: 402, code: 'insufficient_balance', blame: 'caller' },
      { 'refusals|insufficient_balance': 1 },
    ],
    [
      'no code that is none of ours',
      { outcome: 'refused', status: 400, code: 'x-made-up' },
      { 'refusals|other': 1 },
    ],
    ['no code of a call that was answered', { code: 'idempotency.replayed' }, {}],
    [
      'its charge by provider',
      { tier: 4, catalogId: 'vendor.a.search', costMicros: 1_500 },
      { 'cost|vendor': 1_500 },
    ],
    ['no charge of nothing', { tier: 4, catalogId: 'vendor.search', costMicros: 0 }, {}],
    [
      'what its answer said of the account',
      { tier: 4, catalogId: 'vendor.search', signal: 'balance', status: 402 },
      { 'signals|vendor,balance': 1 },
    ],
    [
      'the aggregator that served it',
      { catalogId: 'vendor.search', servedVia: 'overflow:orthogonal' },
      { 'overflow|orthogonal,answered': 1 },
    ],
  ] as const)('adds %s', (_, parts, expected) => {
    const usual = /^(?:calls|duration|latency)\|/;
    const all = Object.entries(counted(call(parts as Partial<CountedCall>)));
    const others = Object.fromEntries(all.filter(([series]) => !usual.test(series)));
    expect(others).toEqual(expected);
  });

  it.each([
    [0, '0.005'],
    [5, '0.005'],
    [6, '0.01'],
    [1_000, '1'],
    [300_000, '300'],
    [300_001, '+Inf'],
  ])('of %i ms is in the bucket up to %s seconds', (latencyMs, le) => {
    expect(counted(call({ latencyMs }))).toMatchObject({ [`duration|1,${le}`]: 1 });
  });

  it('that was refused before anything was known has no tier', () => {
    expect(
      counted(call({ tier: null, outcome: 'refused', status: 404, blame: 'caller' })),
    ).toMatchObject({
      'calls|call,refused,caller,none,4xx': 1,
    });
  });
});

describe('a label', () => {
  it.each([
    [null, 'none'],
    ['open-ai_2.x', 'open-ai_2.x'],
    ['', 'other'],
    ['a b', 'other'],
    ['a"b', 'other'],
    ['a,b', 'other'],
    ['a\nb', 'other'],
    ['x'.repeat(81), 'other'],
  ])('of %j is %s', (value, expected) => {
    expect(label(value)).toBe(expected);
  });

  it('of a provider is its own up to metricsNamesMax, then other, and never changes again', () => {
    const totals = new Totals();
    for (let n = 0; n < metricsNamesMax + 20; n += 1) {
      totals.add(`cost|vendor-${n}`, 1);
      totals.add(`signals|vendor-${n},quota`, 1);
    }
    totals.add('cost|vendor-0', 5);
    const counts = totals.list();
    expect(counts['cost|vendor-0']).toBe(6);
    expect(counts[`cost|vendor-${metricsNamesMax - 1}`]).toBe(1);
    expect(counts[`cost|vendor-${metricsNamesMax}`]).toBeUndefined();
    expect([counts['cost|other'], counts['signals|other,quota']]).toEqual([20, 20]);
    expect(Object.keys(counts)).toHaveLength(2 * (metricsNamesMax + 1));
  });
});

describe('totals', () => {
  it('grow no further than metricsSeriesMax series, and those that are there go on', () => {
    const totals = new Totals();
    totals.add('calls|call,answered,none,1,2xx', 1);
    for (let n = 0; n < metricsSeriesMax + 5; n += 1)
      totals.merge({ [`refusals|code-${n}`]: 1, 'calls|call,answered,none,1,2xx': 1 });
    const counts = totals.list();
    expect(Object.keys(counts)).toHaveLength(metricsSeriesMax);
    expect(counts['calls|call,answered,none,1,2xx']).toBe(metricsSeriesMax + 6);
  });

  it.each([
    ['an unknown metric', { 'stolen|x': 1 }],
    ['a label too many', { 'cost|a,b': 1 }],
    ['a label that is none', { 'cost|<script>': 1 }],
    ['no series', { cost: 1 }],
    ['a member of every object', { 'constructor|': 1 }],
    ['a count that falls', { 'cost|a': -1 }],
    ['a count that is none', { 'cost|a': Number.NaN }],
    ['half a count', { 'cost|a': 0.5 }],
  ])('take no %s from elsewhere', (_, counts) => {
    const totals = new Totals();
    totals.merge(counts);
    expect(totals.list()).toEqual({});
  });

  it('that were taken are empty, and count anew', () => {
    const totals = new Totals();
    totals.add('cost|a', 1);
    expect([totals.take(), totals.isEmpty]).toEqual([{ 'cost|a': 1 }, true]);
    totals.add('cost|a', 2);
    expect(totals.list()).toEqual({ 'cost|a': 2 });
  });

  it('know every series that a call can make', () => {
    const made = counted(
      call({
        outcome: 'refused',
        code: 'insufficient_balance',
        requestBytes: 1,
        responseBytes: 1,
        catalogId: 'v.x',
        costMicros: 1,
        signal: 'quota',
        found: 'hit',
        servedVia: 'overflow:monid',
      }),
    );
    const ids = Object.keys(made).map((series) => seriesParts(series)?.id);
    expect([...ids, 'fail_open'].sort()).toEqual(Object.keys(families).sort());
  });
});

describe('the page', () => {
  const sample = (text: string, name: string): string[] =>
    text.split('\n').filter((line) => line.startsWith(name));

  it('has cumulative buckets, a sum in seconds and a count', () => {
    const text = prometheusText(
      counted(call({ latencyMs: 5 }), call({ latencyMs: 8 }), call({ latencyMs: 400_000 })),
    );
    const lines = sample(text, 'weir_call_duration_seconds');
    expect(lines.slice(0, 3)).toEqual([
      'weir_call_duration_seconds_bucket{tier="1",le="0.005"} 1',
      'weir_call_duration_seconds_bucket{tier="1",le="0.01"} 2',
      'weir_call_duration_seconds_bucket{tier="1",le="0.025"} 2',
    ]);
    expect(lines.slice(-4)).toEqual([
      'weir_call_duration_seconds_bucket{tier="1",le="300"} 2',
      'weir_call_duration_seconds_bucket{tier="1",le="+Inf"} 3',
      'weir_call_duration_seconds_sum{tier="1"} 400.013',
      'weir_call_duration_seconds_count{tier="1"} 3',
    ]);
    expect(lines).toHaveLength(bucketLabels.length + 2);
  });

  it('has HELP and TYPE of every metric once, also when nothing was counted', () => {
    const text = prometheusText({});
    const names = Object.values(families)
      .map(({ name }) => name)
      .filter((name) => !name.endsWith('_sum'));
    for (const name of names) {
      expect(sample(text, `# HELP ${name} `)).toHaveLength(1);
      const type = name.endsWith('_seconds') ? 'histogram' : 'counter';
      expect(sample(text, '# TYPE ')).toContain(`# TYPE ${name} ${type}`);
    }
    expect(sample(text, 'weir_request_bytes_total')).toEqual(['weir_request_bytes_total 0']);
    expect(text.endsWith('\n')).toBe(true);
  });

  it('is what the text format 0.0.4 allows, line by line', () => {
    const text = prometheusText(
      counted(
        call({ tier: 4, catalogId: 'vendor.x', costMicros: 5, signal: 'burst', requestBytes: 3 }),
        call({ outcome: 'refused', code: 'insufficient_balance', status: 402, tier: null }),
      ),
    );
    const line =
      /^(?:# (?:HELP|TYPE) weir_\w+ .+|weir_\w+(?:\{\w+="[\w.:+-]+"(?:,\w+="[\w.:+-]+")*\})? \d+(?:\.\d+)?)$/;
    for (const one of text.trimEnd().split('\n')) expect(one).toMatch(line);
    expect(sample(text, 'weir_cost')).toEqual(['weir_cost_micro_usd_total{provider="vendor"} 5']);
    expect(sample(text, 'weir_capacity_signals_total')).toEqual([
      'weir_capacity_signals_total{provider="vendor",kind="burst"} 1',
    ]);
  });
});
