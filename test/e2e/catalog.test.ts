/**
 * The catalog import: what its faults say, what a diff shows, that a second apply changes nothing; and that the starter catalog is what
 * the issue asks for. In Node; the last part runs `npm run catalog` itself against a local D1.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, describe, expect, it } from 'vitest';
import { bring, faultLine } from '../../scripts/lib/catalog/main.ts';
import {
  type CatalogRows,
  changesBetween,
  literalSql,
  type Row,
  rowsOf,
  type Statement,
  statementsFor,
} from '../../scripts/lib/catalog/plan.ts';
import { readCatalog, readSources } from '../../scripts/lib/catalog/read.ts';

const policy = { allow: { pairs: new Set<string>() }, gatewayHosts: [], httpsOnly: true };
const head = `provider: vendor
name: Vendor
base_urls: ['https://api.vendor.example/v1']
price_note: example, 2026-11-30
`;
const row = `endpoints:
  - name: search
    capability: web.search
    summary: Search
    method: GET
    path: /search
    cost: { kind: free }
`;

/** Texts of quotes, which SQL doubles. */
const manyQuotes = Array.from({ length: 100 }, (_, i) => `"${i}${"'".repeat(450)}"`).join(', ');
const account = 'accounts: [{ label: main, setting: VENDOR_KEY }]\n';
const balance = `balance:
  url: https://api.vendor.example/v1/credits
  remaining: data.left
  unit: credits
  confidence: exact
`;

/** A row that submits a task; `poll` tells how it goes. */
const submit = (other: { poll?: string; failed?: string; cost?: string; task?: string } = {}) => {
  const { poll: polls = 'look', failed = '[failed]', task } = other;
  const cost = other.cost ?? '{ kind: per_success, prices: [{ price_micros: 1 }] }';
  const rule = `    task: { id: id, poll: ${polls}, state: status, succeeded: [done], failed: ${failed} }\n`;
  return `endpoints:
  - name: submit
    capability: web.task
    summary: Submit
    method: POST
    path: /tasks
    platform_auth: account
    cost: ${cost}
    settlement: { basis: terminal }
${task ?? rule}`;
};
const poll = (more = ''): string => `  - name: look
    capability: web.state
    summary: Look
    method: GET
    path: '/tasks/{id}'
    task_id: id
    platform_auth: account
    cost: { kind: free }
    parameters:
      - { in: path, name: id, type: string }
${more === '' ? '' : `      - ${more}\n`}`;

const read = (text: string, name = 'catalog/vendor.yaml') => readSources([{ name, text }], policy);
const faults = (text: string): string[] => {
  const result = read(text);
  return result.ok ? [] : result.faults.map(faultLine);
};
const files = (text: string) => {
  const result = read(text);
  if (!result.ok) throw new Error(result.faults.map(faultLine).join('\n'));
  return result.files;
};

