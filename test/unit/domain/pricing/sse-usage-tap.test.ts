import { describe, expect, it } from 'vitest';
import { sseEventBytesMax } from '../../../../src/base/limits-money';
import type { Seen, UsagePlan } from '../../../../src/domain/pricing/meters';
import { usagePlan } from '../../../../src/domain/pricing/meters';
import { SseUsageTap } from '../../../../src/domain/pricing/sse-usage-tap';
import { chatCost, messagesCost, settled } from './prices';

const encoder = new TextEncoder();

const plan: UsagePlan = {
  readings: [
    { name: 'n', paths: ['n'], keep: 'last' },
    { name: 'most', paths: ['most'], keep: 'max' },
    { name: 'sum', paths: ['part.sum'], keep: 'sum' },
  ],
  ends: [
    { kind: 'data', text: '[DONE]' },
    { kind: 'event', name: 'message_stop' },
  ],
};

const shown = (seen: Seen | undefined): number | string | undefined =>
  seen === undefined || seen === 'malformed' ? seen : Number(seen.digits) / 10 ** seen.scale;

function tapped(stream: string | Uint8Array, step = Number.POSITIVE_INFINITY, read = plan) {
  const bytes = typeof stream === 'string' ? encoder.encode(stream) : stream;
  const tap = new SseUsageTap(read);
  for (let at = 0; at < bytes.length; at += step) tap.push(bytes.subarray(at, at + step));
  tap.end();
  const seen = Object.fromEntries([...tap.usage().seen].map(([name, it]) => [name, shown(it)]));
  return { seen, unread: tap.unreadEvents, ended: tap.hasEnded };
}

const sees = (stream: string | Uint8Array, step?: number) => tapped(stream, step).seen;

