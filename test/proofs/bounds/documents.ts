/**
 * The limits of the management API, each with a document that is exactly at it and one that is one
 * beyond. Called by test/proofs/bounds.ts.
 */
import {
  accessListMax,
  addressCharsMax,
  aliasCharsMax,
  bindingsMax,
  fieldNameCharsMax,
  fieldValueCharsMax,
  firstByteTimeoutMaxMs,
  headerEditsMax,
  hostCharsMax,
  hostnameCharsMax,
  hostnameLabelCharsMax,
  idleTimeoutMaxMs,
  nameCharsMax,
  noteCharsMax,
  pathCharsMax,
  poolEndpointsMax,
  queryAllowlistMax,
  rotationStepMax,
  routePriorityMax,
  secretBytesMax,
  slugCharsMax,
  tagsMax,
} from '../../../src/base/limits.ts';
import {
  ledgerAmountMicrosMax,
  ledgerBudgetRulesMax,
  ledgerBudgetsMax,
  ledgerIdCharsMax,
  ledgerTagCharsMax,
} from '../../../src/base/limits-money.ts';

/** What the documents refer to. */
export interface Known {
  readonly principalId: string;
  readonly upstreamId: string;
  /** Loopback addresses that egress allows on `port`; more than a pool may have. */
  readonly hosts: readonly string[];
  readonly port: number;
}

/**
 * One limit: where it is attacked, the field that the refusal names, and the document of a size.
 */
export interface Attack {
  readonly limit: string;
  readonly max: number;
  readonly path: string;
  readonly field: RegExp;
  readonly body: (size: number, known: Known) => object;
  /**
   * False: a document at the limit is refused too, for another reason (its host does not resolve
   * here).
   */
  readonly fits?: boolean;
}

const text = (size: number): string => 'a'.repeat(size);
const list = <T>(size: number, item: (i: number) => T): T[] =>
  Array.from({ length: size }, (_, i) => item(i));
const named = (size: number, name: (i: number) => string): Record<string, string> =>
  Object.fromEntries(list(size, (i) => [name(i), 'v']));

let made = 0;
/** An upstream of its own name; `parts` replaces what the attack is about. */
const upstream = (known: Known, parts: object): object => {
  made += 1;
  const endpoints = [{ host: '127.0.0.1', port: known.port }];
  return { name: `u${made}`, alias: `u${made}.test`, scheme: 'http', endpoints, ...parts };
};
const ofUpstream = (
  limit: string,
  max: number,
  field: RegExp,
  parts: (size: number, known: Known) => object,
): Attack => ({
  limit,
  max,
  path: '/upstreams',
  field,
  body: (size, known) => upstream(known, parts(size, known)),
});
const constant = (parts: object) => ({
  bindings: [{ location: 'query', name: 'q', value: 'v', ...parts }],
});
const edits = (request: object) => ({ header_rules: { request, response: {} } });
const host = (name: string) => ({ scheme: 'https', alias: undefined, endpoints: [{ host: name }] });
/** A host name of `size` characters whose labels are all valid. */
const hostOf = (size: number): string => {
  const labels = `${text(50)}.`.repeat(8).slice(0, size - '.example.org'.length);
  return `${labels.replace(/\.$/, 'a')}.example.org`;
};

const noLimit = { spend_max_micros: null, calls_max: null } as const;
/** A tenant with budgets; nothing else of it matters. */
const budgeted = (budgets: readonly object[]) => ({ name: 'budgeted', budgets });
const budget = (dimension: string, values: readonly object[] = []) => ({
  dimension,
  window: 'day',
  ...noLimit,
  values,
});
const ofTenant = (
  limit: string,
  max: number,
  field: RegExp,
  body: (size: number) => object,
): Attack => ({ limit, max, path: '/tenants', field, body });

