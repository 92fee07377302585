/** `npm run weir`: what it says, what it exits with, and that it never lets a key out. */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { commands } from '../../scripts/weir/commands.ts';
import { endOf, madeAtMs } from '../../scripts/weir/hold.ts';
import { main } from '../../scripts/weir/main.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { operatorKey } from '../support/test-env.ts';

const accessKey = 'wk_planted_access_key';
const state = '/nonexistent';

interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
  readonly sent: readonly Request[];
}

/** Runs a command against `answers`, one a request; the last one stays. */
async function run(
  args: readonly string[],
  answers: readonly (Response | Error)[] = [],
  env: Record<string, string> = { WEIR_KEY: accessKey },
): Promise<Ran> {
  const sent: Request[] = [];
  let out = '';
  let err = '';
  const code = await main([...args], {
    env: { WEIR_STATE: state, ...env },
    send: async (input, init) => {
      sent.push(new Request(input, init));
      const answer = answers[Math.min(sent.length, answers.length) - 1];
      if (answer === undefined || answer instanceof Error) throw answer ?? new TypeError('fetch');
      return answer.clone();
    },
    write: (text) => {
      out += text;
    },
    complain: (text) => {
      err += `${text}\n`;
    },
  });
  return { code, out, err, sent };
}

const json = (document: unknown, status = 200) => Response.json(document, { status });
const problem = (status: number, title: string, detail: string) =>
  json({ type: 'urn:weir:problem:x', title, detail, status }, status);
const page = (data: readonly object[], next: string | null = null) =>
  json({ data, next_cursor: next });
const hold = (n: number, fields: object = {}) => ({
  id: `hld_${n}`,
  amount_micros: 1_500_000,
  placed_at: '2030-01-01T00:00:00.000Z',
  lease_until: '2030-01-01T00:02:00.000Z',
  key_id: 'key_1',
  tags: { team: 'a' },
  record_id: null,
  ...fields,
});

describe('a command that is not understood', () => {
  it.each([
    [['nonsense'], 'There is no such command "nonsense".'],
    [['balance', '--colour'], 'There is no such option'],
    [['balance', '--after', '5'], 'balance has no option --after.'],
    [['balance', '--limit', '5'], 'balance has no option --limit.'],
    [['holds', '--limit', '0'], '--limit is a whole number'],
    [['holds', '--limit'], 'An option lacks its value'],
    [['balance', 'extra'], 'It is: npm run weir -- balance'],
    [['topup'], 'It is: npm run weir -- topup USD'],
    [['topup', '0', '--tenant', 'ten_1'], 'The amount is in dollars'],
    [['topup', '1e9', '--tenant', 'ten_1'], 'The amount is in dollars'],
    [
      ['topup', '1000000.01', '--tenant', 'ten_1'],
      'The amount is in dollars, from 0.000001 to 1000000.',
    ],
    [['grant', '5', '--kind', 'purchased', '--tenant', 'ten_1'], '--kind is promotional or earned'],
    [['idempotency', 'resolve', 'idm_1', 'maybe'], 'Say settle'],
    [['idempotency', 'resolve', 'idm_1', 'settle', '--charge', 'x'], '--charge is in dollars'],
    [['balance', '--url', 'ftp://x'], '--url wants the address'],
    [['balance', '--url', 'http://weir.example.com'], 'The key would travel in clear'],
  ])('%j exits with 2, says why in one line and sends nothing', async (args, sentence) => {
    const ran = await run(args);
    expect([ran.code, ran.sent.length, ran.out]).toEqual([2, 0, '']);
    expect(ran.err).toContain(sentence);
    expect(ran.err.trimEnd().split('\n')).toHaveLength(1);
  });

  it('says that there is no key, and that the operator has to name a tenant', async () => {
    expect((await run(['balance'], [], {})).err).toContain('Set WEIR_KEY');
    const operator = await run(['balance'], [], { OPERATOR_KEY: 'op' });
    expect([operator.code, operator.sent.length]).toEqual([2, 0]);
    expect(operator.err).toContain('--tenant ten_…');
  });

  it.each(['wk_1uKyuV1UA03…', 'wk_ 1', 'wk_\u00e9'])(
    'says that %j is no key, before anything is sent and without repeating it',
    async (key) => {
      const ran = await run(['balance'], [], { WEIR_KEY: key });
      expect([ran.code, ran.sent.length, ran.out]).toEqual([2, 0, '']);
      expect(ran.err).toContain('What is set as the key is none');
      expect(ran.err).not.toContain(key);
    },
  );

  it('does not repeat a key that was put into the arguments by mistake', async () => {
    for (const args of [
      ['balance', `--${accessKey}`],
      ['balance', '--key', accessKey],
      ['balance', accessKey],
      [accessKey],
      ['capacity', accessKey],
    ]) {
      expect((await run(args)).err).not.toContain(accessKey.slice(0, 8));
    }
  });
});