describe('a fault of a file', () => {
  it('has none when there is none', () => {
    expect(faults(head + row)).toEqual([]);
    expect(faults(head + account + submit() + poll())).toEqual([]);
    const [file] = files(head + account + submit() + poll());
    expect(file?.endpoints.map(({ task, taskId }) => [task, taskId])).toEqual([
      [
        {
          idAt: 'id',
          poll: 'vendor.look',
          stateAt: 'status',
          succeeded: ['done'],
          failed: ['failed'],
          deadlineMs: 86_400_000,
        },
        null,
      ],
      [null, 'id'],
    ]);
  });

  it.each<[string, string, string]>([
    [
      'a missing field, at what lacks it',
      head + row.replace('    method: GET\n', ''),
      '6:5 endpoints.0.method is missing',
    ],
    ['an unknown field', `${head}color: red\n${row}`, '5:1 color is not a field here'],
    [
      'a wrong word',
      head + row.replace('GET', 'get'),
      '9:5 endpoints.0.method must be one of GET, HEAD, POST, PUT, PATCH, DELETE',
    ],
    [
      'a wrong type',
      head + row.replace('Search', '5'),
      '8:5 endpoints.0.summary must be of type string',
    ],
    ['a field twice', `${head}name: Again\n${row}`, '5:1 names a field twice'],
    ['no YAML', `${head}oops: 'x\n`, '6:1 is not YAML (missing char)'],
    [
      'plain http',
      head.replace('https:', 'http:') + row,
      '3:13 base_urls.0 is no exact https base URL (scheme)',
    ],
    [
      'a private address',
      head.replace('api.vendor.example', '10.0.0.1') + row,
      '3:13 base_urls.0 is no exact https base URL (private_address)',
    ],
    [
      'a user in a URL',
      head.replace('api.', 'u@api.') + row,
      '3:13 base_urls.0 is no exact https base URL (userinfo)',
    ],
    [
      'a dotted path in a URL',
      head.replace('/v1', '/../v1') + row,
      '3:13 base_urls.0 is no exact https base URL (path)',
    ],
    [
      'a host that is not approved',
      `${head}${row}    host: evil.example\n`,
      '12:5 endpoints.0.host is in none of base_urls',
    ],
    [
      'a placeholder without a parameter',
      head + row.replace('/search', '/{id}'),
      '10:5 endpoints.0.path has {id}, which no path parameter declares',
    ],
    [
      'a parameter without a placeholder',
      `${head}${row}    parameters: [{ in: path, name: id, type: string }]\n`,
      '12:30 endpoints.0.parameters.0.name is not in the path',
    ],
    [
      'an account that is not there',
      `${head}${row}    platform_auth: account\n`,
      '12:5 endpoints.0.platform_auth is account, and the provider has no accounts',
    ],
    [
      'anonymous where it is not allowed',
      `${head}${row}    platform_auth: anonymous\n`,
      '12:5 endpoints.0.platform_auth is anonymous, which the provider does not allow',
    ],
    [
      'anonymous that is not free',
      `${head}anonymous: true\n${row.replace('{ kind: free }', '{ kind: per_call, prices: [{ price_micros: 1 }] }')}    platform_auth: anonymous\n`,
      '12:5 endpoints.0.cost must be free where platform_auth is anonymous',
    ],
    [
      'a terminal basis without a task',
      head + account + submit({ task: '' }),
      '7:5 endpoints.0.task belongs to settlement.basis terminal, and the other way round',
    ],
    [
      'a task whose poll is no row',
      head + account + submit({ poll: 'nowhere' }) + poll(),
      '15:5 endpoints.0.task names a poll that is no row of this file',
    ],
    [
      'a poll without a task_id',
      head + account + submit() + poll().replace('    task_id: id\n', ''),
      '15:5 endpoints.0.task names a poll that is no GET on the account with a task_id',
    ],
    [
      'a poll that needs more than the id',
      head + account + submit() + poll('{ in: query, name: q, type: string, required: true }'),
      '15:5 endpoints.0.task names a poll that needs more than the id',
    ],
    [
      'a task_id that is not in the path',
      head + account + submit() + poll().replace('task_id: id', 'task_id: other'),
      '21:5 endpoints.1.task_id is no placeholder of the path',
    ],
    [
      'a task that costs when it is submitted',
      head +
        account +
        submit({ cost: '{ kind: per_call, prices: [{ price_micros: 1 }] }' }) +
        poll(),
      '13:5 endpoints.0.cost must be per_success, per_result or usage where there is a task',
    ],
    [
      'a task with more than its ledger can keep',
      head +
        account +
        submit({
          failed: `[${Array.from({ length: 100 }, (_, i) => `f${i}${'x'.repeat(400)}`)}]`,
        }) +
        poll(),
      '15:5 endpoints.0.task has more states, meters and paths than a task can keep',
    ],
    [
      'a state that is success and failure',
      head + account + submit({ failed: '[done]' }) + poll(),
      '15:5 endpoints.0.task has a state that is both succeeded and failed',
    ],
    [
      'a poll that costs',
      head +
        account +
        submit() +
        poll().replace('{ kind: free }', '{ kind: per_call, prices: [{ price_micros: 1 }] }'),
      '23:5 endpoints.1.cost must be free where there is a task_id',
    ],
    [
      'bounds without an account',
      `${head}${row}    platform_request: []\n`,
      '12:5 endpoints.0.platform_request needs platform_auth: account',
    ],
    [
      'a list of body members without members',
      `${head}${row}    body_allowlist: true\n`,
      '12:5 endpoints.0.body_allowlist needs body parameters, which are the list',
    ],
    [
      'a fraction of a micro-USD',
      head + row.replace('{ kind: free }', '{ kind: per_call, prices: [{ price_micros: 0.5 }] }'),
      '11:40 endpoints.0.cost.prices.0.price_micros must be of type int',
    ],
    [
      'a negative price',
      head + row.replace('{ kind: free }', '{ kind: per_call, prices: [{ price_micros: -1 }] }'),
      '11:40 endpoints.0.cost.prices.0.price_micros must be at least 0',
    ],
    [
      'no price',
      head + row.replace('{ kind: free }', '{ kind: per_call, prices: [] }'),
      '11:29 endpoints.0.cost.prices must be at least 1',
    ],
    [
      'an unknown kind of cost',
      head + row.replace('free', 'cheap'),
      '11:13 endpoints.0.cost.kind is none of the known forms',
    ],
    [
      'a row that hides the ones below it',
      head +
        row.replace(
          '{ kind: free }',
          '{ kind: per_call, prices: [{ price_micros: 1 }, { price_micros: 2 }] }',
        ),
      '11:38 endpoints.0.cost.prices.0.when always holds, so no row below it is ever read',
    ],
    [
      'a price of a meter that is not there',
      head +
        row.replace(
          '{ kind: free }',
          '{ kind: usage, meters: [{ name: a, paths: [a], required: true, reserve: [{ kind: fixed, units: 1 }] }], prices: [{ per_million_micros: { b: 1 } }] }',
        ),
      'endpoints.0.cost.prices.0.per_million_micros.b is no meter here',
    ],
    [
      'a successor that is not there',
      `${head}${row}    tombstone: { status: retired, note: gone, superseded_by: vendor.next }\n`,
      '12:47 endpoints.0.tombstone.superseded_by is no live endpoint of the catalog',
    ],
    [
      'a credential that is bound twice',
      `${head}auth: [{ in: header, name: X-Key }, { in: header, name: x-key }]\n${row}`,
      '5:51 auth.1.name is set twice',
    ],
    [
      'a format without its secret',
      `${head}auth: [{ in: header, name: x-key, as: custom, format: Token }]\n${row}`,
      '5:47 auth.0.format lacks {secret}',
    ],
    [
      'a rate of nothing',
      `${head}rate: { limit: 0, window_s: 60 }\n${row}`,
      '5:9 rate.limit must be at least 1',
    ],
    [
      'a rate whose window is longer than what is remembered',
      `${head}${row}    rate: { limit: 1, window_s: 3601 }\n`,
      '12:23 endpoints.0.rate.window_s may be at most 3600',
    ],
    [
      'a test request that leaves a placeholder empty',
      `${head}${row.replace('/search', "'/{id}'")}    parameters: [{ in: path, name: id, type: string }]\n    test_request: { query: { q: x } }\n`,
      '13:21 endpoints.0.test_request.query lacks id',
    ],
    [
      'a test request with a body for a method without one',
      `${head}${row}    test_request: { body: {} }\n`,
      '12:21 endpoints.0.test_request.body needs the method POST',
    ],
    [
      'a balance call to somebody else',
      head + account + balance.replace('api.vendor', 'api.other') + row,
      '7:3 balance.url is at the host of none of base_urls',
    ],
    [
      'a look-up at somebody else',
      `${head}${account}${balance.replace('/credits', '/{id}')}  lookup: { url: 'https://x.example/', at: id }\n${row}`,
      '11:13 balance.lookup.url is at the host of none of base_urls',
    ],
    [
      "further accounts, which would be nobody's",
      `${head}accounts: [{ label: main, setting: K }, { label: two, setting: K2 }]\n${row}`,
      '5:41 accounts.1 is a further account: those stand in PLATFORM_ACCOUNTS',
    ],
    [
      'a row that no statement of D1 holds',
      `${head}${row}    parameters: [{ in: query, name: q, type: string, enum: [${manyQuotes}] }]\n`,
      '6:5 endpoints.0 makes a row of more than 90000 bytes',
    ],
    ['a balance call of nobody', head + balance + row, '5:1 balance needs accounts'],
    [
      'a balance path that is none',
      head + account + balance.replace('data.left', 'data..left') + row,
      '8:3 balance.remaining is no JSON path',
    ],
    [
      'an id that nothing finds',
      head + account + balance.replace('/credits', '/{id}') + row,
      '7:3 balance.url has {id}, which needs a lookup',
    ],
    [
      'a look-up for nothing',
      `${head}${account}${balance}  lookup: { url: 'https://api.vendor.example/v1/', at: id }\n${row}`,
      '7:3 balance.url lacks {id}, which lookup finds',
    ],
    [
      'a private balance URL',
      head + account + balance.replace('api.vendor.example', '10.0.0.1') + row,
      '7:3 balance.url is no exact https URL',
    ],
    [
      'a balance call without its paths',
      `${head}${account}balance: { url: https://api.vendor.example/ }\n${row}`,
      '6:1 balance.remaining is missing',
    ],
    [
      'a balance that is some other word',
      `${head}${account}balance: maybe\n${row}`,
      '6:1 balance must be of type object',
    ],
    ...['host', 'Content-Length', 'Connection', 'X-Weir-Meta'].flatMap(
      (name): [string, string, string][] => [
        [
          `${name} as the place of a credential`,
          `${head}auth: [{ in: header, name: ${name} }]\n${row}`,
          '5:22 auth.0.name belongs to the gateway',
        ],
        [
          `${name} as a required header`,
          `${head}required_headers: { ${name}: x }\n${row}`,
          `5:21 required_headers.${name} belongs to the gateway`,
        ],
        [
          `${name} as the header of the client`,
          `${head}client_header: ${name}\n${row}`,
          '5:1 client_header belongs to the gateway',
        ],
      ],
    ),
    [
      'a format that no header can carry',
      `${head}auth: [{ in: header, name: x-key, as: custom, format: 'é {secret}' }]\n${row}`,
      'auth.0.format is no header value',
    ],
    [
      'a header of the client that carries the credential',
      `${head}auth: [{ in: header, name: X-Key }]\nclient_header: x-key\n${row}`,
      '6:1 client_header is set twice',
    ],
    ...['/../search', '/a/%2e%2E/search', '/./search', '/a/..', '/a%5cb'].map(
      (path): [string, string, string] => [
        `a path that leaves the base URL: ${path}`,
        head + row.replace('/search', path),
        '10:5 endpoints.0.path has a . or .. segment',
      ],
    ),
    [
      'an alias of nothing',
      `${head}${row.replace('Search', '*gone')}`,
      '1:1 has an alias without an anchor, or too many',
    ],
  ])('names %s by file, line and column', (_, text, expected) => {
    const [first = ''] = faults(text);
    expect(first).toMatch(/^catalog\/vendor\.yaml:\d+:\d+ /);
    expect(first).toContain(expected);
  });

  it('never repeats what stands in the file', () => {
    const planted = 'sk-planted-4711';
    const texts = [
      `${head}accounts: [{ label: main, setting: ${planted} }]\n${row}`,
      `${head}auth: [{ in: header, name: 'x ${planted}' }]\n${row}`,
      head.replace('https://api.vendor.example/v1', `https://user:${planted}@x.example`) + row,
      head + row.replace('GET', planted),
      `${head}{ ${planted}: [\n`,
    ];
    for (const text of texts) {
      const found = faults(text);
      expect(found.length).toBeGreaterThan(0);
      expect(found.join('\n')).not.toContain(planted);
    }
  });

  it('shows a file under a name that is not its provider', () => {
    const result = read(head + row, 'catalog/other.yaml');
    expect(result.ok ? [] : result.faults.map(faultLine)).toEqual([
      'catalog/other.yaml:1:1 provider is not the name of the file',
    ]);
  });
});

