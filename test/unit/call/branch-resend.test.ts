/** The one re-send: what is sent again, and what is never. */
import { describe, expect, it } from 'vitest';
import { errorBodyBytesMax } from '../../../src/base/limits';
import { resendWaitMsMax } from '../../../src/base/limits-capacity';
import { mayBeBurst, resend } from '../../../src/call/branch-resend';
import type { AnsweredCall } from '../../../src/call/call';
import type { Hold } from '../../../src/call/custody';
import type { SlotAnswer } from '../../../src/domain/capacity/operations';
import { perCall } from '../domain/pricing/prices';
import { account, answered, catalogCall } from './calls';
import { capacityPorts, NotedCapacity } from './capacity-ports';

const rate = { limit: 1, windowMs: 1_000 };
const burst = (seconds: string | null, body = '{"error":"slow"}') =>
  new Response(body, { status: 429, headers: seconds === null ? {} : { 'retry-after': seconds } });
const hold: Hold = {
  cancel: null,
  wait: (answer) => answer,
  arm: () => undefined,
  armLater: () => undefined,
};

interface Setting {
  readonly call?: Partial<AnsweredCall>;
  readonly second?: Response;
  readonly slot?: SlotAnswer;
  readonly isRated?: 'row' | 'provider';
  readonly provider?: string;
}

async function run(first: Response, setting: Setting = {}) {
  const capacity = new NotedCapacity({ slot: setting.slot ?? null });
  let sends = 0;
  const ports = {
    ...capacityPorts(capacity),
    send: async () => {
      sends += 1;
      return setting.second ?? new Response('well');
    },
  };
  const catalog = catalogCall(
    { cost: perCall(70), ...(setting.isRated === 'row' ? { rate } : {}) },
    { accounts: [account(), account('b')] },
  );
  const { provider } = catalog.entry;
  const slug = setting.provider ?? provider.slug;
  const entry = {
    ...catalog.entry,
    provider: { ...provider, slug, ...(setting.isRated === 'provider' ? { rate } : {}) },
  };
  const call = answered({
    catalog: { ...catalog, entry },
    account: 'b',
    answer: first,
    ...setting.call,
  });
  const result = await resend(call, ports, hold);
  return { result, sends, asked: capacity.asked };
}

describe('a 429 that may be a burst', () => {
  const call = (parts: Partial<AnsweredCall> = {}) =>
    answered({ catalog: catalogCall(), answer: burst('1'), ...parts });

  it('is one to a GET or HEAD without a body on the operator’s account', () => {
    expect(mayBeBurst(call())).toBe(true);
    expect(mayBeBurst(call({ method: 'HEAD' }))).toBe(true);
  });

  it.each([
    ['of a POST', { method: 'POST' }],
    ['of a call with a body', { sentBytes: new Uint8Array(1) }],
    ['of the caller’s own credential', { catalog: catalogCall({}, { tier: 2 }) }],
    ['of an upstream as it is registered', { catalog: null }],
    ['that is a 503', { answer: new Response('', { status: 503 }), status: 503 }],
  ])('is none %s', (_, parts) => {
    expect(mayBeBurst(call(parts))).toBe(false);
  });
});

describe('a burst', () => {
  it('is sent once more after its wait, and says so', async () => {
    const { result, sends, asked } = await run(burst('2'));
    expect([sends, asked]).toEqual([1, [['sleep', 2_000]]]);
    expect(result).toMatchObject({
      value: { status: 200, bytes: null, smoothed: { waitMs: 0, resent: true } },
    });
  });

  it('of resendWaitMsMax is, one second more is not', async () => {
    const seconds = resendWaitMsMax / 1_000;
    expect((await run(burst(String(seconds)))).sends).toBe(1);
    expect((await run(burst(String(seconds + 1)))).sends).toBe(0);
  });

  it.each([
    ['no wait', null],
    ['a wait that is none', 'soon'],
    ['a negative one', '-3'],
  ])('with %s is not', async (_, wait) => {
    const { result, sends } = await run(burst(wait));
    expect(sends).toBe(0);
    expect(result).toMatchObject({ value: { status: 429, bytes: null } });
  });

  it('asks the window after the wait; a full one keeps the first answer, read', async () => {
    const slot = { outcome: 'refused', retryAfterMs: 900 } as const;
    const { result, sends, asked } = await run(burst('1'), { isRated: 'row', slot });
    expect(sends).toBe(0);
    expect(asked).toMatchObject([
      ['sleep', 1_000],
      ['take', 'vendor', { isSpaced: false }],
    ]);
    expect(result.ok && new TextDecoder().decode(result.value.bytes ?? undefined)).toBe(
      '{"error":"slow"}',
    );
  });

  it.each([
    ['row', 'vendor.search#b'],
    ['provider', 'vendor#b'],
  ] as const)(
    'is held against the window of its %s and of the account that answered, as a send of its own',
    async (isRated, bucket) => {
      const slot = { outcome: 'go', account: 'b', waitMs: 0 } as const;
      const { sends, asked } = await run(burst('1'), { isRated, slot });
      const op = { id: 'call_1:again', candidates: [{ account: 'b', bucket }], isSpaced: false };
      expect(asked.at(-1)).toMatchObject(['take', 'vendor', op]);
      expect(sends).toBe(1);
    },
  );

  it('is sent when nobody answers for its window', async () => {
    expect((await run(burst('1'), { isRated: 'row' })).sends).toBe(1);
  });

  it('is not, when its caller left while it waited', async () => {
    const gone = new AbortController();
    gone.abort();
    const request = { signal: gone.signal, body: null } as Request;
    const { result, sends, asked } = await run(burst('1'), { isRated: 'row', call: { request } });
    expect([sends, asked]).toEqual([0, [['sleep', 1_000]]]);
    expect(result).toMatchObject({ value: { status: 429 } });
  });

  it('whose words are a used up quota is not', async () => {
    const { result, sends } = await run(burst('1', '{"message":"Daily quota reached"}'), {
      provider: 'lusha',
    });
    expect(sends).toBe(0);
    expect(result).toMatchObject({ value: { status: 429 } });
  });

  it('whose body is beyond errorBodyBytesMax refuses', async () => {
    const { result } = await run(burst('1', 'x'.repeat(errorBodyBytesMax + 1)));
    expect(result).toMatchObject({ error: { code: 'response_buffer_limit' } });
  });
});