/** Every attack. */
export const attacks: readonly Attack[] = [
  {
    limit: 'nameCharsMax',
    max: nameCharsMax,
    path: '/projects',
    field: /^name$/,
    body: (n) => ({ name: text(n) }),
  },
  ofUpstream('slugCharsMax', slugCharsMax, /^name$/, (n) => ({ name: text(n) })),
  ofUpstream('tagsMax', tagsMax, /^tags$/, (n) => ({ tags: list(n, (i) => `t${i}`) })),
  ofUpstream('pathCharsMax', pathCharsMax, /^base_path$/, (n) => ({
    base_path: `/${text(n - 1)}`,
  })),
  ofUpstream('bindingsMax', bindingsMax, /^bindings$/, (n) => ({
    bindings: list(n, (i) => ({ location: 'query', name: `q${i}`, value: 'v' })),
  })),
  ofUpstream('fieldNameCharsMax', fieldNameCharsMax, /^bindings\.0\.name$/, (n) =>
    constant({ name: text(n) }),
  ),
  ofUpstream('fieldValueCharsMax', fieldValueCharsMax, /^bindings\.0\.value$/, (n) =>
    constant({ value: text(n) }),
  ),
  ofUpstream('headerEditsMax', headerEditsMax, /^header_rules\.request\.remove$/, (n) =>
    edits({ remove: list(n, (i) => `x-${i}`) }),
  ),
  ofUpstream('headerEditsMax of set', headerEditsMax, /^header_rules\.request\.set$/, (n) =>
    edits({ set: named(n, (i) => `x-${i}`) }),
  ),
  ofUpstream('poolEndpointsMax', poolEndpointsMax, /^endpoints$/, (n, { hosts, port }) => ({
    endpoints: hosts.slice(0, n).map((host) => ({ host, port })),
  })),
  ofUpstream('firstByteTimeoutMaxMs', firstByteTimeoutMaxMs, /^first_byte_timeout_ms$/, (n) => ({
    first_byte_timeout_ms: n,
  })),
  ofUpstream('idleTimeoutMaxMs', idleTimeoutMaxMs, /^idle_timeout_ms$/, (n) => ({
    idle_timeout_ms: n,
  })),
  ofUpstream('aliasCharsMax', aliasCharsMax, /^alias$/, (n) => ({ alias: hostOf(n) })),
  {
    ...ofUpstream('hostCharsMax', hostCharsMax, /^endpoints\.0\.host$/, (n) => host(text(n))),
    fits: false,
  },
  {
    ...ofUpstream('hostnameCharsMax', hostnameCharsMax, /^endpoints\.0\.host$/, (n) =>
      host(hostOf(n)),
    ),
    fits: false,
  },
  {
    ...ofUpstream('hostnameLabelCharsMax', hostnameLabelCharsMax, /^endpoints\.0\.host$/, (n) =>
      host(`${text(n)}.example.org`),
    ),
    fits: false,
  },
  {
    ...ofUpstream('addressCharsMax', addressCharsMax, /^endpoints\.0\.host$/, (n) =>
      host(`[${'0000:'.repeat(20).slice(0, n)}]`),
    ),
    fits: false,
  },
  {
    limit: 'secretBytesMax',
    max: secretBytesMax,
    path: '/secrets',
    field: /^value$/,
    body: (n) => ({ name: `s${n}`, value: text(n) }),
  },
  {
    limit: 'secretBytesMax in UTF-8',
    max: secretBytesMax / 2,
    path: '/secrets',
    field: /^value$/,
    body: (n) => ({ name: `u${n}`, value: 'é'.repeat(n) }),
  },
  {
    limit: 'accessListMax',
    max: accessListMax,
    path: '/keys',
    field: /^upstream_access$/,
    body: (n, { principalId, upstreamId }) => ({
      name: 'k',
      principal_id: principalId,
      upstream_access: list(n, () => upstreamId),
    }),
  },
  {
    limit: 'noteCharsMax',
    max: noteCharsMax,
    path: '/deny-rules',
    field: /^note$/,
    body: (n) => ({ method: 'DELETE', note: text(n) }),
  },
  {
    limit: 'queryAllowlistMax',
    max: queryAllowlistMax,
    path: '/routes',
    field: /^query_allowlist$/,
    body: (n, { upstreamId }) => ({
      upstream_id: upstreamId,
      methods: ['GET'],
      path: '/allowlist',
      query_allowlist: list(n, (i) => `q${i}`),
    }),
  },
  {
    limit: 'routePriorityMax',
    max: routePriorityMax,
    path: '/routes',
    field: /^priority$/,
    body: (n, { upstreamId }) => ({
      upstream_id: upstreamId,
      methods: ['GET'],
      path: '/p',
      priority: n,
    }),
  },
  {
    limit: 'rotationStepMax',
    max: rotationStepMax,
    path: '/vault/rotate',
    field: /^limit$/,
    body: (n) => ({ limit: n }),
  },
  {
    limit: 'ledgerAmountMicrosMax',
    max: ledgerAmountMicrosMax,
    path: '/ledger/topups',
    field: /^micros$/,
    body: (n) => ({ id: 'large', micros: n }),
  },
  {
    limit: 'ledgerIdCharsMax',
    max: ledgerIdCharsMax,
    path: '/ledger/topups',
    field: /^id$/,
    body: (n) => ({ id: text(n), micros: 1 }),
  },
  ofTenant('ledgerAmountMicrosMax of a cap', ledgerAmountMicrosMax, /^daily_cap_micros$/, (n) => ({
    name: 'capped',
    daily_cap_micros: n,
  })),
  ofTenant('ledgerBudgetsMax', ledgerBudgetsMax, /^budgets$/, (n) =>
    budgeted(list(n, (i) => budget(`d${i}`))),
  ),
  ofTenant('ledgerBudgetRulesMax', ledgerBudgetRulesMax, /^budgets\.0\.values$/, (n) =>
    budgeted([
      budget(
        'team',
        list(n, (i) => ({ value: `v${i}` })),
      ),
    ]),
  ),
  ofTenant('ledgerTagCharsMax', ledgerTagCharsMax, /^budgets\.0\.dimension$/, (n) =>
    budgeted([budget(text(n))]),
  ),
];
