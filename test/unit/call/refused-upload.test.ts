/**
 * A refusal and the upload that it refuses: when the body is taken first, and when the waiting ends.
 */
import { afterEach, describe, expect, it, vi } from 'vitest';
import {
  refusedBodyStallMs,
  refusedBodyWaitMs,
  requestBodyBytesMax,
  unreadBodyBytesMax,
} from '../../../src/base/limits';
import { refusalOf } from '../../../src/call/refused-upload';
import type { Refusal } from '../../../src/domain/refusal';

const no: Refusal = { code: 'internal.error' };
const declared = String(unreadBodyBytesMax + 1);

/** An upload under the test's hands. */
function upload(headers: Record<string, string> = { 'content-length': declared }) {
  const { readable, writable } = new IdentityTransformStream();
  const request = new Request('http://gw/', { method: 'POST', headers, body: readable });
  return { request, writer: writable.getWriter() };
}

/** How a promise stands, once everything that is ready has run. */
async function settled(promise: unknown): Promise<boolean> {
  let is = false;
  void Promise.resolve(promise).then(() => {
    is = true;
  });
  for (let i = 0; i < 50; i++) await Promise.resolve();
  return is;
}

afterEach(() => {
  vi.useRealTimers();
});

describe('a refusal', () => {
  it.each([
    ['of a body that the runtime takes', { 'content-length': String(unreadBodyBytesMax) }],
    ['of a body that is too large', { 'content-length': String(requestBodyBytesMax + 1) }],
    [
      'of a body that waits for 100 Continue',
      { 'content-length': declared, expect: '100-continue' },
    ],
    ['of a request without a frame', {}],
  ])('%s goes out at once', (_, headers) => {
    const { request } = upload(headers as Record<string, string>);
    expect(refusalOf(request, no, null)).toBeInstanceOf(Response);
    expect(request.bodyUsed).toBe(false);
  });

  it('of a body that a stage has begun to read goes out at once', () => {
    const { request } = upload();
    request.body?.getReader();
    expect(refusalOf(request, no, null)).toBeInstanceOf(Response);
  });

  it.each([{ 'content-length': declared }, { 'transfer-encoding': 'chunked' }])(
    'of an upload with %o goes out when it has ended',
    async (headers) => {
      const { request, writer } = upload(headers as Record<string, string>);
      const answer = refusalOf(request, no, 'call_1');
      await writer.write(new Uint8Array(unreadBodyBytesMax + 1));
      expect(await settled(answer)).toBe(false);
      await writer.close();
      const response = await answer;
      expect(response.status).toBe(500);
      expect(response.headers.get('x-weir-call-id')).toBe('call_1');
    },
  );

  it('of an upload that breaks is still given', async () => {
    const { request, writer } = upload();
    const answer = refusalOf(request, no, null);
    await writer.abort(new Error('gone'));
    expect((await answer).status).toBe(500);
  });

  it('of a body that cannot be read as bytes is still given', async () => {
    const headers = new Headers({ 'content-length': declared });
    const request = { headers, bodyUsed: false, body: new ReadableStream() };
    expect((await refusalOf(request as unknown as Request, no, null)).status).toBe(500);
  });

  it('of an upload that falls silent goes out', async () => {
    vi.useFakeTimers();
    const { request, writer } = upload();
    const answer = refusalOf(request, no, null);
    await writer.write(new Uint8Array(10));
    vi.advanceTimersByTime(refusedBodyStallMs);
    expect(await settled(answer)).toBe(false);
    vi.advanceTimersByTime(refusedBodyStallMs);
    expect((await answer).status).toBe(500);
  });

  it('of an upload that only drips goes out in its middle', async () => {
    vi.useFakeTimers();
    const { request, writer } = upload();
    const answer = refusalOf(request, no, null);
    for (let ms = refusedBodyStallMs; ms < refusedBodyWaitMs; ms += refusedBodyStallMs) {
      await writer.write(new Uint8Array(1));
      vi.advanceTimersByTime(refusedBodyStallMs);
      expect(await settled(answer)).toBe(false);
    }
    await writer.write(new Uint8Array(1));
    vi.advanceTimersByTime(refusedBodyStallMs);
    expect((await answer).status).toBe(500);
  });
});