describe('a provider', () => {
  const providerOf = (text: string) => files(head + account + text + row)[0]?.provider;

  it.each<[string, string, object | null]>([
    ['says nothing of its balance: it is not known', '', null],
    ['publishes no meter', 'balance: none\n', { kind: 'none' }],
    [
      'declares a balance call: what is left out is usual',
      balance,
      {
        kind: 'call',
        method: 'GET',
        url: 'https://api.vendor.example/v1/credits',
        lookup: null,
        setting: null,
        remaining: 'data.left',
        remainingMinus: null,
        total: null,
        resetsAt: null,
        unit: 'credits',
        divideBy: 1,
        confidence: 'exact',
        note: null,
      },
    ],
    [
      'declares all of it',
      `${balance.replace('/credits', '/{id}/credits')}  method: POST
  lookup: { url: 'https://api.vendor.example/v1/projects', at: 'projects[0].id' }
  setting: VENDOR_ADMIN_KEY
  remaining_minus: data.used
  total: data.bought
  resets_at: data.renews
  divide_by: 100
  note: data.plan
`,
      {
        kind: 'call',
        method: 'POST',
        url: 'https://api.vendor.example/v1/{id}/credits',
        lookup: { url: 'https://api.vendor.example/v1/projects', at: 'projects[0].id' },
        setting: 'VENDOR_ADMIN_KEY',
        remaining: 'data.left',
        remainingMinus: 'data.used',
        total: 'data.bought',
        resetsAt: 'data.renews',
        unit: 'credits',
        divideBy: 100,
        confidence: 'exact',
        note: 'data.plan',
      },
    ],
  ])('%s', (_, text, expected) => {
    expect(providerOf(text)?.balance).toEqual(expected);
  });

  it('has test requests, whose query is encoded and whose body is JSON', () => {
    const [file] = files(
      `${head}${row.replace('GET', 'POST')}    test_request: { query: { q: 'a b&c', n: 2 }, body: { x: [1] } }\n`,
    );
    expect(file?.endpoints[0]?.testRequest).toEqual({
      query: 'q=a%20b%26c&n=2',
      bodyText: '{"x":[1]}',
    });
    expect(files(head + row)[0]?.endpoints[0]?.testRequest).toBeNull();
  });

  it('has a rate, and so has a row', () => {
    const [file] = files(
      `${head}rate: { limit: 30, window_s: 60 }\n${row}    rate: { limit: 1, window_s: 3600 }\n`,
    );
    expect(file?.provider.rate).toEqual({ limit: 30, windowMs: 60_000 });
    expect(file?.endpoints[0]?.rate).toEqual({ limit: 1, windowMs: 3_600_000 });
    expect(files(head + row)[0]?.provider.rate).toBeNull();
  });
});

