/**
 * The SSRF corpus and what an attacker makes of one URL: hosts for a registration, targets for a call.
 * Promises: both readings of a URL are tried, the platform's parser's (what `fetch` would connect to) and the one by hand (the text).
 */
import { readFileSync } from 'node:fs';

/** One URL of the corpus. */
export interface CorpusRow {
  readonly url: string;
  readonly want: 'block' | 'allow';
  readonly class: string;
}

/** An endpoint document that a registration may send. */
export interface EndpointForm {
  readonly scheme: string;
  readonly host: string;
  readonly port: number;
}

/** Every row of the fixture. */
export function corpus(): readonly CorpusRow[] {
  return readFileSync('test/fixtures/ssrf.jsonl', 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as CorpusRow);
}

/**
 * Endpoint documents of a URL: the parser's host and the hand-cut text, each under the URL's own scheme and under https (so that the
 * host rules answer, not the scheme rule), and the whole URL as a host.
 */
export function endpointForms(url: string): readonly EndpointForm[] {
  const parsed = URL.parse(url);
  const scheme = parsed?.protocol.slice(0, -1) ?? 'http';
  const port = Number(parsed?.port) || (scheme === 'http' ? 80 : 443);
  const forms = [...hostsOf(url), url].flatMap((host) => [
    { scheme: 'https', host, port },
    { scheme, host, port },
  ]);
  const keys = forms.map((form) => JSON.stringify(form));
  return forms.filter((_, i) => keys.indexOf(keys[i] ?? '') === i);
}

/** Every host text of a URL: by the platform's parser with and without brackets, and as it stands between `//` and the path. */
export function hostsOf(url: string): readonly string[] {
  const parsed = URL.parse(url)?.hostname ?? '';
  const text = /^[^:]*:?[/\\]*([^/\\?#]*)/.exec(url)?.[1] ?? '';
  const withoutPort = text.replace(/(?<=^[^:]*|\]):\d+$/, '');
  const all = [parsed, parsed.replace(/^\[|\]$/g, ''), text, withoutPort];
  return [...new Set(all)].filter((host) => host !== '');
}

/**
 * Request targets behind `/call/`: the URL's bytes, the same under https (the host must be the reason), and with everything escaped
 * that a client would escape. Bytes that end a request line stand in the first form only, where the runtime refuses the request.
 */
export function callTargets(url: string): readonly string[] {
  const secure = url.replace(/^http:/i, 'https:');
  const escaped = [...url]
    .map((char) => (/[\s\x00-\x1f]/.test(char) ? percent(char) : char))
    .join('');
  return [...new Set([url, secure, escaped, encodeURI(url), encodeURIComponent(url)])];
}

const percent = (char: string): string =>
  [...Buffer.from(char)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('');