describe('SseUsageTap', () => {
  it.each([
    ['an event', 'data: {"n":1}\n\n', { n: 1 }],
    ['no space behind the colon', 'data:{"n":1}\n\n', { n: 1 }],
    ['only one space is taken', 'data:  {"n":1}\n\n', { n: 1 }],
    ['CRLF', 'data: {"n":1}\r\n\r\n', { n: 1 }],
    ['CR', 'data: {"n":1}\r\rdata: {"n":2}\r\r', { n: 2 }],
    ['mixed line ends', 'data: {"n":1}\r\n\ndata: {"n":2}\r\r\n', { n: 2 }],
    ['no blank line at the end', 'data: {"n":1}\n\ndata: {"n":2}', { n: 2 }],
    ['a line end but no blank line', 'data: {"n":2}\n', { n: 2 }],
    ['data on several lines', 'data: {\ndata: "n"\ndata: :3}\n\n', { n: 3 }],
    ['two events on several lines', 'data: {\ndata: "n":3}\n\ndata: {\ndata: "n":4}\n\n', { n: 4 }],
    ['a line without a value in between', 'data: {"n":\ndata\ndata: 4}\n\n', { n: 4 }],
    ['fields around it', 'event: x\nid: 1\ndata: {"n":1}\nretry: 3\n\n', { n: 1 }],
    ['comments', ':\n: keep alive\n\ndata: {"n":1}\n:x\n\n', { n: 1 }],
    ['a byte order mark', '\ufeffdata: {"n":1}\n\n', { n: 1 }],
    ['a second one makes another field', '\ufeff\ufeffdata: {"n":1}\n\n', {}],
    ['a byte order mark later', 'data: {"n":1}\n\n\ufeffdata: {"n":2}\n\n', { n: 1 }],
    ['lines are not joined into one number', 'data: {"n":1\ndata: 2}\n\n', {}],
    ['the last value stays', 'data: {"n":1}\n\ndata: {"n":9}\n\ndata: {"n":2}\n\n', { n: 2 }],
    ['the largest', 'data: {"most":1}\n\ndata: {"most":9}\n\ndata: {"most":2}\n\n', { most: 9 }],
    ['the sum', 'data: {"part":{"sum":0.1}}\n\ndata: {"part":{"sum":0.2}}\n\n', { sum: 0.3 }],
    ['null is absent', 'data: {"n":1}\n\ndata: {"n":null}\n\n', { n: 1 }],
    ['no number is malformed', 'data: {"n":1}\n\ndata: {"n":"x"}\n\n', { n: 'malformed' }],
    ['other names', 'data: {"nn":1,"m":"n","x":{"n":2}}\n\n', {}],
    ['a name inside a text', 'data: {"text":"{\\"n\\":5}"}\n\n', {}],
    ['a field in upper case', 'DATA: {"n":1}\n\n', {}],
    ['a field that starts alike', 'data2: {"n":1}\ndatas\nda\n\n', {}],
    ['a field with a space in front', ' data: {"n":1}\n\n', {}],
    ['nothing', '', {}],
    ['blank lines only', '\n\r\n\r\r\n', {}],
  ])('%s', (_name, stream, seen) => {
    expect(sees(stream)).toEqual(seen);
    expect(sees(stream, 1)).toEqual(seen);
    expect(sees(stream, 2)).toEqual(seen);
    expect(sees(stream, 7)).toEqual(seen);
  });

  it.each([
    ['data: [DONE]\n\n', true],
    ['data: [DONE]', true],
    ['data:[DONE]\r\r', true],
    ['event: message_stop\ndata: {"type":"message_stop"}\n\n', true],
    ['event: message_stop\n\n', true],
    ['event: message_stop\nevent: other\ndata: {}\n\n', false],
    ['data: [DONE] \n\n', false],
    ['data: "[DONE]"\n\n', false],
    ['data: [DONE]\ndata: x\n\n', false],
    ['data: [DO\ndata: NE]\n\n', false],
    [': [DONE]\n\n', false],
    ['event: message_stopped\ndata: x\n\n', false],
    ['event: [DONE]\ndata: message_stop\n\n', false],
    ['data: {"n":1}\n\n', false],
  ])('%j ends the stream in good order: %s', (stream, ended) => {
    for (const step of [1, 3, 1_000]) expect(tapped(stream, step).ended).toBe(ended);
  });

  it.each([
    ['a name that JSON writes with an escape', '["a\\"b"]', 'data: {"a\\"b":5}\n\n'],
    ['a name of other letters', '["preço"]', 'data: {"pre\\u00e7o":5}\n\n'],
    ['no name at all', '[0]', 'data: [5]\n\n'],
  ])('a reading by %s misses no event', (_name, path, stream) => {
    const read: UsagePlan = { readings: [{ name: 'n', paths: [path], keep: 'last' }], ends: [] };
    expect(tapped(stream, undefined, read).seen).toEqual({ n: 5 });
  });

  it('two events that cannot be read are two', () => {
    const stream = 'data: {"n":2\n\ndata: {"n":3\n\n';
    expect(tapped(stream).unread).toBe(2);
  });

  it('usage is partial from the first event on that passed unread: what it said may be missing', () => {
    const tap = new SseUsageTap(plan);
    tap.push(encoder.encode('data: {"n":1}\n\n'));
    expect(tap.usage().isPartial).toBe(false);
    tap.push(encoder.encode('data: {"n":2\n\n'));
    expect(tap.usage().isPartial).toBe(true);
  });

  it('an event that names a reading and is no JSON is counted, and the stream goes on', () => {
    const stream = 'data: {"n":1}\n\ndata: {"n":2\n\ndata: {"most":3}\n\n';
    expect(tapped(stream)).toEqual({ seen: { n: 1, most: 3 }, unread: 1, ended: false });
    const wrong = Uint8Array.of(...encoder.encode('data: {"n":1,"x":"'), 0xff, 0x22, 0x7d, 0x0a);
    expect(tapped(wrong)).toMatchObject({ seen: {}, unread: 1 });
    expect(tapped('data: not json\n\n').unread).toBe(0);
  });

  const spread = (bytes: number): string => `data: {"n":7,"x":"${'y'.repeat(bytes)}"}`;
  const roomy = sseEventBytesMax - spread(0).length;
  /** An event on 1,001 lines whose data is `over` bytes longer than allowed. */
  const lines = (over: number): string => {
    const list = `data: {"x":[\n${`data: "${'y'.repeat(996)}",\n`.repeat(999)}`;
    const bytes = list.replaceAll('data: ', '').length + '0],"n":7}'.length;
    return `${list}data: 0],${' '.repeat(sseEventBytesMax - bytes + over)}"n":7}`;
  };

  it.each([
    ['a line as long as allowed', `${spread(roomy)}\n\n`, { n: 7 }, 0],
    ['a line one byte longer', `${spread(roomy + 1)}\n\n`, {}, 1],
    ['the same at the end', spread(roomy + 1), {}, 1],
    ['many lines, together as long as allowed', `${lines(0)}\n\n`, { n: 7 }, 0],
    ['many lines, together one byte longer', `${lines(1)}\n\n`, {}, 1],
    [
      'lines that would make sense without the one that is too much',
      `data: {"n":7\ndata: ${',"x":0'.padEnd(sseEventBytesMax - 6)}\ndata: }\n\n`,
      {},
      1,
    ],
  ])('%s', (_name, stream, seen, unread) => {
    for (const step of [Number.POSITIVE_INFINITY, 65_536, 4_099]) {
      const after = tapped(
        `${stream}${stream.endsWith('\n') ? '' : '\n\n'}data: {"most":1}\n\n`,
        step,
      );
      expect(after).toEqual({ seen: { ...seen, most: 1 }, unread, ended: false });
    }
  });

  it('neither changes nor keeps a chunk', () => {
    const chunk = encoder.encode('data: {"n":5}\n\ndata: {"n":');
    const before = chunk.slice();
    const tap = new SseUsageTap(plan);
    tap.push(chunk);
    expect(chunk).toEqual(before);
    chunk.fill(0x20);
    tap.push(encoder.encode('6}\ndata:\n'));
    tap.end();
    expect(shown(tap.usage().seen.get('n'))).toBe(6);
  });

  it.each([
    ['the end of a line', 'data: {"n":5}\n', '\n', 5],
    ['the end of an event', 'data: {"n":5}\n\n', 'data: {\ndata: "n":6}\n\n', 6],
  ])('keeps no chunk that ends with %s', (_, first, second, n) => {
    const chunk = encoder.encode(first);
    const tap = new SseUsageTap(plan);
    tap.push(chunk);
    chunk.fill(0x20);
    tap.push(encoder.encode(second));
    expect(shown(tap.usage().seen.get('n'))).toBe(n);
  });

  it('a snapshot does not change, and a second end says nothing new', () => {
    const tap = new SseUsageTap(plan);
    tap.push(encoder.encode('data: {"part":{"sum":1}}\n\ndata: {"part":{"sum":2}}'));
    const early = tap.usage();
    tap.end();
    tap.end();
    expect(shown(early.seen.get('sum'))).toBe(1);
    expect(shown(tap.usage().seen.get('sum'))).toBe(3);
  });

  it('a name that cannot be looked for makes every event be read', () => {
    const odd: UsagePlan = {
      readings: [{ name: 'n', paths: ['["é"]', '[0][1]'], keep: 'last' }],
      ends: [],
    };
    expect(tapped('data: {"\\u00e9":3}\n\n', 5, odd).seen).toEqual({ n: 3 });
    expect(tapped('data: [[0,4]]\n\n', 5, odd).seen).toEqual({ n: 4 });
  });

  it('reads a chat stream: usage null in every event but the last before [DONE]', () => {
    const delta = 'data: {"choices":[{"delta":{"content":"é😀"}}],"usage":null}\n\n';
    const last =
      'data: {"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":12,' +
      '"prompt_tokens_details":{"cached_tokens":4}}}\n\n';
    const stream = `${delta.repeat(3)}${last}data: [DONE]\n\n`;
    for (const step of [1, 10, 10_000]) {
      expect(tapped(stream, step, usagePlan(chatCost, settled()))).toEqual({
        seen: { input: 9, cached: 4, output: 12 },
        unread: 0,
        ended: true,
      });
    }
  });

  it('reads a message stream: input at the start, a running output, a named end', () => {
    const stream = [
      'event: message_start\ndata: {"message":{"usage":{"input_tokens":25,"output_tokens":1}}}\n\n',
      'event: ping\ndata: {"type":"ping"}\n\n',
      'event: message_delta\ndata: {"usage":{"output_tokens":8}}\n\n',
      'event: message_delta\ndata: {"usage":{"output_tokens":15}}\n\n',
      'event: message_stop\ndata: {"type":"message_stop"}\n\n',
    ].join('');
    for (const step of [1, 10, 10_000]) {
      expect(tapped(stream, step, usagePlan(messagesCost, settled()))).toEqual({
        seen: { input: 25, output: 15 },
        unread: 0,
        ended: true,
      });
    }
  });
});
