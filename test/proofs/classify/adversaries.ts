/**
 * Echoes: answers that repeat the caller's text with a phrase or code of the table in it, generated
 * from a seed. Promises: one seed, one answer; each has the status and the vendor of the row that it
 * is meant to fool, but for a 402, which needs no text and becomes a 400. `seen`: the request is at
 * hand, then the echo may look like the vendor's own error; `unseen`: it is not, then the form of the
 * answer alone has to tell. Called by ../classify.ts.
 */

/** A word of the table that an answer could echo. */
export interface Bait {
  readonly provider: string;
  readonly status: number;
  readonly value: string;
  /** How its row looks for it: within a text, as the beginning of a sentence, or as a code. */
  readonly by: 'phrase' | 'sentence' | 'code';
}

/** An answer that only repeats. */
export interface Echo {
  readonly provider: string;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly request: string;
  readonly form: string;
}

type Random = () => number;

function pick<T>(random: Random, list: readonly T[]): T {
  const item = list[Math.floor(random() * list.length)];
  if (item === undefined) throw new Error('an empty list');
  return item;
}

const befores = ['', 'My novel: ', 'He shouted ', '\n\n', 'Ünïcödé 🎉 ', 'a, b and '] as const;
const afters = ['', ' said the bank', '!', '. The end', ' 🎉', ' (again)'] as const;
const fields = ['error', 'message', 'detail', 'issue', 'messages', 'msg'] as const;
const jsonType = { 'content-type': 'application/json' };

/** What the vendor could make of a caller's text when it repeats it as its own. */
const seenForms: Readonly<Record<string, (text: string, random: Random) => unknown>> = {
  'whole field': (text, random) => ({ [pick(random, fields)]: text }),
  'error.message': (text) => ({ error: { message: text } }),
  'error text': (text, random) => ({ [pick(random, fields)]: `${text}. Please try again.` }),
  list: (text) => ({ errors: [{ message: 'First' }, { message: text, detail: text }] }),
  'array of texts': (text) => ({ errors: [text], messages: [text] }),
  'text alone': (text) => text,
};

/** What tells an echo although nobody has the request. */
const unseenForms: Readonly<Record<string, (text: string, random: Random) => unknown>> = {
  quoted: (text, random) => ({
    [pick(random, fields)]: pick(random, [
      `Bad request: "${text}"`,
      `The value '${text}' is taken`,
    ]),
  }),
  'error.message quoted': (text) => ({ error: { message: `Cannot use \`${text}\` here` } }),
  'curly quotes': (text) => ({ error: `Unknown company “${text}”`, message: `«${text}»` }),
  'behind a colon': (text, random) => ({ [pick(random, fields)]: `Could not read: ${text}` }),
  assigned: (text) => ({ error: { message: `prompt=${text}` } }),
  'in JSON in a text': (text) => ({ message: `Bad input ${JSON.stringify({ q: text })}` }),
  'about an input': (text) => ({ error: `Your prompt ${text} was flagged`, detail: 'Flagged' }),
  'not valid': (text) => ({ message: `${text} is not a valid company` }),
  'own member': (text) => ({ error: 'Taken', title: text, input: text, query: { error: text } }),
  'nested request': (text) => ({
    message: 'Bad',
    request: { error: { message: text, code: text } },
  }),
  'array of inputs': (text) => ({ error: 'Bad', inputs: [text, { message: text }] }),
  'late in the text': (text) => ({ message: `${'The rules are many. '.repeat(60)}${text}` }),
  'a page': (text) => `<!doctype html><p>${text}</p>`,
  'cut off': (text) => `{"message": ${JSON.stringify(text)}, "request": "`,
};

/** The same for a phrase that has to begin a sentence: no mark is needed then. */
const unseenForSentences: typeof unseenForms = {
  'within a sentence': (text, random) => ({
    [pick(random, fields)]: `Company ${text} is not known`,
  }),
  'behind a dash': (text) => ({
    error: { message: `Failed - ${text}` },
    message: `Taken (${text})`,
  }),
};

const spellings: readonly ((text: string) => string)[] = [
  (text) => JSON.stringify({ messages: [{ role: 'user', content: text }] }),
  (text) => `/v1/search?q=${encodeURIComponent(text)}`,
  (text) => new URLSearchParams({ title: text }).toString(),
  (text) => `{"q":"${escaped(text)}"}`,
  (text) => `q=${text.toUpperCase().replaceAll(' ', '\t ')}`,
  (text) => `<doc><![CDATA[${text}]]></doc>`,
];

/** Every ASCII letter as `\u00xx`. */
const escaped = (text: string): string =>
  text.replaceAll(
    /[\u0000-\uffff]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

/** One echo; `kind` says whether the request is at hand. */
export function echoOf(bait: Bait, kind: 'seen' | 'unseen', random: Random): Echo {
  const isUnseen = kind === 'unseen' || bait.by === 'code';
  const more = bait.by === 'sentence' ? unseenForSentences : {};
  const forms = Object.entries(isUnseen ? { ...unseenForms, ...more } : seenForms);
  const [form, shape] = pick(random, forms);
  const own = isUnseen
    ? bait.value
    : `${pick(random, befores)}${bait.value}${pick(random, afters)}`;
  const text = pick(random, [own, own.toUpperCase(), own.replaceAll(' ', '  ')]);
  const shaped = shape(text, random);
  const isText = typeof shaped === 'string';
  const { provider } = bait;
  return {
    provider,
    status: bait.status === 402 ? 400 : bait.status,
    headers: { ...(isText ? { 'content-type': 'text/plain' } : jsonType), 'x-echo': bait.value },
    body: isText ? shaped : JSON.stringify(shaped),
    request: isUnseen ? '' : pick(random, spellings)(text),
    form: `${kind}: ${form}`,
  };
}

/** The vendor's own sentence: the control without which an adversary could prove nothing. */
export const ownWords = ({ provider, status, value }: Bait): Echo => ({
  provider,
  status,
  headers: jsonType,
  body: JSON.stringify({ error: { message: value }, message: value, details: value }),
  request: '{"q":"nothing of the kind"}',
  form: "the vendor's own words",
});