/** A 200 whose body does not come whole. */
const cut = (fault: unknown) =>
  new Response(new ReadableStream({ start: (controller) => controller.error(fault) }));

describe('a failure', () => {
  it.each([
    [cut(new TypeError('terminated')), 'The answer of https://w.test broke off.'],
    [cut(new DOMException('late', 'TimeoutError')), 'did not answer within 60 seconds'],
    [new TypeError('fetch failed'), 'Nothing answers at https://w.test. Start Weir'],
    [new DOMException('late', 'TimeoutError'), 'did not answer within 60 seconds'],
    [problem(401, 'Authentication failed', 'x'), 'The key was refused (401)'],
    [
      problem(403, 'The key does not allow this', 'The key needs: operator.'),
      'The key does not allow this: The key needs: operator. (403)',
    ],
    [new Response('<html>', { status: 502 }), 'answered 502, but not as a Weir does'],
    [new Response(null, { status: 302, headers: { location: 'https://evil.test/' } }), '302'],
    [new Response('<html>'), 'The answer is not what this version of Weir gives.'],
    [json({ data: 5 }), 'The answer is not what this version of Weir gives.'],
  ])('%# exits with 1 and is one sentence without the key', async (answer, sentence) => {
    const ran = await run(['holds', '--url', 'https://w.test'], [answer]);
    expect([ran.code, ran.out]).toEqual([1, '']);
    expect(ran.err).toContain(sentence);
    expect(ran.err).not.toContain(accessKey);
    expect(ran.err.trimEnd().split('\n')).toHaveLength(1);
    expect(ran.sent.every((request) => request.redirect === 'manual')).toBe(true);
  });

  it('of a top-up names the id that makes the repeat safe', async () => {
    const args = ['topup', '5', '--tenant', 'ten_1'];
    for (const answer of [new TypeError('reset'), cut(new TypeError('terminated'))]) {
      const lost = await run(args, [answer], { OPERATOR_KEY: 'op' });
      const id = /--id (\S+)/.exec(lost.err)?.[1] ?? '';
      expect(await lost.sent[0]?.json()).toMatchObject({ id, micros: 5_000_000 });
    }
    const busy = await run(args, [problem(503, 'The ledger is busy', 'Try again.')]);
    expect(busy.err).toContain('To repeat it safely: --id ');
  });

  it('of a top-up that was refused for good names no repeat, which would be refused as well', async () => {
    const args = ['topup', '5', '--tenant', 'ten_1', '--id', 'used'];
    const ran = await run(args, [problem(409, 'The id stands for another amount', 'Nothing.')]);
    expect([ran.code, ran.err]).toEqual([1, 'The id stands for another amount: Nothing. (409)\n']);
  });
});

describe('the key', () => {
  it.each([
    [['balance'], { WEIR_KEY: 'a', OPERATOR_KEY: 'o' }, 'a'],
    [['topup', '5', '--tenant', 't'], { WEIR_KEY: 'a', OPERATOR_KEY: 'o,old' }, 'o'],
    [['topup', '5', '--tenant', 't'], { WEIR_KEY: 'a' }, 'a'],
    [['balance', '--tenant', 't'], { OPERATOR_KEY: 'o' }, 'o'],
    [['balance', '--tenant', 't'], { WEIR_KEY: '', OPERATOR_KEY: 'o' }, 'o'],
    [['topup', '5', '--tenant', 't'], { WEIR_KEY: 'a', OPERATOR_KEY: '' }, 'a'],
  ])('of %j in %j is %s', async (args, env, key) => {
    const { sent } = await run(args, [problem(403, 'no', 'no')], env);
    expect(sent[0]?.headers.get('authorization')).toBe(`Bearer ${key}`);
  });
});

