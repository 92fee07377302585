/** Prices of invented vendors, shaped like the best-known ones. Used by the tests of this folder. */
import type { Cost, Meter, Settlement } from '../../../../src/domain/pricing/price';
import type { RequestFacts } from '../../../../src/domain/pricing/request-facts';
import { queryPairs } from '../../../../src/domain/relay/query';

export const meter = (name: string, paths: readonly string[], more?: Partial<Meter>): Meter => ({
  name,
  paths,
  keep: 'last',
  includes: [],
  isRequired: false,
  reserve: [],
  ...more,
});

/** Chat completions: usage in the last event before `[DONE]`, cached input within input. */
export const chatCost: Extract<Cost, { kind: 'usage' }> = {
  kind: 'usage',
  meters: [
    meter('input', ['usage.prompt_tokens'], {
      isRequired: true,
      includes: ['cached'],
      reserve: [{ kind: 'body_bytes', bytesPerUnit: 3 }],
    }),
    meter('cached', ['usage.prompt_tokens_details.cached_tokens']),
    meter('output', ['usage.completion_tokens'], {
      isRequired: true,
      reserve: [
        { kind: 'request', in: 'body', at: 'max_tokens', default: 1_000, max: 4_000 },
        { kind: 'request', in: 'body', at: 'n', default: 1, max: 8 },
      ],
    }),
  ],
  prices: [
    {
      when: [{ in: 'body', at: 'model', oneOf: ['big'] }],
      perMillionMicros: { input: 2_500_000, cached: 1_250_000, output: 10_000_000 },
    },
    {
      when: [{ in: 'body', at: 'model', oneOf: ['small', 'tiny'] }],
      perMillionMicros: { input: 150_000, cached: 75_000, output: 600_000 },
    },
  ],
  ends: [{ kind: 'data', text: '[DONE]' }],
};

/** Messages: input in the first event, running output in later ones, a named last event. */
export const messagesCost: Extract<Cost, { kind: 'usage' }> = {
  kind: 'usage',
  meters: [
    meter('input', ['usage.input_tokens', 'message.usage.input_tokens'], { isRequired: true }),
    meter('output', ['usage.output_tokens', 'message.usage.output_tokens'], {
      isRequired: true,
      reserve: [{ kind: 'fixed', units: 100 }],
    }),
  ],
  prices: [{ when: [], perMillionMicros: { input: 3_000_000, output: 15_000_000 } }],
  ends: [{ kind: 'event', name: 'message_stop' }],
};

export const perCall = (priceMicros: number): Extract<Cost, { kind: 'per_call' }> => ({
  kind: 'per_call',
  prices: [{ when: [], priceMicros }],
});

export const settled = (more?: Partial<Settlement>): Settlement => ({
  basis: 'response',
  reported: null,
  fallbackMicros: null,
  reserveMicros: null,
  ...more,
});

export const asking = (
  more: Partial<Omit<RequestFacts, 'query'>> & { query?: string } = {},
): RequestFacts => ({
  body: undefined,
  bodyBytes: 0,
  ceilingMicros: null,
  ...more,
  query: queryPairs(more.query ?? null),
});
