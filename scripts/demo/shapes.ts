/**
 * The demo vendor's documents: the smallest OpenAI and Anthropic shapes that their official SDKs
 * accept, whole and streamed.
 * Promises: pure; the answer repeats the caller's last message, so that a client can tell it is its
 * own. Called by vendor.ts.
 */

/** One server-sent event, without its closing blank line. */
export type ServerSentEvent = string;

/** What a chat request says, as far as the demo reads it. */
export interface ChatRequest {
  readonly model: string;
  readonly stream: boolean;
  /** Text of the last message. */
  readonly said: string;
}

/** Reads a chat request; anything missing gets a default, because a demo has no opinions. */
export function readChatRequest(body: string): ChatRequest {
  const document = parse(body);
  const messages = Array.isArray(document.messages) ? document.messages : [];
  const last: unknown = messages.at(-1);
  const content = isRecord(last) ? last.content : undefined;
  return {
    model: typeof document.model === 'string' ? document.model : 'demo-small',
    stream: document.stream === true,
    said: typeof content === 'string' ? content : 'nothing',
  };
}

const wordsOf = (request: ChatRequest): readonly string[] =>
  `You said: ${request.said}`.split(/(?<= )/);

/** `GET /v1/models`. */
export const modelList = {
  object: 'list',
  data: ['demo-small', 'demo-large'].map((id) => ({
    id,
    object: 'model',
    created: 1_767_225_600,
    owned_by: 'demo',
  })),
};

/** A whole chat completion (OpenAI's shape). */
export const chatCompletion = (request: ChatRequest): object => ({
  id: 'chatcmpl-demo',
  object: 'chat.completion',
  created: 1_767_225_600,
  model: request.model,
  choices: [
    {
      index: 0,
      message: { role: 'assistant', content: wordsOf(request).join(''), refusal: null },
      logprobs: null,
      finish_reason: 'stop',
    },
  ],
  usage: usage(request),
});

/** The same as a stream: one chunk per word, then `[DONE]`. */
export function chatCompletionEvents(request: ChatRequest): readonly ServerSentEvent[] {
  const chunk = (delta: object, finishReason: string | null): ServerSentEvent =>
    `data: ${JSON.stringify({
      id: 'chatcmpl-demo',
      object: 'chat.completion.chunk',
      created: 1_767_225_600,
      model: request.model,
      choices: [{ index: 0, delta, finish_reason: finishReason }],
    })}`;
  const words = wordsOf(request).map((content) => chunk({ content }, null));
  return [
    chunk({ role: 'assistant', content: '' }, null),
    ...words,
    chunk({}, 'stop'),
    'data: [DONE]',
  ];
}

/** A whole message (Anthropic's shape). */
export const message = (request: ChatRequest): object => ({
  ...emptyMessage(request),
  content: [{ type: 'text', text: wordsOf(request).join('') }],
  stop_reason: 'end_turn',
});

/** The same as a stream of named events. */
export function messageEvents(request: ChatRequest): readonly ServerSentEvent[] {
  const event = (type: string, fields: object): ServerSentEvent =>
    `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}`;
  const deltas = wordsOf(request).map((text) =>
    event('content_block_delta', { index: 0, delta: { type: 'text_delta', text } }),
  );
  return [
    event('message_start', { message: emptyMessage(request) }),
    event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
    ...deltas,
    event('content_block_stop', { index: 0 }),
    event('message_delta', {
      delta: { stop_reason: 'end_turn', stop_sequence: null },
      usage: { output_tokens: wordsOf(request).length },
    }),
    event('message_stop', {}),
  ];
}

/** An error document that both SDKs can read. */
export const errorDocument = (type: string, text: string): object => ({
  type: 'error',
  error: { type, message: text, param: null, code: type },
});

const emptyMessage = (request: ChatRequest): object => ({
  id: 'msg_demo',
  type: 'message',
  role: 'assistant',
  model: request.model,
  content: [],
  stop_reason: null,
  stop_sequence: null,
  usage: { input_tokens: 3, output_tokens: wordsOf(request).length },
});

function usage(request: ChatRequest): object {
  const completion = wordsOf(request).length;
  return { prompt_tokens: 3, completion_tokens: completion, total_tokens: 3 + completion };
}

function parse(body: string): Record<string, unknown> {
  try {
    const document: unknown = JSON.parse(body);
    return isRecord(document) ? document : {};
  } catch {
    return {};
  }
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