/** A database of two maps that runs the statements of a plan; `rows` gives what D1 would. */
function fakeDatabase() {
  const tables = new Map<string, Map<string, Row>>([
    ['catalog_providers', new Map()],
    ['catalog_endpoints', new Map()],
  ]);
  const state = { version: 0, batches: 0 };
  const runOne = ({ sql, params }: Statement): void => {
    const [, insert] = /^INSERT INTO (\w+) \(/.exec(sql) ?? [];
    const [, from] = /^DELETE FROM (\w+)/.exec(sql) ?? [];
    if (from !== undefined) tables.get(from)?.delete(String(params[0]));
    else if (insert === 'catalog_state') state.version += 1;
    else {
      const names = /\(([^)]*)\)/.exec(sql)?.[1]?.split(', ') ?? [];
      const made = Object.fromEntries(names.map((name, i) => [name, params[i] ?? null]));
      tables.get(insert ?? '')?.set(String(params[0]), made);
    }
  };
  return {
    state,
    rows: async (): Promise<CatalogRows> => ({
      providers: new Map(tables.get('catalog_providers')),
      endpoints: new Map(tables.get('catalog_endpoints')),
    }),
    apply: async (statements: readonly Statement[]) => {
      state.batches += 1;
      statements.forEach(runOne);
    },
  };
}

