/** branch replay: the first answer again, its cost with it; only the call id is new. */
import { describe, expect, it } from 'vitest';
import { err } from '../../../src/base/result';
import { replay } from '../../../src/call/branch-replay';
import type { RecordedAnswer } from '../../../src/domain/ledger/operations';
import type { ReplayBodies } from '../../../src/ports/replay-bodies';

const bytes = new TextEncoder().encode('{"a": 1}');
const recorded = (parts: Partial<RecordedAnswer> = {}): RecordedAnswer => ({
  status: 201,
  headers: ['content-type', 'application/json', 'set-cookie', 'a=1', 'set-cookie', 'b=2'],
  body: bytes,
  bodyRef: null,
  bodyBytes: bytes.length,
  costMicros: 70,
  ...parts,
});
const inStore = { body: null, bodyRef: 'records/idm_1' };
const storeOf = (text: string | undefined): ReplayBodies => ({
  put: async () => undefined,
  get: async (ref) =>
    text === undefined ? undefined : (new Response(`${ref}: ${text}`).body ?? undefined),
});

async function replayed(answer: RecordedAnswer, bodies: ReplayBodies | null = null) {
  const result = await replay(answer, 'call_2', bodies);
  if (!result.ok) throw new Error(JSON.stringify(result.error));
  return result.value;
}

describe('a replay', () => {
  it('has the same status, headers, bytes and cost, and says that it is one', async () => {
    const answer = await replayed(recorded());
    expect([answer.status, await answer.text()]).toEqual([201, '{"a": 1}']);
    expect(answer.headers.getSetCookie()).toEqual(['a=1', 'b=2']);
    const ours = ['content-type', 'x-weir-cost-micro', 'x-weir-idempotent-replay'];
    expect(ours.map((name) => answer.headers.get(name))).toEqual([
      'application/json',
      '70',
      'true',
    ]);
  });

  it('has the id of its own call, and one cost', async () => {
    const headers = ['x-weir-call-id', 'call_1', 'x-weir-cost-micro', '70'];
    const answer = await replayed(recorded({ headers }));
    expect(answer.headers.get('x-weir-call-id')).toBe('call_2');
    expect(answer.headers.get('x-weir-cost-micro')).toBe('70');
  });

  it('has coded bytes as they were', async () => {
    const headers = ['content-encoding', 'gzip'];
    const answer = await replayed(recorded({ headers }));
    expect([answer.headers.get('content-encoding'), await answer.bytes()]).toEqual(['gzip', bytes]);
  });

  it.each([204, 205, 304])('of %i has no body', async (status) => {
    const empty = { status, body: new Uint8Array(), bodyBytes: 0 };
    expect((await replayed(recorded(empty))).body).toBeNull();
  });

  it('streams a body that is kept beside its record', async () => {
    const answer = await replayed(recorded(inStore), storeOf('large'));
    expect(await answer.text()).toBe('records/idm_1: large');
  });

  it.each([
    ['is not there now', storeOf(undefined)],
    ['has no store any more', null],
  ])('whose body %s is refused, never a part', async (_, bodies) => {
    const result = await replay(recorded(inStore), 'call_2', bodies);
    expect(result).toEqual(err({ code: 'ledger_unavailable', retryAfterMs: 1_000 }));
  });
});
