/**
 * What the starter catalog makes of answers in the shape that its vendors document: every number that a vendor bills by is read, once.
 * In Node: the files of `catalog/` are read as `npm run catalog` reads them.
 */
import { describe, expect, it } from 'vitest';
import { readCatalog } from '../../scripts/lib/catalog/read.ts';
import { platformFault } from '../../src/domain/catalog/platform-request.ts';
import { charge } from '../../src/domain/pricing/charge.ts';
import { estimate } from '../../src/domain/pricing/estimate.ts';
import { type Usage, usageOf, usagePlan } from '../../src/domain/pricing/meters.ts';
import { SseUsageTap } from '../../src/domain/pricing/sse-usage-tap.ts';
import { queryPairs } from '../../src/domain/relay/query.ts';

const policy = { allow: { pairs: new Set<string>() }, gatewayHosts: [], httpsOnly: true };
const starter = readCatalog('catalog', policy);
const rows = starter.ok ? starter.files.flatMap((file) => file.endpoints) : [];

interface Asked {
  readonly body: Readonly<Record<string, unknown>>;
  readonly query?: string;
}

function rowOf(id: string) {
  const row = rows.find((each) => each.id === id);
  if (row === undefined) throw new Error(`no row ${id}`);
  return row;
}

/** Why the platform account does not pay for a request; null: it does. */
const refusal = (id: string, { body, query = '' }: Asked) =>
  platformFault(rowOf(id).platformRequest, { query, body: { kind: 'json', value: body } });

/** What an answer costs, micro-USD, and where that comes from. A text is an event stream. */
function costs(id: string, asked: Asked, answer: object | string) {
  const { cost, settlement } = rowOf(id);
  const facts = {
    query: queryPairs(asked.query ?? null),
    body: asked.body,
    bodyBytes: JSON.stringify(asked.body).length,
    ceilingMicros: null,
  };
  const held = estimate(cost, settlement, facts);
  if (held.kind !== 'known') throw new Error(`${id}: ${held.kind}`);
  const plan = usagePlan(cost, settlement);
  const usage = typeof answer === 'string' ? streamed(answer, plan) : usageOf(answer, plan);
  const { price, micros: heldMicros } = held;
  const { micros, source } = charge({
    ...{ price, settlement, status: 200, header: () => null, usage, heldMicros },
  });
  return [micros, source];
}

function streamed(text: string, plan: ReturnType<typeof usagePlan>): Usage {
  const tap = new SseUsageTap(plan);
  tap.push(new TextEncoder().encode(text));
  tap.end();
  return tap.usage();
}

const events = (...all: readonly object[]): string =>
  all.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('');

describe('openai.chat.completions', () => {
  const id = 'openai.chat.completions';
  const chat = { model: 'gpt-4.1', messages: [{ role: 'user', content: 'hi' }] };
  const used = {
    prompt_tokens: 1_000,
    completion_tokens: 10,
    prompt_tokens_details: { cached_tokens: 600 },
  };

  it('takes cached input out of the input', () => {
    expect(costs(id, { body: chat }, { usage: used })).toEqual([800 + 300 + 80, 'usage']);
  });

  it('costs the same as a stream that was asked for its usage', () => {
    const text = `${events({ choices: [{}], usage: null }, { choices: [], usage: used })}data: [DONE]\n\n`;
    const body = { ...chat, stream: true, stream_options: { include_usage: true } };
    expect(refusal(id, { body })).toBeNull();
    expect(costs(id, { body }, text)).toEqual([1_180, 'usage']);
  });

  it.each([
    [{ stream: true }, 'missing'],
    [{ stream: true, stream_options: {} }, 'missing'],
    [{ stream: true, stream_options: { include_usage: false } }, 'value'],
    [{ stream: 'true' }, 'missing'],
    [{ Stream: true }, 'repeated'],
  ])(
    'never runs a stream that will not say what it used, and would cost all that was held: %j',
    (more, kind) => {
      expect(refusal(id, { body: { ...chat, ...more } })).toMatchObject({ kind });
    },
  );

  it.each([[{}], [{ stream: false }]])('asks for nothing where there is no stream: %j', (more) => {
    expect(refusal(id, { body: { ...chat, ...more } })).toBeNull();
  });
});