describe('after npm start', () => {
  const folder = mkdtempSync(join(tmpdir(), 'weir-cli-'));
  writeFileSync(
    join(folder, 'dev.env'),
    '# local\nOPERATOR_KEY=op_local,op_older\nDEMO_KEY=wk_demo\nDEMO_TENANT=ten_demo\nLAST_PORT=9123\n',
  );
  afterAll(() => rmSync(folder, { recursive: true }));
  const local = (args: readonly string[], env: Record<string, string> = {}) =>
    run(args, [problem(403, 'no', 'no')], { WEIR_STATE: folder, ...env });

  it.each([
    ['balance', 'wk_demo', 'http://127.0.0.1:9123/api/v1/ledger'],
    ['topup 5', 'op_local', 'http://127.0.0.1:9123/api/v1/ledger/topups?tenant=ten_demo'],
    ['tenants', 'op_local', 'http://127.0.0.1:9123/api/v1/tenants?limit=50'],
    ['topup 5 --tenant t', 'op_local', 'http://127.0.0.1:9123/api/v1/ledger/topups?tenant=t'],
  ])('%s works on its gateway without any setting', async (line, key, url) => {
    const { sent } = await local(line.split(' '));
    expect(sent[0]?.url).toBe(url);
    expect(sent[0]?.headers.get('authorization')).toBe(`Bearer ${key}`);
  });

  it('its keys go to no other gateway, and a key of yours goes before them', async () => {
    const named = await local(['balance', '--url', 'https://w.test']);
    expect([named.code, named.sent.length]).toEqual([2, 0]);
    const own = await local(['balance'], { WEIR_KEY: 'mine' });
    expect(own.sent[0]?.headers.get('authorization')).toBe('Bearer mine');
  });
});

describe('a list', () => {
  it('shows a table, and how to see more', async () => {
    const ran = await run(['holds', '--limit', '2'], [page([hold(1), hold(2)], 'next')]);
    expect(ran.out).toBe(
      [
        'HOLD    USD  PLACED                LEASE UNTIL           KEY    TAGS',
        'hld_1  1.50  2030-01-01 00:00:00Z  2030-01-01 00:02:00Z  key_1  team=a',
        'hld_2  1.50  2030-01-01 00:00:00Z  2030-01-01 00:02:00Z  key_1  team=a',
        '(more: --limit N or --all)',
        '',
      ].join('\n'),
    );
  });

  it('walks its pages to the end with --all, and gives one JSON document with --json', async () => {
    const pages = [page([hold(1)], 'two'), page([hold(2)], 'three'), page([hold(3)])];
    const ran = await run(['holds', '--all', '--json'], pages);
    expect(JSON.parse(ran.out).map((row: { id: string }) => row.id)).toEqual([
      'hld_1',
      'hld_2',
      'hld_3',
    ]);
    const cursors = ran.sent.map((request) => new URL(request.url).searchParams.get('cursor'));
    expect(cursors).toEqual([null, 'two', 'three']);
  });

  it('asks for no more rows than it shows', async () => {
    const ran = await run(
      ['holds', '--limit', '3'],
      [page([hold(1), hold(2)], 'n'), page([hold(3)])],
    );
    const limits = ran.sent.map((request) => new URL(request.url).searchParams.get('limit'));
    expect(limits).toEqual(['3', '1']);
  });

  it('looks for what is wanted on every page', async () => {
    const review = (id: string, closed: string | null) => ({
      id,
      micros: 5,
      expired_at: '2030-01-01T00:00:00.000Z',
      closed_at: closed,
      closed_by: closed === null ? null : 'operator',
    });
    const pages = [
      page([review('hld_1', '2030-01-02T00:00:00.000Z')], 'two'),
      page([review('hld_2', null)]),
    ];
    const ran = await run(['reviews', '--open', '--limit', '1'], pages);
    expect(ran.out).toContain('hld_2');
    expect(ran.out).not.toContain('hld_1');
    const states = [{ id: 'idm_1', state: 'recorded' }];
    const none = await run(['idempotency', '--unknown'], [page(states)]);
    expect(none.out).toBe('No key waits for a decision.\n');
  });

  it('that is empty says so', async () => {
    expect((await run(['holds'], [page([])])).out).toBe('No hold is open.\n');
    expect((await run(['holds', '--json'], [page([])])).out).toBe('[]\n');
  });
});

