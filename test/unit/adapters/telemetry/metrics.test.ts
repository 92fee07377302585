/** An isolate's counts on their way to the hub, and the sum of all shards, with scripted shards and a clock of the test. */
import { describe, expect, it } from 'vitest';
import { HubReader, type HubShard, IsolateTally } from '../../../../src/adapters/telemetry/metrics';
import {
  metricsAnswerWaitMs,
  metricsReportMs,
  metricsShardsMax,
} from '../../../../src/base/limits-capacity';
import type { Counts } from '../../../../src/domain/metrics/series';
import { callRow } from './rows';

const calls = 'calls|call,answered,none,none,2xx';

type Shard = 'takes' | 'fails' | 'fails_once' | 'hangs' | 'is_gone';

/** Four shards of which one behaves as scripted; a wait ends when `late` is called. */
function world(first: Shard = 'takes') {
  const state = { shard: first };
  const reports: { shard: number; isolate: string; seq: number; counts: Counts }[] = [];
  const waits: { ms: number; act: () => void }[] = [];
  let asked = 0;
  const answer = <T>(value: () => T): Promise<T> => {
    asked += 1;
    const { shard } = state;
    if (shard === 'hangs') return new Promise(() => undefined);
    if (shard === 'fails' || (shard === 'fails_once' && asked === 1))
      return Promise.reject(new Error('no'));
    return Promise.resolve(value());
  };
  const parts = {
    shardOf: (n: number): HubShard => {
      if (state.shard === 'is_gone') throw new TypeError('there is no binding');
      return {
        add: (isolate, seq, counts) =>
          answer(() => void reports.push({ shard: n, isolate, seq, counts })),
        read: () => answer(() => ({ [calls]: n + 1 })),
      };
    },
    time: {
      nowMs: () => 0,
      start(ms: number, act: () => void) {
        const wait = { ms, act };
        waits.push(wait);
        return () => void waits.splice(waits.indexOf(wait), 1);
      },
    },
  };
  const tally = (random = 0) =>
    new IsolateTally({ ...parts, isRefusal: () => true, isolate: 'i', random });
  const late = (): void => {
    for (const { act } of waits.splice(0)) act();
  };
  return { state, reports, waits, parts, tally, late, asked: () => asked };
}

describe('the tally of an isolate', () => {
  it('sends what was counted once, numbered', async () => {
    const { reports, tally } = world();
    const counts = tally();
    counts.add([callRow(1), callRow(2)]);
    await counts.report(0, false);
    await counts.report(metricsReportMs, false);
    counts.add([callRow(3)]);
    await counts.report(2 * metricsReportMs, false);
    expect(reports.map(({ seq, counts: sent }) => [seq, sent[calls]])).toEqual([
      [1, 2],
      [2, 1],
    ]);
    expect(counts.isWaiting).toBe(false);
  });

  it('waits metricsReportMs between two reports, unless it is the last chance', async () => {
    const { reports, tally } = world();
    const counts = tally();
    counts.add([callRow(1)]);
    await counts.report(0, false);
    counts.add([callRow(2)]);
    await counts.report(metricsReportMs - 1, false);
    expect([reports.length, counts.isWaiting]).toEqual([1, true]);
    await counts.report(metricsReportMs - 1, true);
    expect([reports.length, counts.isWaiting]).toEqual([2, false]);
  });

  it.each(Array.from({ length: metricsShardsMax }, (_, n) => n))(
    'goes to one shard for its life: %i',
    async (shard) => {
      const { reports, tally } = world();
      const counts = tally(shard / metricsShardsMax);
      for (const nowMs of [0, metricsReportMs]) {
        counts.add([callRow(1)]);
        await counts.report(nowMs, false);
      }
      expect(reports.map((report) => report.shard)).toEqual([shard, shard]);
    },
  );

  it('tries once more, under the same number', async () => {
    const { reports, tally, asked } = world('fails_once');
    const counts = tally();
    counts.add([callRow(1)]);
    await counts.report(0, false);
    expect([asked(), reports.map(({ seq }) => seq)]).toEqual([2, [1]]);
  });

  it.each(['fails', 'is_gone', 'hangs'] as const)(
    'is dropped when the hub %s, which the next report says; nothing is thrown',
    async (shard) => {
      const { state, reports, tally, late } = world(shard);
      const counts = tally();
      counts.add([callRow(1)]);
      const reported = counts.report(0, false);
      await Promise.resolve();
      if (shard === 'hangs') late();
      await reported;
      state.shard = 'takes';
      await counts.report(metricsReportMs, false);
      expect(reports.map(({ counts: sent }) => sent)).toEqual([{ 'fail_open|metrics': 1 }]);
    },
  );

  it('waits for an answer no longer than metricsAnswerWaitMs', async () => {
    const { waits, tally, late } = world('hangs');
    const counts = tally();
    counts.add([callRow(1)]);
    const reported = counts.report(0, false);
    await Promise.resolve();
    expect(waits.map(({ ms }) => ms)).toEqual([metricsAnswerWaitMs]);
    late();
    await reported;
  });

  it('counts what did not answer, as often as it did not', async () => {
    const { reports, tally } = world();
    const counts = tally();
    counts.failOpen('capacity_take');
    counts.failOpen('call_rows', 7);
    await counts.report(0, false);
    expect(reports[0]?.counts).toEqual({ 'fail_open|capacity_take': 1, 'fail_open|call_rows': 7 });
  });
});

describe('the totals', () => {
  it('are those of all shards', async () => {
    const { parts, asked } = world();
    expect(await new HubReader(parts).read()).toEqual({ [calls]: 1 + 2 + 3 + 4 });
    expect(asked()).toBe(metricsShardsMax);
  });

  it.each(['fails', 'is_gone', 'hangs'] as const)(
    'are none when a shard %s: a sum without it would have fallen',
    async (shard) => {
      const { parts, late } = world(shard);
      const read = new HubReader(parts).read();
      await Promise.resolve();
      late();
      expect(await read).toBeNull();
    },
  );
});
