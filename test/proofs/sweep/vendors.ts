/**
 * The vendors of the sweep proof: each with its balance API, what that says, and the row that must come of it.
 * Promises: every credential and every planted text is made up and occurs nowhere else, so that one that gets out is found.
 * Called by `stand.ts` and `rows.ts`.
 */
import { perCall, providerFile, row } from '../../support/money-world-catalog.ts';
import { type Plan, silent } from '../../support/priced-origin.ts';
import { reply } from '../../support/recording-origin.ts';

/** Stands in error bodies of vendors; must never be stored, shown or printed. */
export const planted = 'planted-vendor-text-4711';
/** What stands instead of a note that looks like a credential. */
export const withheldNote = '(withheld: looks like a credential)';
/** Looks like a credential. */
const keyLike = `${'sk'}_proof_${'q7Rk2'.repeat(4)}`;

/** One account and what must be known of it after a sweep. */
export interface Account {
  /** Provider, with `#label` for a further account. */
  readonly name: string;
  readonly want: Readonly<Record<string, unknown>>;
}

interface Vendor {
  readonly slug: string;
  /** YAML behind `balance:`; null: the file says nothing. */
  readonly balance: string | null;
  /** By the last segment of the path; the balance API is `credits`. */
  readonly plans?: Readonly<Record<string, Plan>>;
  readonly endpoint?: string;
  readonly want: Account['want'];
}

const says =
  (document: unknown, status = '200 OK'): Plan =>
  ({ write }) =>
    write(reply(status, ['Content-Type: application/json'], JSON.stringify(document)));

/** A balance call at `credits`; `more` are further members. */
const call = (more = '', confidence = 'exact'): string =>
  `{ url: 'URL/credits', remaining: left, unit: credits, confidence: ${confidence}${more} }`;

const failed = (error: string) => ({
  state: 'stale',
  source: 'api',
  remaining: null,
  confidence: 'none',
  error,
  note: null,
});
const read = (state: string, remaining: number) => ({
  state,
  source: 'api',
  remaining,
  confidence: 'exact',
  error: null,
});

export const resetsAtMs = Date.UTC(2099, 0, 1);
const sellable = row('op', 'POST', `cost: ${perCall}`);
const retired = `${row('op', 'POST', `cost: ${perCall}`)}
    tombstone: { status: retired, note: switched off }`;

/** Every vendor. The slugs are real ones where a policy of theirs is known to code. `movedTo` is where one redirects. */
export const vendors = (movedTo: string): readonly Vendor[] => [
  {
    slug: 'openai',
    balance: call(', remaining_minus: used, total: all, resets_at: at, note: plan'),
    plans: {
      credits: says({ left: 20, used: 7.5, all: 20, at: '2099-01-01T00:00:00Z', plan: 'Pro' }),
    },
    want: { ...read('ok', 12.5), total: 20, resets_at: resetsAtMs, note: 'Pro', unit: 'credits' },
  },
  {
    slug: 'openrouter',
    balance: call(),
    plans: { credits: says({ left: 0 }) },
    want: read('exhausted', 0),
  },
  {
    slug: 'apify',
    balance: call(', note: plan'),
    plans: { credits: says({ left: 3, plan: `key ${keyLike}` }) },
    want: { ...read('ok', 3), note: withheldNote },
  },
  {
    slug: 'gemini',
    balance: call(),
    plans: { credits: says({ left: planted }) },
    want: failed('wrong_shape'),
  },
  {
    slug: 'anthropic',
    balance: call(),
    plans: { credits: says({ left: 5, error: planted }, '500 Internal Server Error') },
    want: failed('status_500'),
  },
  { slug: 'elevenlabs', balance: call(), plans: { credits: silent }, want: failed('late') },
  {
    slug: 'resend',
    balance: call(),
    plans: { credits: ({ write }) => write(reply('302 Found', [`Location: ${movedTo}`], planted)) },
    want: failed('redirected'),
  },
  {
    slug: 'deepgram',
    balance:
      "{ lookup: { url: 'URL/projects', at: 'projects[0].id' }, url: 'URL/{id}/credits', remaining: left, unit: usd, confidence: exact }",
    plans: {
      projects: says({ projects: [{ id: 'p-1' }] }),
      credits: says({ left: 5, x: 'x'.repeat(300 * 1024) }),
    },
    want: failed('too_large'),
  },
  {
    slug: 'gone',
    balance: call(),
    plans: { credits: ({ socket }) => socket.resetAndDestroy() },
    want: failed('unreachable'),
  },
  // Kill-switched: nothing of it can be called any more.
  {
    slug: 'brave',
    balance: call(),
    plans: { credits: says({ left: 8 }) },
    endpoint: retired,
    want: read('ok', 8),
  },
  {
    slug: 'strange',
    balance: call('', 'estimated'),
    plans: { credits: says({ left: 0 }) },
    want: { ...read('low', 0), confidence: 'estimated' },
  },
  // A person has said below which balance it is low.
  {
    slug: 'scrapecreators',
    balance: call(),
    plans: { credits: says({ left: 50 }) },
    want: read('low', 50),
  },
  {
    slug: 'tikhub',
    balance: 'none',
    want: { state: 'stale', source: 'dashboard', confidence: 'none', error: null },
  },
  {
    slug: 'unread',
    balance: null,
    want: { state: 'stale', source: 'unknown', confidence: 'none', error: null },
  },
];

/** Vendors whose kind of account no code knows; `lab` is the one that every money world has. */
export const unclassified = ['gone', 'lab', 'strange', 'unread'];

export const settingOf = (slug: string): string => `${slug.toUpperCase()}_KEY`;
export const keyOf = (slug: string): string => `${slug}-key-planted-0123456789`;
export const backupKey = keyOf('openai-backup');

/** The catalog file of a vendor. */
export function vendorFile(authority: string, { slug, balance, endpoint = sellable }: Vendor) {
  const url = `http://${authority}/${slug}`;
  const more = balance === null ? '' : `balance: ${balance.replaceAll('URL', url)}\n`;
  return providerFile(slug, { authority, setting: settingOf(slug), more, endpoints: [endpoint] });
}

/** Accounts beside one of each vendor. */
export const furtherAccounts: readonly Account[] = [
  { name: 'openai#backup', want: { ...read('ok', 12.5), note: 'Pro' } },
  { name: 'overflow:monid', want: { ...read('ok', 2.25), unit: 'usd' } },
  { name: 'overflow:orthogonal', want: { state: 'stale', source: 'unknown', error: null } },
];

export const monidSays = says({ balance: { value: 2.25, currency: 'USD' } });
export { says };