describe('a scalar that is wrong', () => {
  const starters = ['openai', 'anthropic', 'gemini', 'apify'].map((name) => ({
    name: `catalog/${name}.yaml`,
    text: readFileSync(`catalog/${name}.yaml`, 'utf8'),
  }));

  it.each(['-1', '0', '1e30', '""', '[]'])(
    'is a fault or none, wherever %s stands, and never a stack',
    (wrong) => {
      let tried = 0;
      for (const { name, text } of starters) {
        for (const { index, 0: number } of text.matchAll(/(?<=[:,] )[0-9]+(?=[ ,}\]\n])/g)) {
          const mutant = text.slice(0, index) + wrong + text.slice(index + number.length);
          const found = readSources([{ name, text: mutant }], policy);
          for (const fault of found.ok ? [] : found.faults) expect(faultLine(fault)).not.toBe('');
          tried += 1;
        }
      }
      expect(tried).toBeGreaterThan(50);
    },
  );

  it('is the only fault of its row: no rule goes on with what it made of the others', () => {
    const usage = (input: number) =>
      head +
      row.replace(
        '{ kind: free }',
        `{ kind: usage, meters: [{ name: a, paths: [a], required: true, reserve: [{ kind: fixed, units: 1 }] }], prices: [{ per_million_micros: { a: ${input} } }] }`,
      );
    expect(faults(usage(5))).toEqual([]);
    expect(faults(usage(-5))).toMatchObject([
      expect.stringContaining('endpoints.0.cost.prices.0.per_million_micros.a must be at least 0'),
    ]);
  });
});

