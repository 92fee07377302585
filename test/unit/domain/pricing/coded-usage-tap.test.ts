import { describe, expect, it } from 'vitest';
import { errorBodyDecodedBytesMax } from '../../../../src/base/limits';
import { meteredAnswerBytesMax } from '../../../../src/base/limits-money';
import { CodedUsageTap } from '../../../../src/domain/pricing/coded-usage-tap';
import { wholeDecimal } from '../../../../src/domain/pricing/decimal';
import type { UsagePlan } from '../../../../src/domain/pricing/meters';

const plan: UsagePlan = {
  readings: [{ name: 'n', paths: ['usage.n'], keep: 'last' }],
  ends: [{ kind: 'data', text: '[DONE]' }],
};
const text = 'data: {"usage":{"n":7}}\n\ndata: [DONE]\n\n';
const stream = new TextEncoder().encode(text);

/** In these codings, one after the other. */
async function coded(bytes: Uint8Array, ...codings: ('gzip' | 'deflate')[]) {
  let body = new Blob([bytes.slice()]).stream();
  for (const coding of codings) body = body.pipeThrough(new CompressionStream(coding));
  return new Uint8Array(await new Response(body).arrayBuffer());
}

function tapped(coding: string, bytes: Uint8Array, step = 1_000_000) {
  const tap = new CodedUsageTap(plan, coding);
  for (let at = 0; at < bytes.length; at += step) tap.push(bytes.slice(at, at + step));
  tap.end();
  tap.end();
  const { seen, isPartial } = tap.usage();
  return { n: seen.get('n'), isPartial, hasEnded: tap.hasEnded };
}

describe('a coded stream', () => {
  const told = { n: wholeDecimal(7), isPartial: false, hasEnded: true };
  const silent = { n: undefined, isPartial: true, hasEnded: false };

  it.each([1, 7, 1_000])(
    'says the same in chunks of %d bytes, whatever its coding',
    async (step) => {
      expect(tapped('gzip', await coded(stream, 'gzip'), step)).toEqual(told);
      expect(tapped('gzip, deflate', await coded(stream, 'gzip', 'deflate'), step)).toEqual(told);
    },
  );

  it('says nothing before its end: no chunk is kept but in a copy', async () => {
    const bytes = await coded(stream, 'gzip');
    const tap = new CodedUsageTap(plan, 'gzip');
    tap.push(bytes);
    bytes.fill(0);
    expect([tap.usage().seen.size, tap.hasEnded]).toEqual([0, false]);
    tap.end();
    expect(tap.usage().seen.get('n')).toEqual(wholeDecimal(7));
  });

  it('that breaks off, or is in no coding that we know, may have said more', async () => {
    expect(tapped('gzip', (await coded(stream, 'gzip')).subarray(0, -4))).toEqual(silent);
    expect(tapped('gzip', stream)).toEqual(silent);
    expect(tapped('x-own', stream)).toEqual(silent);
  });

  it('is kept and decoded within bounds', async () => {
    const noise = new Uint8Array(meteredAnswerBytesMax + 1);
    expect(tapped('gzip', noise)).toEqual(silent);
    const bomb = new Uint8Array(errorBodyDecodedBytesMax + 1).fill(0x0a);
    expect(tapped('gzip', await coded(bomb, 'gzip'))).toEqual(silent);
  });
});