describe('an audit', () => {
  const clean = { outcome: 'clean', seq: 9, from_seq: 0, until_seq: null, what: null };
  const copy = { outcome: 'clean', seq: 9, what: null };
  it.each([
    [{ ...clean, copy }, 0, 'agrees up to row 9'],
    [{ ...clean, copy: { ...copy, outcome: 'partial' } }, 0, 'only its beginning'],
    [{ ...clean, copy: { ...copy, outcome: 'fault', what: 'a gap' } }, 1, 'the copy in D1: a gap'],
    [{ ...clean, outcome: 'fault', what: 'memory differs', copy }, 1, 'row 9: memory differs'],
  ])('%# asks until it has an end, and exits with 1 for a fault', async (end, code, text) => {
    const more = { ...clean, outcome: 'more', copy: null };
    const ran = await run(['ledger', 'audit'], [json(more), json(more), json(end)]);
    expect([ran.code, ran.sent.length, ran.err]).toEqual([code, 3, '']);
    expect(ran.out).toContain(text);
  });
});

describe('a hold and a call', () => {
  // ULIDs of 2026-11-30T06:43:10Z and of another moment.
  const id = 'hld_01M8NK2WAVZHEGGXGW4J00ZVCG';
  const beganMs = madeAtMs(id) ?? 0;
  /** The log of a busy ledger: a row a second, the hold's own in the middle. */
  const rows = 100_000;
  const own = 61_234;
  const entry = (seq: number) => ({
    seq,
    at: new Date(beganMs + 1_000 * (seq - own)).toISOString(),
    kind: seq === own ? 'place' : seq === own + 2 ? 'settle' : 'renew',
    id: seq === own || seq === own + 2 ? id : `hld_${seq}`,
    micros: seq === own ? 8_046 : seq === own + 2 ? 30 : null,
    held_micros: seq === own + 2 ? 8_046 : null,
    key_id: 'key_1',
    tags: { team: 'a' },
    note: null,
  });
  const callRow = {
    id: 'call_1',
    started_at: new Date(beganMs).toISOString(),
    latency_ms: 812,
    key_id: 'key_1',
    principal_id: 'prn_1',
    method: 'POST',
    host: 'api.lab.test',
    path: '/v1/chat',
    tier: 4,
    catalog_id: 'lab.chat',
    account: 'main',
    served_via: null,
    outcome: 'answered',
    status: 200,
    code: null,
    blame: null,
    cost_micros: 30,
    hold_id: id,
    evidence: null,
  };

  /** Runs a command against a gateway with that log; `call` is what it says of the call. */
  async function asked(args: readonly string[], row: object = callRow, ledgerStatus = 200) {
    let requests = 0;
    let out = '';
    const code = await main([...args], {
      env: { WEIR_STATE: state, WEIR_KEY: accessKey, WEIR_URL: 'https://w.test' },
      send: async (input) => {
        requests += 1;
        const { pathname, searchParams } = new URL(String(input));
        if (pathname.startsWith('/api/v1/calls/')) return json({ ...callRow, ...row });
        if (ledgerStatus !== 200) return problem(ledgerStatus, 'no', 'The key needs: another.');
        if (pathname === '/api/v1/ledger') return json({ seq: rows });
        const after = Number(searchParams.get('after'));
        const data = Array.from({ length: 100 }, (_, n) => entry(after + 1 + n));
        return json({ data, next_after: after + 100 });
      },
      write: (text) => {
        out += text;
      },
      complain: (text) => {
        out += text;
      },
    });
    return { code, out, requests };
  }

  it('are found in a log of any length, in a handful of requests', async () => {
    const found = await asked(['hold', id]);
    expect(found.out).toBe(
      [
        `hold    ${id}`,
        'held    0.008046 USD',
        'placed  2026-11-30 06:43:10Z',
        'key     key_1',
        'tags    team=a',
        'now     settled: 0.00003 USD charged',
        '',
        'SEQ    AT                    WHAT    ID                                   USD      HELD  NOTE',
        `61234  2026-11-30 06:43:10Z  place   ${id}  0.008046         -  team=a`,
        `61236  2026-11-30 06:43:12Z  settle  ${id}   0.00003  0.008046  team=a`,
        '',
      ]
        .join('\n')
        .replace('SEQ  ', '  SEQ'),
    );
    expect([found.code, found.requests < 16]).toEqual([0, true]);
  });

  it('a call says what it was, how it ended and what its hold became', async () => {
    const { out, code } = await asked(['call', 'call_1']);
    expect(code).toBe(0);
    expect(out).toContain('catalog  lab.chat, account of the operator main');
    expect(out).toContain('ended    answered 200');
    expect(out).toContain('hold     settled: 0.00003 USD charged');
    const { entries } = JSON.parse((await asked(['call', 'call_1', '--json'])).out);
    expect(entries.map(({ kind }: { kind: string }) => kind)).toEqual(['place', 'settle']);
  });

  it('a refusal is said with its meaning and whose fault it is', async () => {
    const refused = { outcome: 'refused', status: 402, code: 'insufficient_balance' };
    const row = { ...refused, blame: 'caller', cost_micros: null, hold_id: null };
    const { out, requests } = await asked(['call', 'call_1'], row);
    expect(out).toContain(
      'refused 402, insufficient_balance: The balance is too low (blame: caller)',
    );
    expect([out.includes('hold'), requests]).toEqual([false, 1]);
  });

  it('whose books the key may not see are said to be those of a tenant above', async () => {
    const { out, code } = await asked(['call', 'call_1'], callRow, 403);
    expect([code, out.includes('on the ledger of a tenant above')]).toEqual([0, true]);
    expect((await asked(['call', 'call_1'], callRow, 503)).code).toBe(1);
  });

  it.each([
    [[{ kind: 'place', micros: 5 }], 'open: '],
    [[{ kind: 'expire', micros: null }], 'expired: nobody saw the end'],
    [[{ kind: 'release', micros: null, note: 'client_gone' }], 'nothing charged (client_gone)'],
    [
      [
        { kind: 'expire', micros: null },
        { kind: 'late_settle', micros: 7 },
      ],
      'settled after its end: 0.000007 USD charged',
    ],
  ])('%# what became of a hold is said in words', (entries, text) => {
    expect(endOf(entries)).toContain(text);
  });

  it.each([
    [['call', 'hld_1'], 'A call is named by its id'],
    [['hold', 'hld_short'], 'A hold is named by its id'],
    [['keys', '--hint', 'wk_1AbCdEfGh'], 'the first eight characters'],
    [['keys', 'revoke', 'wk_1AbCdEfGh'], 'A key is named by its id'],
  ])('%j is not understood, and nothing is sent', async (args, sentence) => {
    const ran = await run(args);
    expect([ran.code, ran.sent.length, ran.err.includes(sentence)]).toEqual([2, 0, true]);
    expect(ran.err).not.toContain('EfGh');
  });
});