describe('applying', () => {
  it('once makes the rows and raises the version; twice changes nothing and runs nothing', async () => {
    const database = fakeDatabase();
    const first = await bring(database, files(head + row), true);
    expect(first.changes.map(({ change, id }) => `${change} ${id}`)).toEqual([
      'added vendor',
      'added vendor.search',
    ]);
    const second = await bring(database, files(head + row), true);
    expect(second).toEqual({ changes: [], applied: false });
    expect(database.state).toEqual({ version: 1, batches: 1 });
  });

  it('shows which fields changed, and what went', async () => {
    const database = fakeDatabase();
    await bring(database, files(head + row), true);
    const text = head.replace('Vendor', 'Vendor Inc') + row.replace('/search', '/v2/search');
    const { changes } = await bring(database, files(text), true);
    expect(changes).toEqual([
      { what: 'provider', id: 'vendor', change: 'changed', fields: ['name'], endsPolls: false },
      {
        what: 'endpoint',
        id: 'vendor.search',
        change: 'changed',
        fields: ['path'],
        endsPolls: false,
      },
    ]);
    const renamed = await bring(database, files(head + row.replace('search', 'find')), true);
    expect(renamed.changes.map(({ change, id }) => `${change} ${id}`)).toEqual([
      'changed vendor',
      'added vendor.find',
      'removed vendor.search',
    ]);
    expect((await database.rows()).endpoints.has('vendor.search')).toBe(false);
    expect(database.state.version).toBe(3);
  });

  it('says of a row that goes whether pending tasks are asked through it; a tombstone keeps that', async () => {
    const database = fakeDatabase();
    await bring(database, files(head + account + submit() + poll()), true);
    const stone = '    tombstone: { status: retired, note: gone }\n';
    const retired = await bring(database, files(head + account + submit() + poll() + stone), false);
    expect(retired.changes.map(({ id, endsPolls }) => [id, endsPolls])).toEqual([
      ['vendor.look', false],
    ]);
    const gone = await bring(database, files(head + account + row), false);
    const polls = gone.changes.filter(({ endsPolls }) => endsPolls).map(({ id }) => id);
    expect(polls).toEqual(['vendor.look']);
  });

  it('a diff alone writes nothing', async () => {
    const database = fakeDatabase();
    const { changes, applied } = await bring(database, files(head + row), false);
    expect([changes.length, applied, database.state.batches]).toEqual([2, false, 0]);
  });

  it('sees a column that was changed by hand, and the order of keys as no change', async () => {
    const wanted = rowsOf(files(head + row));
    const stored = wanted.endpoints.get('vendor.search') ?? {};
    const document = JSON.stringify(
      Object.fromEntries(Object.entries(JSON.parse(String(stored.document))).reverse()),
    );
    const of = (parts: Row): CatalogRows => ({
      providers: wanted.providers,
      endpoints: new Map([['vendor.search', { ...stored, ...parts }]]),
    });
    expect(changesBetween(of({ document }), wanted)).toEqual([]);
    expect(changesBetween(of({ capability: 'other' }), wanted)).toMatchObject([
      { change: 'changed', fields: ['capability'] },
    ]);
    expect(changesBetween(of({ document: 'broken' }), wanted)).toMatchObject([
      { change: 'changed' },
    ]);
  });

  it('sees a row of before a field was known, and that does not use it, as no change', () => {
    const older = (text: unknown): string => {
      const { balance, rate, ...rest } = JSON.parse(String(text));
      return JSON.stringify(rest);
    };
    const strip = (table: ReadonlyMap<string, Row>): ReadonlyMap<string, Row> =>
      new Map([...table].map(([id, each]) => [id, { ...each, document: older(each.document) }]));
    const of = ({ providers, endpoints }: CatalogRows): CatalogRows => ({
      providers: strip(providers),
      endpoints: strip(endpoints),
    });
    const plain = rowsOf(files(head + row));
    expect(changesBetween(of(plain), plain)).toEqual([]);
    const declared = rowsOf(files(head + account + balance + row));
    expect(changesBetween(of(declared), declared)).toEqual([
      { what: 'provider', id: 'vendor', change: 'changed', fields: ['balance'], endsPolls: false },
    ]);
  });

  it('removes endpoints before their provider, and makes them after it', () => {
    const wanted = rowsOf(files(head + row));
    const nothing: CatalogRows = { providers: new Map(), endpoints: new Map() };
    const heads = (from: CatalogRows, to: CatalogRows) =>
      statementsFor(changesBetween(from, to), to, 0).map(({ sql }) =>
        sql.split(' ').slice(0, 3).join(' '),
      );
    expect(heads(nothing, wanted)).toEqual([
      'INSERT INTO catalog_providers',
      'INSERT INTO catalog_endpoints',
      'INSERT INTO catalog_state',
    ]);
    expect(heads(wanted, nothing)).toEqual([
      'DELETE FROM catalog_endpoints',
      'DELETE FROM catalog_providers',
      'INSERT INTO catalog_state',
    ]);
  });

  it('raises the version above every one that there was, also after the database was set back', () => {
    const database = new DatabaseSync(':memory:');
    database.exec('create table catalog_state (id integer primary key, version, applied_at)');
    const wanted = rowsOf(files(head + row));
    const nothing: CatalogRows = { providers: new Map(), endpoints: new Map() };
    const appliedAt = (nowMs: number) => {
      const [raise] = statementsFor(changesBetween(nothing, wanted), wanted, nowMs).slice(-1);
      if (raise !== undefined) database.exec(literalSql(raise));
      return database.prepare('select version from catalog_state').get()?.version;
    };
    expect([appliedAt(1_000), appliedAt(1_000), appliedAt(900)]).toEqual([1_000, 1_001, 1_002]);
    database.exec('update catalog_state set version = 1000');
    expect(appliedAt(5_000)).toBe(5_000);
  });

  it('as a file of SQL spells every value, quotes and question marks included', () => {
    expect(literalSql({ sql: 'X (?, ?, ?)', params: ["it's ? ''", 5, null] })).toBe(
      "X ('it''s ? ''''', 5, NULL);",
    );
  });
});

