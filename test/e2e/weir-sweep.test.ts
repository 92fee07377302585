/** `npm run weir -- capacity sweep` and `capacity snapshots`: what they send, what they show, what they exit with. */
import { describe, expect, it } from 'vitest';
import { main } from '../../scripts/weir/main.ts';

const reading = (parts: object = {}) => ({
  id: 'snp_1',
  provider: 'openrouter',
  account: 'primary',
  sweep_at: '2030-01-01T00:07:00.000Z',
  observed_at: '2030-01-01T00:07:01.000Z',
  state: 'ok',
  remaining: 12.5,
  total: 20,
  unit: 'usd',
  resets_at: null,
  source: 'api',
  confidence: 'exact',
  note: 'Pro',
  error: null,
  ...parts,
});
const run = (parts: object = {}) => ({
  outcome: 'done',
  data: [
    reading(),
    reading({
      account: 'backup',
      state: 'stale',
      remaining: null,
      total: null,
      unit: null,
      confidence: 'none',
      error: 'late',
    }),
  ],
  unknown: [],
  not_found: [],
  unpublished: [],
  unwritten: [],
  unused_accounts: [],
  ...parts,
});

/** Runs a command as the operator against one answer. */
async function ran(args: readonly string[], answer: object) {
  const sent: Request[] = [];
  let [out, err] = ['', ''];
  const code = await main(['capacity', ...args], {
    env: {
      WEIR_STATE: '/nonexistent',
      WEIR_URL: 'http://127.0.0.1:1',
      OPERATOR_KEY: 'operator',
      WEIR_KEY: 'wk_other',
    },
    send: async (input, init) => {
      sent.push(new Request(input, init));
      return Response.json(answer);
    },
    write: (text) => {
      out += text;
    },
    complain: (text) => {
      err += text;
    },
  });
  const [request] = sent;
  return {
    code,
    out,
    err,
    request,
    body: request?.method === 'POST' ? await request.json() : null,
  };
}

describe('capacity sweep', () => {
  it('reads all as the operator, and needs no tenant', async () => {
    const { code, out, request, body } = await ran(['sweep'], run());
    expect([code, body]).toEqual([0, { only: null }]);
    expect(request?.url).toBe('http://127.0.0.1:1/api/v1/capacity/sweep');
    expect(request?.headers.get('authorization')).toBe('Bearer operator');
    expect(out.split('\n').map((line) => line.split(/ {2,}/))).toEqual([
      ['ACCOUNT', 'STATE', 'LEFT', 'OF', 'UNIT', 'SURE', 'RESETS', 'FROM', 'NOTE'],
      ['openrouter', 'ok', '12.5', '20', 'usd', 'exact', '-', 'api', 'Pro'],
      ['openrouter#backup', 'stale', '-', '-', '-', 'none', '-', 'api', 'late'],
      [''],
    ]);
  });

  it('reads those that are named, and gives the document as it is', async () => {
    const { out, body } = await ran(['sweep', '--only', 'a, overflow:b', '--json'], run());
    expect(body).toEqual({ only: ['a', 'overflow:b'] });
    expect(JSON.parse(out)).toEqual(run());
  });

  it.each<[string, object, number, string]>([
    [
      'a vendor without a meter',
      { data: [reading({ source: 'dashboard', state: 'stale' })] },
      0,
      'publishes no meter',
    ],
    [
      'a vendor of whom nothing is known',
      { data: [reading({ source: 'unknown' })] },
      0,
      'no balance call is known',
    ],
    ['a vendor that did not say', { data: [reading({ error: 'status_500' })] }, 0, 'status_500'],
    [
      'an account that nobody classified',
      { unknown: ['x', 'y'] },
      0,
      'Not classified (docs/operations.md): x, y.',
    ],
    [
      'an account of the deployment that no call can use',
      { unused_accounts: ['opnai/backup'] },
      0,
      'In PLATFORM_ACCOUNTS, but no call can use it: opnai/backup.',
    ],
    [
      'a reading that the road was not told',
      { unpublished: ['x'] },
      0,
      'the road was not told: x.',
    ],
    ['a reading that was not stored', { unwritten: ['x'] }, 1, 'Read, but not stored: x.'],
    [
      'a name without an account',
      { not_found: ['x'] },
      1,
      'No account of that name has a credential: x.',
    ],
    ['no account at all', { data: [] }, 0, 'No vendor account has a credential.'],
  ])('shows %s', async (_, parts, expected, text) => {
    const { code, out } = await ran(['sweep'], run(parts));
    expect(code).toBe(expected);
    expect(out).toContain(text);
  });

  it('that meets another one says so, exit 1', async () => {
    const { code, err } = await ran(['sweep'], run({ outcome: 'skipped', data: [] }));
    expect([code, err]).toEqual([1, expect.stringContaining('Another sweep is at work.')]);
  });
});

describe('capacity snapshots', () => {
  it('lists readings beside the spend of their day', async () => {
    const row = reading({ remaining_micros: 12_500_000, spent_micros: 2500 });
    const other = reading({ remaining_micros: null, spent_micros: 0 });
    const { code, out, request } = await ran(
      ['snapshots', '--provider', 'openrouter', '--limit', '2'],
      {
        data: [row, other],
        next_cursor: null,
      },
    );
    expect(code).toBe(0);
    expect(request?.url).toBe(
      'http://127.0.0.1:1/api/v1/capacity/snapshots?provider=openrouter&limit=2',
    );
    expect(out).toMatch(/2030-01-01 00:07:01Z .* 12\.50 +0\.0025\n/);
    expect(out).toMatch(/ - +0\.00\n/);
  });

  it('says when there is none', async () => {
    const { out } = await ran(['snapshots'], { data: [], next_cursor: null });
    expect(out).toBe('No sweep has run yet.\n');
  });
});
