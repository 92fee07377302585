/**
 * `npm run weir -- capacity classify`: explains what a recorded answer of a vendor says of the
 * operator's account there, by the very rules of the road. Promises: offline, nothing is sent and
 * no key is needed; a body is never shown again. Read by `commands.ts`.
 */
import { readFileSync } from 'node:fs';
import { resolveSrcModules } from '../lib/src-modules.ts';
import { type Command, defaults, type Input } from './command.ts';
import { Fault } from './fault.ts';
import { pairs } from './render.ts';

resolveSrcModules();
const { judge } = await import('../../src/domain/capacity/classify.ts');
const { signatures, acknowledgedGaps } = await import('../../src/domain/capacity/signatures.ts');
const { httpDateMs } = await import('../../src/domain/capacity/retry-after.ts');
const { capacityBodyHeadBytesMax } = await import('../../src/base/limits-capacity.ts');

type Judgement = NonNullable<ReturnType<typeof judge>>;

/** `npm run weir -- capacity classify` */
export const capacityClassify: Command = {
  ...defaults,
  name: 'capacity classify',
  isOffline: true,
  summary: "What a vendor's recorded answer says of our account there, and why",
  options: [
    { name: 'provider', value: 'SLUG', help: 'whose answer it is' },
    { name: 'status', value: 'N', help: 'its status' },
    {
      name: 'header',
      value: "'K: V'",
      help: 'one of its headers; as often as there are',
      isRepeated: true,
    },
    { name: 'body', value: 'FILE', help: 'its body; - is the standard input' },
    { name: 'request', value: 'FILE', help: 'what the caller sent: errors echo it' },
  ],
  examples: [
    'npm run weir -- capacity classify --provider openai --status 429 --body answer.json',
    "curl -s … | npm run weir -- capacity classify --provider moz --status 403 --header 'Retry-After: 30' --body -",
  ],
  async run(_client, input) {
    const answer = answerOf(input);
    const judgement = judge(answer);
    const { provider, status } = answer;
    const document = { provider, status, ...documentOf(provider, judgement) };
    return { kind: 'shown', document, text: textOf(document) };
  },
};

function answerOf(input: Input): Parameters<typeof judge>[0] {
  const provider = input.option('provider');
  const status = input.option('status') ?? '';
  if (provider === undefined || !/^[a-z0-9][a-z0-9_-]*$/.test(provider))
    throw new Fault('--provider wants the slug of a vendor: openai, moz, …', 'usage');
  if (!/^[1-5][0-9]{2}$/.test(status)) throw new Fault('--status wants a status: 429.', 'usage');
  const headers = new Headers(input.all('header').map(headerOf));
  const [body, request] = [input.option('body'), input.option('request')];
  const recordedMs = httpDateMs(headers.get('date') ?? '', Date.now());
  return {
    provider,
    status: Number(status),
    header: (name) => headers.get(name),
    // The head that the road would read; of the request it looks through more, and cuts it itself.
    bodyHead: body === undefined ? null : fileText(body).slice(0, capacityBodyHeadBytesMax),
    requestText: request === undefined ? '' : fileText(request),
    // A Retry-After counts from when the answer came.
    nowMs: recordedMs ?? Date.now(),
  };
}

function headerOf(line: string): [string, string] {
  const match = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([^\0\r\n\u0100-\uffff]*)$/.exec(line);
  if (match === null)
    throw new Fault("--header wants a line of a header: 'Retry-After: 30'.", 'usage');
  const [, name = '', value = ''] = match;
  return [name, value];
}

function fileText(file: string): string {
  try {
    return new TextDecoder().decode(readFileSync(file === '-' ? 0 : file));
  } catch {
    throw new Fault('There is no such file, or it cannot be read.', 'usage');
  }
}

// ── what is shown ──

interface Explanation {
  readonly provider: string;
  readonly status: number;
  readonly kind: string | null;
  readonly wait_ms: number | null;
  readonly rule: Judgement['rule'] | null;
  readonly because: string | null;
  readonly field: string | null;
  readonly note: string | null;
  readonly effect: string;
}

function documentOf(
  provider: string,
  judgement: Judgement | null,
): Omit<Explanation, 'provider' | 'status'> {
  const known = signatures.some((row) => row.provider === provider);
  const stranger = known ? null : (acknowledgedGaps[provider] ?? 'no row knows this vendor');
  if (judgement === null) {
    const nothing = { kind: null, wait_ms: null, rule: null, because: null, field: null };
    return { ...nothing, note: stranger, effect: 'none: it says nothing of the account' };
  }
  const { signal, rule, field, row } = judgement;
  const { kind, waitMs, because } = signal;
  const note = row?.note ?? stranger;
  return { kind, wait_ms: waitMs, rule, because, field, note, effect: effects[kind] };
}

const effects: Readonly<Record<Judgement['signal']['kind'], string>> = {
  balance: 'a strike against the provider: the second one locks it',
  quota: 'a strike against the endpoint: the second one locks it',
  burst: 'no strike: it is smoothed, and a line in the log',
  unknown: 'no strike: a line in the log',
  unrecorded: 'no strike: an event, for a person to write a row',
  edge_block: 'none: the edge refused the shape of the request',
};

const ruleTexts: Readonly<Record<Judgement['rule'], string>> = {
  edge_block: "the edge's own answer",
  table: 'a row of the table',
  echo: 'a row of the table, whose phrase the request has too',
  wait: 'a 429 that says how long to wait',
  tripwire: 'words of capacity that no row knows',
  bare_429: 'a 429 that says nothing else',
};

function textOf({ rule, ...shown }: Explanation): string {
  const lines: [string, string][] = [
    ['answer', `${shown.provider} ${shown.status}`],
    ['signal', shown.kind ?? 'none'],
    ['rule', rule === null ? '' : ruleTexts[rule]],
    ['because', shown.because ?? ''],
    ['field', shown.field ?? ''],
    ['wait', shown.wait_ms === null ? '' : `${shown.wait_ms / 1000} s`],
    ['effect', shown.effect],
    ['note', shown.note ?? ''],
  ];
  return pairs(lines.filter(([, value]) => value !== ''));
}