describe('the starter catalog', () => {
  const starter = readCatalog('catalog', policy);
  const rows = starter.ok ? starter.files.flatMap((file) => file.endpoints) : [];

  it('is ten vendors with at most three endpoints each, every price dated', () => {
    expect(starter.ok && starter.files.length).toBe(10);
    for (const { provider } of starter.ok ? starter.files : [])
      expect(rows.filter((each) => each.provider === provider.slug).length).toBeLessThanOrEqual(3);
    for (const each of rows) expect(each.priceNote).toMatch(/^example, \d{4}-\d{2}-\d{2}$/);
  });

  it('says of every vendor with an account how its balance is read, or that it cannot be', () => {
    const kinds = starter.ok
      ? starter.files
          .filter(({ provider }) => provider.accounts.length > 0)
          .map(({ provider: { slug, balance } }) => `${slug} ${balance?.kind}`)
      : [];
    expect(kinds).toEqual([
      'anthropic none',
      'apify call',
      'brave none',
      'deepgram call',
      'elevenlabs call',
      'gemini none',
      'openai none',
      'openrouter call',
      'resend none',
    ]);
  });

  it('shows every kind of cost and every contract', () => {
    expect(new Set(rows.map(({ cost }) => cost.kind))).toEqual(
      new Set(['free', 'per_call', 'per_success', 'per_result', 'quota_rows', 'usage']),
    );
    const some = [
      rows.some((each) => each.platformAuth === 'anonymous'),
      rows.some((each) => each.tombstone?.supersededBy != null),
      rows.some((each) => each.strictQuery),
      rows.some((each) => each.bodyAllowlist),
      rows.some((each) => each.ceilingParam !== null),
      rows.some((each) => each.stripReportedCharge),
      rows.some((each) => each.onClientDisconnect === 'cancel'),
      rows.some((each) => each.path.includes('{')),
      rows.some((each) => each.query !== null),
    ];
    expect(some).toEqual(some.map(() => true));
  });
});