describe('capacity', () => {
  const lock = {
    key: 'hunter.find',
    until: '2030-01-01T01:00:00.000Z',
    next_probe_at: '2030-01-01T00:01:00.000Z',
  };
  const snapshot = {
    observed_at: '2030-01-01T00:07:00.000Z',
    remaining: 42.5,
    unit: 'credits',
    error: null,
  };
  const open = {
    provider: 'alpha',
    accounts: ['primary'],
    state: 'open',
    locks: [],
    marks: [],
    snapshot: null,
  };

  it.each([[['capacity']], [['capacity', 'list']]])(
    '%j shows how each account stands',
    async (args) => {
      const locked = {
        ...open,
        provider: 'hunter',
        accounts: ['primary', 'backup'],
        state: 'locked',
        locks: [{ ...lock, key: 'hunter', until: '2030-01-01T02:00:00.000Z' }, lock],
        snapshot,
      };
      const empty = { ...open, provider: 'zeta', state: 'exhausted' };
      const failed = { ...snapshot, remaining: null, error: 'timeout' };
      const away = {
        ...open,
        provider: 'overflow:monid',
        state: 'locked',
        marks: [
          { key: '', until: '2030-01-01T00:15:00.000Z' },
          { key: 'apollo', until: '2030-01-01T00:05:00.000Z' },
        ],
        snapshot: failed,
      };
      const ran = await run([...args], [page([open, locked, away, empty])]);
      expect(ran.sent[0]?.url).toMatch(/\/api\/v1\/capacity\?limit=50$/);
      expect(ran.out).toBe(
        [
          'PROVIDER        STATE      ACCOUNTS        OUT                 UNTIL                 NEXT PROBE                    LEFT  READ',
          'alpha           open       primary         -                   -                     -                                -  -',
          'hunter          locked     primary backup  hunter hunter.find  2030-01-01 01:00:00Z  2030-01-01 00:01:00Z  42.5 credits  2030-01-01 00:07:00Z',
          'overflow:monid  locked     primary         all apollo          2030-01-01 00:05:00Z  -                        (timeout)  2030-01-01 00:07:00Z',
          'zeta            exhausted  primary         reading             -                     -                                -  -',
          '',
        ].join('\n'),
      );
    },
  );

  it('explain asks about the endpoint and the account, and says the summary', async () => {
    const ran = await run(
      ['capacity', 'explain', 'overflow:monid', '--endpoint', 'hunter.find', '--account', 'b'],
      [json({ summary: 'Refused since 2030-01-01 00:00:00Z: …' })],
    );
    expect(ran.sent[0]?.url).toMatch(
      /\/capacity\/overflow%3Amonid\/explain\?endpoint=hunter\.find&account=b$/,
    );
    expect([ran.code, ran.out]).toEqual([0, 'Refused since 2030-01-01 00:00:00Z: …\n']);
  });

  it.each([
    [['--key', 'hunter'], { key: 'hunter' }, 1, 'Cleared 1: lock hunter.\n'],
    [[], {}, 0, 'There was nothing to clear.\n'],
  ] as const)('reset %j clears, and says what', async (args, body, cleared, text) => {
    const items = cleared === 0 ? [] : [{ what: 'lock', key: 'hunter' }];
    const ran = await run(
      ['capacity', 'reset', 'hunter', ...args],
      [json({ provider: 'hunter', cleared, items })],
    );
    expect(await ran.sent[0]?.json()).toEqual(body);
    expect([ran.code, ran.out]).toEqual([0, text]);
  });

  it('knows no other word, and sends nothing for it', async () => {
    const ran = await run(['capacity', 'nonsense']);
    expect([ran.code, ran.sent.length]).toEqual([2, 0]);
    expect(ran.err).toContain('There is no such capacity command "nonsense"');
  });
});

