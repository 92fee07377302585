/** A run that goes on: who is believed about its end, and when asking stops. */
import { describe, expect, it } from 'vitest';
import { overflowPollsMax } from '../../../../src/base/limits-capacity';
import { aggregatorNamed, usualAggregators } from '../../../../src/domain/overflow/aggregators';
import type { EnvelopeOutcome, EnvelopeRequest } from '../../../../src/domain/overflow/envelope';
import { runThrough } from '../../../../src/domain/overflow/run';

const request: EnvelopeRequest = {
  method: 'POST',
  url: 'https://a.t/run',
  headers: [],
  body: '{}',
};
type Said = readonly [status: number, body: unknown] | null;
const started: Said = [202, { runId: '01RUN', status: 'RUNNING' }];

/** The answers in their order; the last one repeats. */
async function ran(...said: readonly Said[]): Promise<{ outcome: EnvelopeOutcome; asked: number }> {
  const aggregator = aggregatorNamed(usualAggregators, 'monid');
  if (aggregator === null) throw new Error('there is no such aggregator');
  let asked = 0;
  const outcome = await runThrough(request, {
    aggregator,
    key: 'agg-key',
    ask: async () => {
      const next = said[Math.min(asked, said.length - 1)] ?? null;
      asked += 1;
      if (next === null) return null;
      return { status: next[0], bytes: new TextEncoder().encode(JSON.stringify(next[1])) };
    },
    sleep: async () => undefined,
    signalOf: () => null,
  });
  return { outcome, asked };
}

describe('a run that goes on', () => {
  it.each(['FAILED', 'BLOCKED', 'STOPPED', 'TIMED_OUT'])(
    'and says that it %s is over: nobody asks again, and its cost is known',
    async (status) => {
      const { outcome, asked } = await ran(started, [
        200,
        { runId: '01RUN', status, cost: { value: 0 } },
      ]);
      expect(outcome).toEqual({ kind: 'failed', failure: 'unreachable', costMicros: 0 });
      expect(asked).toBe(2);
    },
  );

  it.each<[string, Said]>([
    ['no answer', null],
    ['a page', [502, 'bad gateway']],
    ['a refusal of the question', [429, { error: { code: 'RATE_LIMITED' } }]],
    ['the end of another run', [200, { runId: '02RUN', status: 'FAILED', cost: { value: 0 } }]],
  ])('is not over by %s: it is asked again', async (_, said) => {
    const end: Said = [
      200,
      { runId: '01RUN', status: 'COMPLETED', providerResponse: { httpStatus: 200 }, output: 1 },
    ];
    const { outcome, asked } = await ran(started, said, end);
    expect([outcome.kind, asked]).toEqual(['served', 3]);
  });

  it('for too long is left alone, with its end unknown', async () => {
    const { outcome, asked } = await ran(started);
    expect([outcome.kind, asked]).toEqual(['pending', 1 + overflowPollsMax]);
  });
});
