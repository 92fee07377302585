/**
 * 10 evidence: which answers are read, what is masked, what is withheld; everything else stays
 * native.
 */
import { describe, expect, it } from 'vitest';
import {
  contentCodingsMax,
  errorBodyBytesMax,
  errorBodyDecodedBytesMax,
} from '../../../src/base/limits';
import { err } from '../../../src/base/result';
import { evidence } from '../../../src/call/10-evidence';
import type { EvidencedCall } from '../../../src/call/call';
import { prepareMask } from '../../../src/domain/credentials/masking';
import type { PreparedCredentials } from '../../../src/ports/credentials';
import { settled as settlement } from '../domain/pricing/prices';
import { brokenBody, catalogCall, noCredentials, scan, settled } from './calls';

const secret = 'sk-vendor-0123456789';
/** Arms nothing: no call is held here. */
const hold = { arm: () => undefined };
const injected = { ...noCredentials, masks: [prepareMask(secret)] };

async function judged(
  body: BodyInit | null,
  init: ResponseInit = {},
  credentials: PreparedCredentials = injected,
): Promise<EvidencedCall> {
  const answer = new Response(body, init);
  const result = await evidence(settled({ answer, credentials }), hold);
  if (!result.ok) throw new Error(JSON.stringify(result.error));
  return result.value;
}

/** The same for a 500 whose body is gzip, so many times. */
async function judgedCoded(text: string, times: number): Promise<EvidencedCall> {
  let body: ReadableStream = new Blob([text]).stream();
  for (let i = 0; i < times; i++) body = body.pipeThrough(new CompressionStream('gzip'));
  const answer = new Response(await new Response(body).arrayBuffer(), {
    status: 500,
    headers: { 'content-encoding': Array(times).fill('gzip').join(', ') },
    encodeBody: 'manual',
  });
  const result = await evidence(settled({ answer, credentials: injected }), hold);
  if (!result.ok) throw new Error(JSON.stringify(result.error));
  return result.value;
}

const textOf = async ({ body }: EvidencedCall): Promise<string> => new Response(body).text();

describe('an answer that stays native', () => {
  it.each([
    ['below 300, whatever it says', `{"echo":"${secret}"}`, { status: 200 }, injected],
    ['an error of a call that injected nothing', 'no', { status: 500 }, noCredentials],
  ])('%s', async (_, body, init, credentials) => {
    const call = await judged(body, init, credentials);
    expect(call.body).toBe(call.answer.body);
    expect(call.answer.bodyUsed).toBe(false);
    expect(call).toMatchObject({
      bodyHeaders: [],
      evidence: null,
      redacted: false,
    });
  });

  it('an error without a body', async () => {
    expect(await judged(null, { status: 500 })).toMatchObject({ body: null, redacted: false });
  });
});