describe('the help', () => {
  it('shows every command, and each command its own options and an example', async () => {
    const general = await run(['--help']);
    expect(general.code).toBe(0);
    for (const { name, examples } of commands) {
      expect(general.out).toContain(`  ${name}`);
      const own = await run([...name.split(' '), '--help']);
      expect([own.code, own.sent.length]).toEqual([0, 0]);
      expect(own.out).toContain(`npm run weir -- ${name}`);
      expect(own.out).toContain(examples[0]);
    }
  });

  it('is shown, with exit code 2, to who says nothing', async () => {
    expect(await run([])).toMatchObject({ code: 2, err: '' });
  });
});

describe('against a gateway', () => {
  let gateway: Gateway;
  let tenant: string;

  beforeAll(async () => {
    gateway = await startGateway();
    tenant = (await gateway.api('POST', '/api/v1/tenants', { name: 'Acme' })).body.id;
  });
  afterAll(() => gateway.dispose());

  const weir = (args: readonly string[], env: Record<string, string> = {}) => {
    const child = spawn(process.execPath, ['scripts/weir.ts', ...args], {
      env: {
        WEIR_STATE: state,
        WEIR_URL: `http://127.0.0.1:${gateway.port}`,
        OPERATOR_KEY: operatorKey,
        ...env,
      },
    });
    let out = '';
    let err = '';
    child.stdout.on('data', (chunk) => {
      out += chunk;
    });
    child.stderr.on('data', (chunk) => {
      err += chunk;
    });
    return new Promise<{ code: number | null; out: string; err: string }>((resolve) => {
      child.on('close', (code) => resolve({ code, out, err }));
    });
  };
  const inTenant = (...args: string[]) => weir([...args, '--tenant', tenant]);

  it('money that was topped up is in the balance, the entries, the CSV and a clean audit', async () => {
    const booked = await inTenant('topup', '25.00', '--id', 'invoice-1');
    expect(booked).toMatchObject({ code: 0, err: '' });
    expect(await inTenant('topup', '25.00', '--id', 'invoice-1')).toEqual(booked);
    expect((await inTenant('topup', '9', '--id', 'invoice-1')).code).toBe(1);
    expect((await inTenant('grant', '0.5', '--id', 'gift-1')).code).toBe(0);
    expect((await inTenant('balance')).out).toMatch(/available\s+25\.50 USD/);
    expect((await inTenant('entries')).out).toMatch(/top_up\s+invoice-1\s+25\.00/);
    const csv = (await inTenant('entries', '--csv')).out.trimEnd().split('\r\n');
    expect(csv).toHaveLength(3);
    expect((await inTenant('ledger', 'audit')).out).toBe(
      'Clean: rows 1 to 2 give exactly these books. The copy in D1 agrees up to row 0.\n',
    );
  });

  it('a key is found by the beginning of its token, and revoked', async () => {
    const owner = { name: 'ops', role: 'owner' };
    const at = (path: string) => `/api/v1${path}?tenant=${tenant}`;
    const principal = (await gateway.api('POST', at('/principals'), owner)).body.id;
    const key = { name: 'leaked', principal_id: principal };
    const { id, hint } = (await gateway.api('POST', at('/keys'), key)).body;
    expect((await inTenant('keys', '--hint', hint)).out).toMatch(
      new RegExp(`^${id} +${hint} +leaked .* -$`, 'm'),
    );
    expect((await inTenant('keys', 'revoke', id)).out).toMatch(`Revoked ${id} (${hint}…) at 20`);
    expect((await inTenant('keys', '--hint', hint)).out).not.toMatch(/-$/m);
    expect((await inTenant('keys', '--hint', 'wk_00000')).out).toBe('No such key here.\n');
  });

  it('capacity shows the accounts of the catalog, explains one and resets it', async () => {
    const none = 'No provider of the catalog has an account here.\n';
    expect(await weir(['capacity'])).toEqual({ code: 0, out: none, err: '' });
    const unknown = await weir(['capacity', 'explain', 'nobody']);
    expect([unknown.code, unknown.out]).toEqual([1, '']);
    expect(unknown.err).toContain('(404)');
  });

  it.each([
    ['holds', 'No hold is open.'],
    ['reviews', 'Nothing to review.'],
    ['idempotency', 'No idempotency key is in use.'],
    ['calls', 'No call yet.'],
    ['catalog search nothing-of-that-name', 'Nothing in the catalog matches.'],
  ])('%s of an empty tenant says so', async (line, text) => {
    expect(await inTenant(...line.split(' '))).toEqual({ code: 0, out: `${text}\n`, err: '' });
  });

  it('tenants are listed, an unknown one is not found, a wrong key is refused', async () => {
    expect((await weir(['tenants'])).out).toContain('Acme');
    expect((await weir(['balance', '--tenant', 'ten_x'])).err).toContain('(404)');
    const refused = await weir(['tenants'], { OPERATOR_KEY: 'wrong' });
    expect([refused.code, refused.err.includes('(401)')]).toEqual([1, true]);
  });

  it('something else than a Weir at the address is told from one', async () => {
    const other: Server = createServer((_, answer) => answer.writeHead(200).end('hello'));
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const { port } = other.address() as AddressInfo;
    const ran = await weir(['tenants', '--url', `http://127.0.0.1:${port}`]);
    other.close();
    expect(ran).toMatchObject({ code: 1, out: '' });
    expect(ran.err).toContain('not what this version of Weir gives');
  });
});