describe('npm run catalog', () => {
  const state = mkdtempSync(join(tmpdir(), 'weir-catalog-'));
  afterAll(() => rmSync(state, { recursive: true, force: true }));
  const run = (...args: string[]) => {
    const ran = spawnSync(process.execPath, ['scripts/run.mjs', 'catalog', ...args], {
      encoding: 'utf8',
    });
    return { code: ran.status, out: ran.stdout, err: ran.stderr };
  };

  it('checks, applies once and then says that nothing changes', () => {
    expect(run('check')).toMatchObject({ code: 0, out: '10 providers, 19 endpoints: no faults\n' });
    const applied = run('apply', '--database', state, '--json');
    expect(JSON.parse(applied.out)).toMatchObject({ ok: true, applied: true });
    expect(run('apply', '--database', state)).toMatchObject({ code: 0, out: 'no changes\n' });
  });

  it('takes no row away that the files lack, unless it is told to', () => {
    const half = mkdtempSync(join(state, 'half-'));
    writeFileSync(join(half, 'vendor.yaml'), head + row);
    const to = ['--catalog', half, '--database', state];
    const refused = run('apply', ...to);
    expect([refused.code, refused.out]).toEqual([1, '']);
    expect(refused.err).toContain('- provider openai\n');
    expect(refused.err).toContain('The files lack these 29, which');
    expect(run('diff', '--catalog', 'catalog', '--database', state).out).toBe('no changes\n');
    expect(run('apply', '--delete', ...to).code).toBe(0);
    expect(run('diff', ...to).out).toBe('no changes\n');
  });

  it('says how it is used, exit 2, and what is wrong with it, exit 1', () => {
    expect(run('apply', 'twice')).toMatchObject({ code: 2 });
    expect(run('apply', '--color').err).toContain('npm run catalog -- check|diff|apply');
    expect(run('check', '--catalog', 'nowhere')).toMatchObject({ code: 1 });
    expect(run('check', '--catalog', 'package.json')).toMatchObject({
      code: 1,
      err: 'There is no folder package.json/.\n',
    });
  });

  it('says what kind of account a vendor is, as far as a person has said it', () => {
    const policy = (...args: string[]) => run('policy', ...args, '--database', state);
    const kind = ['--type', 'prepaid', '--funding', 'manual', '--source', 'api'];
    expect(policy('strange')).toMatchObject({ code: 1, err: 'strange has no policy.\n' });
    expect(policy('strange', '--low', '25')).toMatchObject({
      code: 1,
      err: 'strange has no policy yet: give --type, --funding and --source.\n',
    });
    expect(policy('strange', ...kind, '--usd-per-unit', '0.01').code).toBe(0);
    const changed = policy('strange', '--low', '2.5', '--overflow', 'no', '--json');
    expect(JSON.parse(changed.out)).toMatchObject({
      ok: true,
      policy: {
        provider: 'strange',
        capacity_type: 'prepaid',
        funding_mode: 'manual',
        source: 'api',
        usd_per_unit_micros: 10_000,
        low_remaining: 2.5,
        overflow_allowed: 0,
      },
    });
  });

  it.each([
    [['policy'], 'Which provider?'],
    [['policy', 'Not A Slug'], '"Not A Slug" is no provider: openai, overflow:monid, ….'],
    [['policy', 'x', '--type', 'free'], '--type is prepaid, quota, postpaid, unlimited.'],
    [['policy', 'x', '--low', '1e3'], '--low is a number from 0, or none.'],
    [['policy', 'x', '--overflow', 'maybe'], '--overflow is yes or no.'],
    [['diff', '--type', 'prepaid'], '--type is for policy.'],
    [['diff', 'openai'], '"openai" is not known here.'],
    [['diff', '--delete'], '--delete is for apply.'],
  ])('%j is a sentence with the usage, exit code 2', (args, sentence) => {
    const { code, out, err } = run(...args);
    expect([code, out, err.split('\n')[0]]).toEqual([2, '', sentence]);
  });

  it('takes no database that is not there for an empty one, and no folder without files for an empty catalog', () => {
    const nowhere = join(state, 'nowhere');
    expect(run('apply', '--database', nowhere)).toMatchObject({ code: 1, out: '' });
    expect(existsSync(nowhere)).toBe(false);
    const empty = mkdtempSync(join(state, 'empty-'));
    expect(run('apply', '--catalog', empty, '--database', state)).toMatchObject({
      code: 1,
      out: '',
      err: `There is no catalog file (*.yaml) in ${empty}/.\n`,
    });
    writeFileSync(join(empty, 'vendor.yml'), 'provider: vendor\n');
    expect(run('check', '--catalog', empty).err).toContain(
      'vendor.yml:1:1 is not read: its name must end in .yaml',
    );
    rmSync(join(empty, 'vendor.yml'));
    mkdirSync(join(empty, 'vendor.yaml'));
    expect(run('check', '--catalog', empty).err).toBe(
      `${empty}/vendor.yaml:1:1 cannot be read\n1 faults; nothing was changed\n`,
    );
  });
});
