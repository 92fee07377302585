/** Event streams of any lines, line ends and chunks, against a reader of the whole text by WHATWG HTML 9.2.6. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { UsagePlan } from '../../src/domain/pricing/meters';
import { SseUsageTap } from '../../src/domain/pricing/sse-usage-tap';

const plan: UsagePlan = {
  readings: [{ name: 'n', paths: ['usage.n'], keep: 'sum' }],
  ends: [
    { kind: 'data', text: '[DONE]' },
    { kind: 'data', text: 'a\nb' },
    { kind: 'event', name: 'stop' },
  ],
};

const lines = fc.constantFrom(
  ...[
    'data',
    'data:',
    'data: ',
    'data:  x',
    'data :x',
    ' data:x',
    'datax:1',
    'DATA: x',
    ':',
    ': c',
  ],
  ...['event', 'event:', 'event: stop', 'event:stop', 'event:  stop', 'event:stop ', 'event: go'],
  ...[
    'id: 1',
    'retry:5',
    '\ufeff',
    '\ufeffdata: [DONE]',
    'data: [DONE]',
    'data: [DONE] ',
    '\0',
    'é',
  ],
  ...['data: a', 'data:b', 'data: {"usage":', 'data:{"n":2}}', 'data: {"usage":{"n":1}}', ''],
  ...['data:{"usage":{"n":3}}', 'data: "usage","n"', 'data: {"usage":{"n":5}', '', ''],
);
const ends = fc.constantFrom('\n', '\r\n', '\r', '\n\n', '\r\r', '\r\n\r\n', '\n\r', '\n\r\n');
const stream = fc
  .tuple(fc.boolean(), fc.array(fc.tuple(lines, ends), { maxLength: 14 }), lines)
  .map(([hasBom, all, last]) => {
    const text = all.map(([line, end]) => line + end).join('');
    return new TextEncoder().encode((hasBom ? '\ufeff' : '') + text + last);
  });

/** What the standard makes of it, but that the last event needs no blank line, and that an event without data may end the stream. */
function readWhole(bytes: Uint8Array): { sum: number; unread: number; hasEnded: boolean } {
  const text = new TextDecoder('utf-8').decode(bytes);
  const read = { sum: 0, unread: 0, hasEnded: false };
  let [data, name]: [string[], string] = [[], ''];
  for (const line of [...text.split(/\r\n|\n|\r/), '']) {
    const [, field = '', value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
    if (field === 'data') data.push(value);
    if (field === 'event') name = value;
    if (line !== '') continue;
    const event = data.join('\n');
    if (name === 'stop' || (data.length > 0 && (event === '[DONE]' || event === 'a\nb')))
      read.hasEnded = true;
    if (event.includes('"n"')) {
      try {
        const document: unknown = JSON.parse(event);
        const usage: unknown = Object(document).usage;
        if (typeof Object(usage).n === 'number') read.sum += Object(usage).n;
      } catch {
        read.unread += 1;
      }
    }
    [data, name] = [[], ''];
  }
  return read;
}

describe('a tapped stream', () => {
  it('says what the standard says, however its bytes are cut', () => {
    fc.assert(
      fc.property(stream, fc.array(fc.nat(12), { minLength: 1, maxLength: 6 }), (bytes, steps) => {
        const tap = new SseUsageTap(plan);
        let at = 0;
        for (let turn = 0; at < bytes.length; turn += 1) {
          const step = turn > 40 ? bytes.length : (steps[turn % steps.length] ?? 1);
          tap.push(bytes.slice(at, at + step));
          at += step;
        }
        tap.end();
        const seen = tap.usage().seen.get('n');
        const sum = seen === undefined || seen === 'malformed' ? 0 : Number(seen.digits);
        const said = { sum, unread: tap.unreadEvents, hasEnded: tap.hasEnded };
        expect(said).toEqual(readWhole(bytes));
      }),
      { numRuns: 1_000 },
    );
  });
});
