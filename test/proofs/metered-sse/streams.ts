/**
 * The streams of the metered-sse proof: what an origin sends, byte for byte, and what it costs.
 * Promises: each has exactly one event with the usage that settles it, told apart from what comes
 * before and after; all cost the same, so that a row can ask for one charge.
 * Called by ../metered-sse.ts.
 */

/** One stream. `usage` is the event that is cut at every byte; micro-USD. */
export interface StreamShape {
  readonly name: string;
  /** Which priced operation it belongs to: the catalog endpoint's name. */
  readonly endpoint: 'chat' | 'messages';
  readonly before: Buffer;
  readonly usage: Buffer;
  readonly after: Buffer;
}

/** 17 tokens in at 1, 29 out at 2 micro-USD each. */
export const streamChargeMicros = 17 + 2 * 29;

const bytes = (text: string): Buffer => Buffer.from(text, 'utf8');

/** An event of the chat operation; `eol` is the stream's line end. */
const data = (text: string, eol = '\n'): string => `data: ${text}${eol}${eol}`;
const chatUsage = '{"choices":[],"usage":{"prompt_tokens":17,"completion_tokens":29}}';
const delta = (text: string): string =>
  `{"choices":[{"delta":{"content":"${text}"}}],"usage":null}`;

const chat = (name: string, before: string, usage: string, after: string): StreamShape => ({
  name,
  endpoint: 'chat',
  before: bytes(before),
  usage: bytes(usage),
  after: bytes(after),
});

/** The vendor's message stream: usage in two events, names on a line of their own. */
const named = (name: string, text: string, eol = '\n'): string =>
  `event: ${name}${eol}data: ${text}${eol}${eol}`;
const started =
  '{"type":"message_start","message":{"usage":{"input_tokens":17,"output_tokens":1}}}';
const stopping = '{"type":"message_delta","delta":{},"usage":{"output_tokens":29}}';

/** Every stream whose usage event is cut. */
export const streams: readonly StreamShape[] = [
  chat('LF, [DONE]', data(delta('a')), data(chatUsage), data('[DONE]')),
  chat('CRLF', data(delta('a'), '\r\n'), data(chatUsage, '\r\n'), data('[DONE]', '\r\n')),
  chat('CR alone', data(delta('a'), '\r'), data(chatUsage, '\r'), data('[DONE]', '\r')),
  chat(
    'multi-byte text around and inside the event',
    data(delta('é漢😀')),
    data(`{"note":"é漢😀","usage":{"prompt_tokens":17,"completion_tokens":29}}`),
    data(delta('😀')) + data('[DONE]'),
  ),
  chat(
    'usage over two data lines, comment and id between',
    `\ufeff: hello\nretry: 10\n\n${data(delta('a'))}`,
    'id: 7\ndata: {"usage":{"prompt_tokens":17,\n: ping\ndata:"completion_tokens":29}}\n\n',
    data('[DONE]'),
  ),
  chat(
    'CRLF, usage over two data lines',
    data(delta('a'), '\r\n'),
    'data: {"usage":{"prompt_tokens":17,\r\ndata: "completion_tokens":29}}\r\n\r\n',
    data('[DONE]', '\r\n'),
  ),
  chat('no final blank line, no [DONE]', data(delta('a')), `data: ${chatUsage}`, ''),
  {
    name: 'running totals in two events, message_stop',
    endpoint: 'messages',
    before: bytes(named('message_start', started) + named('ping', '{"type":"ping"}')),
    usage: bytes(named('message_delta', stopping)),
    after: bytes(named('message_stop', '{"type":"message_stop"}')),
  },
];

/** The plainest of them. */
export const [plain] = streams as [StreamShape];

/** All bytes of a stream. */
export const wholeOf = ({ before, usage, after }: StreamShape): Buffer =>
  Buffer.concat([before, usage, after]);
