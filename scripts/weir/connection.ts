/**
 * Where the gateway is and which key opens it. Promises: a key comes from the environment, or from
 * the local `npm start`, never from an argument, which other users of the machine can read; it goes
 * over plain http to this machine only. Called by `main.ts`.
 */
import { existsSync, readFileSync } from 'node:fs';
import { Fault } from './fault.ts';

/** A gateway and a key for it. */
export interface Connection {
  /** Without a slash at its end. */
  readonly url: string;
  readonly key: string;
  /** The operator acts in no tenant of its own: it has to name one. */
  readonly isOperator: boolean;
  /** The tenant that an operator's command acts in when it names none. */
  readonly tenant: string | undefined;
}

/** What the connection is made from. */
export interface ConnectionSources {
  readonly url: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The key that the command would rather have. */
  readonly prefers: 'access' | 'operator';
}

const keysWanted =
  'There is no key. Set WEIR_KEY (an access key) or OPERATOR_KEY; a key is never an argument.';

/** The gateway to talk to. Throws a {@link Fault} when none is known, or no key for it. */
export function connect({ url, env, prefers }: ConnectionSources): Connection {
  const local = localStart(env.WEIR_STATE || '.weir');
  const named = url ?? env.WEIR_URL;
  const base = baseOf(named ?? `http://127.0.0.1:${local.LAST_PORT ?? '8787'}`);
  const ownKeys = { access: given(env.WEIR_KEY), operator: given(firstOf(env.OPERATOR_KEY)) };
  const isSet = ownKeys.access !== undefined || ownKeys.operator !== undefined;
  const demoKeys = { access: local.DEMO_KEY, operator: firstOf(local.OPERATOR_KEY) };
  const keys = isSet || named !== undefined ? ownKeys : demoKeys;
  const isWanted = prefers === 'operator' && keys.operator !== undefined;
  const isOperator = isWanted || keys.access === undefined;
  const key = isOperator ? keys.operator : keys.access;
  if (key === undefined) throw new Fault(keysWanted, 'usage');
  if (!/^[\x21-\x7e]+$/.test(key)) throw new Fault(noKey, 'usage');
  const tenant = isOperator && keys === demoKeys ? local.DEMO_TENANT : undefined;
  return { url: base, key, isOperator, tenant };
}

const noKey =
  'What is set as the key is none: a key has no spaces and ASCII only. Was it cut short (…)?';

/** An empty variable is one that is not set. */
const given = (key: string | undefined): string | undefined => key?.trim() || undefined;

/** Two keys may be set during a rotation; the first is the new one. */
const firstOf = (keys: string | undefined): string | undefined => keys?.split(',')[0];

function baseOf(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== '') {
    throw new Fault(
      '--url wants the address of a Weir, such as https://weir.example.com.',
      'usage',
    );
  }
  if (url.protocol === 'http:' && !isThisMachine(url.hostname)) {
    throw new Fault('The key would travel in clear: use https:// for another machine.', 'usage');
  }
  return url.origin;
}

const isThisMachine = (host: string): boolean =>
  host === 'localhost' || host === '[::1]' || /^127(?:\.[0-9]+){3}$/.test(host);

/** What `npm start` left of its last run; empty when there was none. */
function localStart(folder: string): Readonly<Record<string, string | undefined>> {
  const file = `${folder}/dev.env`;
  if (!existsSync(file)) return {};
  const lines = readFileSync(file, 'utf8').matchAll(/^([A-Z][A-Z0-9_]*)=(.+)$/gm);
  return Object.fromEntries([...lines].map(([, name = '', value = '']) => [name, value]));
}