describe('an error body', () => {
  it('without the secret keeps its bytes and leaves evidence', async () => {
    const call = await judged('{"error": "no"}', { status: 400 });
    expect([await textOf(call), call.evidence]).toEqual(['{"error": "no"}', '{"error": "no"}']);
    expect(call.bodyHeaders).toEqual([]);
  });

  it.each(['gzip', 'br', 'zstd', 'deflate', 'gzip, br', 'unknown'])(
    'that is empty has nothing to hide, whatever its coding: %s',
    async (coding) => {
      const headers = { 'content-encoding': coding, location: '/next' };
      const call = await judged('', { status: 302, headers, encodeBody: 'manual' });
      expect(call).toMatchObject({ redacted: false, bodyHeaders: [] });
      expect(await textOf(call)).toBe('');
    },
  );

  it('with the secret is masked, in the answer and in the evidence, with a length that fits', async () => {
    const call = await judged(`bad key ${secret}`, {
      status: 401,
      headers: { etag: '"a"', 'content-encoding': 'identity' },
    });
    expect([await textOf(call), call.evidence]).toEqual(['bad key ***', 'bad key ***']);
    // Nothing that was counted or hashed over the other bytes.
    expect(Object.fromEntries(call.bodyHeaders)).toEqual({
      'content-length': '11',
      'content-encoding': null,
      etag: null,
      'content-md5': null,
      digest: null,
      'content-digest': null,
      'repr-digest': null,
    });
  });

  it.each([
    [500, 1],
    [300, 1],
    [299, 0],
    [200, 0],
  ])(
    'is read by an armed call, whose caller may leave meanwhile; of %i: %i',
    async (status, arms) => {
      let armed = 0;
      const answer = new Response('no', { status });
      await evidence(settled({ answer, credentials: injected }), { arm: () => void armed++ });
      expect(armed).toBe(arms);
    },
  );

  it('with the secret is masked in its place: every other character, and a byte order mark, stays', async () => {
    const call = await judged(`\ufeffclé ${secret} ключ`, { status: 500 });
    const bytes = new Uint8Array(await new Response(call.body).arrayBuffer());
    expect(bytes).toEqual(new TextEncoder().encode('\ufeffclé *** ключ'));
  });

  const latin1 = (text: string) => Uint8Array.from(text, (char) => char.charCodeAt(0));
  const utf16 = (text: string, isBig = false) =>
    Uint8Array.from(
      [...text].flatMap((c) => {
        const [high, low] = [c.charCodeAt(0) >> 8, c.charCodeAt(0) & 255];
        return isBig ? [high, low] : [low, high];
      }),
    );

  it.each([
    ['in UTF-16', utf16(`no ${secret}`)],
    ['in UTF-16 of the other order', utf16(`no ${secret}`, true)],
    ['in UTF-16, one byte off', Uint8Array.from([255, ...utf16(secret)])],
    ['in UTF-16 of the other order, one byte off', Uint8Array.from([1, ...utf16(secret, true)])],
    ['in UTF-32', Uint8Array.from([...secret].flatMap((c) => [c.charCodeAt(0), 0, 0, 0]))],
    ['between bytes that are no UTF-8', latin1(`caf\xe9 ${secret}`)],
  ])('with the secret %s is withheld: it cannot be masked', async (_, body) => {
    expect(await judged(body, { status: 500 })).toMatchObject({ redacted: true, evidence: null });
  });

  it.each([false, true])('with a secret beyond ASCII in UTF-16 (%s) is withheld', async (isBig) => {
    const other = 'пароль-0123456789';
    const masks = [prepareMask(other)];
    const body = utf16(`no ${other}`, isBig);
    expect(await judged(body, { status: 500 }, { ...injected, masks })).toMatchObject({
      redacted: true,
    });
  });

  it.each([
    ['that is no UTF-8', latin1('caf\xe9')],
    ['in UTF-16', utf16('no')],
  ])('without the secret %s keeps its bytes', async (_, body) => {
    const call = await judged(body, { status: 500 });
    expect(new Uint8Array(await new Response(call.body).arrayBuffer())).toEqual(body);
    expect(call).toMatchObject({ redacted: false, bodyHeaders: [] });
  });

  it('with a secret that is no UTF-8 there is masked, and keeps its other bytes', async () => {
    const odd = 'p\xe4ssw\xf6rt-0123456789';
    const masks = [prepareMask(odd)];
    const call = await judged(latin1(`caf\xe9 ${odd}`), { status: 500 }, { ...injected, masks });
    const bytes = new Uint8Array(await new Response(call.body).arrayBuffer());
    expect(bytes).toEqual(latin1('caf\xe9 ***'));
  });

  it.each([1, contentCodingsMax])('in %i codings of gzip is masked as text', async (times) => {
    const call = await judgedCoded(`no ${secret}`, times);
    expect(await textOf(call)).toBe('no ***');
  });

  it.each([
    ['in more codings than contentCodingsMax', 'no', contentCodingsMax + 1],
    [
      'that is above errorBodyDecodedBytesMax once decoded',
      ' '.repeat(errorBodyDecodedBytesMax + 1),
      1,
    ],
  ])('%s is withheld', async (_, text, times) => {
    expect((await judgedCoded(text, times)).redacted).toBe(true);
  });

  it.each([
    ['in a coding that we cannot undo', 'x', { 'content-encoding': 'zstd' }],
    ['that breaks its coding', 'x', { 'content-encoding': 'gzip' }],
    ['above errorBodyBytesMax', new Uint8Array(errorBodyBytesMax + 1), {}],
  ])('%s is withheld', async (_, body, headers) => {
    const answer = new Response(body, { status: 500, headers, encodeBody: 'manual' });
    const result = await evidence(settled({ answer, credentials: injected }), hold);
    expect(result.ok && result.value).toMatchObject({ redacted: true, body: null, evidence: null });
  });

  it('C018 that breaks is no answer', async () => {
    const answer = new Response(brokenBody('{"err'), { status: 500 });
    const result = await evidence(settled({ answer, credentials: injected }), hold);
    expect(result).toEqual(err({ code: 'downstream.error', host: 'api.t' }));
  });
});

describe('the vendor’s own charge', () => {
  const inBody = settlement({
    reported: { in: 'body', at: 'cost', perMillionMicros: 1_000_000, times: null },
  });
  const row = { stripReportedCharge: true, settlement: inBody };
  const text = '{"a": 1.0, "cost": 0.07}';

  /** What a body that was read for its price becomes. */
  async function shown(parts: Parameters<typeof settled>[0], init: ResponseInit = {}) {
    const bytes = new TextEncoder().encode(text);
    const answer = new Response(text, { ...init, encodeBody: 'manual' });
    const call = settled({ catalog: catalogCall(row), answer, bytes, ...parts });
    const result = await evidence(call, hold);
    if (!result.ok) throw new Error(JSON.stringify(result.error));
    return { call: result.value, body: await textOf(result.value), bytes };
  }

  it('is cut out of an answer that was read, which gets a length that fits', async () => {
    const { call, body } = await shown({}, { headers: { etag: '"a"' } });
    expect(body).toBe('{"a": 1.0}');
    expect(Object.fromEntries(call.bodyHeaders)).toMatchObject({
      'content-length': '10',
      etag: null,
    });
  });

  it.each<[string, Parameters<typeof settled>[0], ResponseInit]>([
    ['where the caller wants it', { headers: scan({ keepsReportedCharge: true }) }, {}],
    [
      'where its row says nothing of that',
      { catalog: catalogCall({ ...row, stripReportedCharge: false }) },
      {},
    ],
    ['in a coded body, whose bytes stay', {}, { headers: { 'content-encoding': 'x' } }],
    ['in an error, which no injected credential is in', {}, { status: 404 }],
  ])('stays %s', async (_, parts, init) => {
    const { call, body, bytes } = await shown(parts, init);
    expect([body, call.bodyHeaders]).toEqual([text, []]);
    expect(call.body).toBe(bytes);
  });

  it('is masked with the rest of an error that was read for its price', async () => {
    const bytes = new TextEncoder().encode(`no ${secret}`);
    const answer = new Response('other bytes', { status: 400 });
    const call = settled({ catalog: catalogCall(row), answer, bytes, credentials: injected });
    const result = await evidence(call, hold);
    expect(result.ok && (await textOf(result.value))).toBe('no ***');
  });
});
