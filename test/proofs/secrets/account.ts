/**
 * The platform accounts of the secrets proof: two catalog providers whose vendor is the echoing one, so that their keys travel the
 * metered road (tier 4), and the rows that the refusals need. Called by scene.ts and the rows.
 */
import type { Sent } from './scene.ts';

/** `account`: the key in a header, priced by usage. `account_post`: in the query and the JSON body, priced by the call. */
export const accountKinds = ['account', 'account_post'] as const;
export type AccountKind = (typeof accountKinds)[number];

export const isAccount = (kind: string): kind is AccountKind =>
  accountKinds.some((one) => one === kind);

/** The platform setting that has the key of a kind. */
export const settingOf = (kind: AccountKind): string => `${kind.toUpperCase()}_KEY`;

/** A public name that the gateway takes for itself: no row may lead there. */
export const unapprovedHost = 'weir.example.com';

/** Micro-USD of a call of `account.dear`. */
export const dearMicros = 60;

const usage = (name: string): string => `
    settlement: { fallback_micros: 1 }
    cost:
      kind: usage
      meters:
        - { name: ${name}, paths: [usage.${name}], required: true, reserve: [{ kind: fixed, units: 1 }] }
      prices: [{ per_million_micros: { ${name}: 1000000 } }]`;
const perCall = (micros: number): string => `
    cost: { kind: per_call, prices: [{ price_micros: ${micros} }] }`;

const echoParameters = ['status', 'spelling', 'place'].map(
  (name) => `{ in: path, name: ${name}, type: string }`,
);
const echoes = `/e/{status}/{spelling}/{place}
    parameters: [${echoParameters.join(', ')}]`;

interface Row {
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly price: string;
  readonly access?: 'platform_auth: account' | 'grant_method: null';
}

const row = ({ name, method, path, price, access = 'platform_auth: account' }: Row): string => `
  - name: ${name}
    capability: ${name}.it
    summary: ${name}
    method: ${method}
    path: ${path}
    ${access}${price}`;

const plain = { method: 'GET', path: '/plain' } as const;
const tombstone = `${perCall(1)}
    tombstone: { status: retired, note: it is over }`;
const byModel = `
    cost:
      kind: per_call
      prices: [{ when: [{ in: body, at: model, one_of: [known] }], price_micros: 1 }]`;

const headerRows: readonly Row[] = [
  { ...plain, name: 'plain', price: usage('units') },
  { name: 'echo', method: 'GET', path: echoes, price: usage('units') },
  { name: 'echo_head', method: 'HEAD', path: echoes, price: perCall(1) },
  { name: 'post', method: 'POST', path: '/plain', price: usage('units') },
  { ...plain, name: 'dear', price: perCall(dearMicros) },
  { name: 'priced', method: 'POST', path: '/plain', price: byModel },
  { ...plain, name: 'strict', price: `\n    strict_query: true${perCall(1)}` },
  { ...plain, name: 'dead', price: tombstone },
  { ...plain, name: 'own', price: perCall(1), access: 'grant_method: null' },
];

const postRows: readonly Row[] = [
  { name: 'plain', method: 'POST', path: '/plain', price: perCall(1) },
  { name: 'echo', method: 'POST', path: echoes, price: perCall(1) },
];

interface File {
  readonly slug: string;
  readonly base: string;
  readonly auth: string;
  readonly rows: readonly Row[];
}

const file = ({ slug, base, auth, rows }: File): { name: string; text: string } => ({
  name: `${slug}.yaml`,
  text: `provider: ${slug}
name: ${slug}
base_urls: ['${base}']
auth: [${auth}]
client_header: x-client
accounts: [{ label: main, setting: ${isAccount(slug) ? settingOf(slug) : settingOf('account')} }]
price_note: a test's own
endpoints:${rows.map(row).join('')}
`,
});

/** The catalog. The vendor tells the kinds apart by the base path. */
export function accountFiles(authority: string): readonly { name: string; text: string }[] {
  const base = (kind: AccountKind): string => `http://${authority}/k/${kind}`;
  const [inHeader, inQuery, inBody] = [
    '{ in: header, name: x-account-key, as: api_key }',
    '{ in: query, name: apikey }',
    '{ in: json, name: api_key }',
  ];
  const header = { slug: 'account', base: base('account'), auth: inHeader, rows: headerRows };
  const post = {
    slug: 'account_post',
    base: base('account_post'),
    auth: `${inQuery}, ${inBody}`,
    rows: postRows,
  };
  const away = {
    slug: 'away',
    base: `https://${unapprovedHost}`,
    auth: inHeader,
    rows: [{ ...plain, name: 'plain', price: perCall(1) }],
  };
  return [header, post, away].map(file);
}

/** A call of a path as an upstream of that kind would have it: `/e/…` is the row `echo`, all else is `plain`. */
export function accountCall(kind: AccountKind, path: string, head: string): Sent {
  const [, query = ''] = path.split('?');
  const [, status, spelling, place] = /^\/e\/(\d+)\/(\d+)\/(\w+)$/.exec(path) ?? [];
  const target =
    status === undefined
      ? `${kind}.plain${query === '' ? '' : `?${query}`}`
      : `${kind}.echo?status=${status}&spelling=${spelling}&place=${place}`;
  if (kind === 'account') return { path: `/call/${target}`, head };
  const type = 'Content-Type: application/json\r\n';
  return { method: 'POST', path: `/catalog/call/${target}`, head: head + type, body: '{"a":1}' };
}