describe('anthropic.messages', () => {
  const id = 'anthropic.messages';
  const body = { model: 'claude-sonnet-4-5', max_tokens: 1_000, messages: [{}] };
  const written = {
    cache_creation_input_tokens: 1_000,
    cache_creation: { ephemeral_5m_input_tokens: 400, ephemeral_1h_input_tokens: 600 },
  };
  /** 10 in, 400 written for five minutes, 600 for an hour, 2,000 read, 20 out. */
  const writtenMicros = 30 + 1_500 + 3_600 + 600 + 300;
  const used = { input_tokens: 10, ...written, cache_read_input_tokens: 2_000 };

  it('bills what is cached for an hour at its own price, once', () => {
    const usage = { ...used, output_tokens: 20 };
    expect(costs(id, { body }, { usage })).toEqual([writtenMicros, 'usage']);
  });

  it.each([
    ['repeats its totals', { ...used, output_tokens: 20 }],
    [
      'names the total of what was written alone',
      { ...used, cache_creation: undefined, output_tokens: 20 },
    ],
    ['says the output alone', { output_tokens: 20 }],
  ])('costs the same as a stream whose end %s', (_, usage) => {
    const text = events(
      { type: 'message_start', message: { usage: { ...used, output_tokens: 1 } } },
      { type: 'message_delta', delta: {}, usage },
      { type: 'message_stop' },
    );
    expect(costs(id, { body: { ...body, stream: true } }, text)).toEqual([writtenMicros, 'usage']);
  });

  it('bills each search of the web', () => {
    const usage = {
      input_tokens: 10,
      output_tokens: 20,
      server_tool_use: { web_search_requests: 3 },
    };
    expect(costs(id, { body }, { usage })).toEqual([330 + 30_000, 'usage']);
    const text = events(
      { type: 'message_start', message: { usage: { input_tokens: 10, output_tokens: 1 } } },
      { type: 'message_delta', usage },
    );
    expect(costs(id, { body }, text)).toEqual([30_330, 'usage']);
  });
});

describe('gemini.generate_content', () => {
  it.each(['gemini.generate_content', 'gemini.stream_generate_content'])(
    '%s bills thinking as output, and cached input once',
    (id) => {
      const query = 'model=gemini-2.5-pro';
      const usageMetadata = {
        ...{ promptTokenCount: 1_000, cachedContentTokenCount: 400 },
        ...{ candidatesTokenCount: 10, thoughtsTokenCount: 90, totalTokenCount: 1_100 },
      };
      const answer = id.includes('stream') ? events({ usageMetadata }) : { usageMetadata };
      const micros = 750 + 124 + 1_000;
      expect(costs(id, { body: { contents: [{}] }, query }, answer)).toEqual([micros, 'usage']);
    },
  );
});

describe('a success in which the vendor fails', () => {
  const asked = {
    'openai.chat.completions': { body: { model: 'gpt-4.1', messages: [{}] } },
    'anthropic.messages': { body: { model: 'claude-sonnet-4-5', max_tokens: 1_000 } },
    'gemini.stream_generate_content': { body: {}, query: 'model=gemini-2.5-pro' },
  };
  const failure = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } };

  it.each(Object.entries(asked))('%s costs nothing when nothing was metered', (id, it) => {
    expect(costs(id, it, events({ error: null }, failure))).toEqual([0, 'vendor_failed']);
  });

  it('in an answer that is none: openrouter costs nothing either', () => {
    const it = { body: { model: 'x/y', max_tokens: 10 } };
    const answer = { error: { code: 502, message: 'Provider returned error' } };
    expect(costs('openrouter.chat.completions', it, answer)).toEqual([0, 'vendor_failed']);
  });

  it('costs what was metered until then', () => {
    const id = 'anthropic.messages';
    const usage = { input_tokens: 10, output_tokens: 1 };
    const text = events({ type: 'message_start', message: { usage } }, failure);
    expect(costs(id, asked[id], text)).toEqual([45, 'usage']);
  });
});

describe('a long prompt', () => {
  it.each([
    [200_000, 250_000 + 1_000],
    [200_001, 500_003 + 1_500],
  ])('of %d units is priced as one at the vendor: all of the call', (promptTokenCount, micros) => {
    const usageMetadata = { promptTokenCount, candidatesTokenCount: 60, thoughtsTokenCount: 40 };
    const asked = { body: {}, query: 'model=gemini-2.5-pro' };
    expect(costs('gemini.generate_content', asked, { usageMetadata })).toEqual([micros, 'usage']);
  });

  it('counts what came from the cache and went into it', () => {
    const usage = {
      ...{ input_tokens: 1, cache_creation_input_tokens: 100_000 },
      ...{ cache_read_input_tokens: 100_000, output_tokens: 100 },
    };
    const asked = { body: { model: 'claude-sonnet-4-5', max_tokens: 1_000 } };
    const micros = 6 + 750_000 + 60_000 + 2_250;
    expect(costs('anthropic.messages', asked, { usage })).toEqual([micros, 'usage']);
  });
});
