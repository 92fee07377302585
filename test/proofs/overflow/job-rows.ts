/** What the overflow jobs guarantee, through the real command line and the real Cron. Called by test/proofs/overflow.ts. */
import { refuses, resets } from '../../support/priced-origin.ts';
import { holds, type Row, same } from '../../support/proof.ts';
import { JobStand, type Leg, relays, says, standKeys, thereMicros } from './job-stand.ts';

const body = { hits: [{ id: 1 }, { id: 2 }] };
const served = says('200 OK', { hits: [{ id: 7 }] });

/** A row per verdict: its legs, what is said of it, and how its route stands after the sync behind. */
const cases: Readonly<
  Record<string, Leg & { readonly said: readonly [string, string]; readonly stands: string | null }>
> = {
  fine: { direct: served, relay: relays(body), said: ['passed', 'passed'], stands: null },
  shape: {
    direct: served,
    relay: relays({ hits: 3 }),
    said: ['failed', 'shape'],
    stands: 'verification_failed',
  },
  gone: {
    direct: served,
    relay: relays({ error: 'x' }, '404 Not Found'),
    said: ['failed', 'relay_status_404'],
    stands: 'verification_failed',
  },
  strict: {
    direct: served,
    relay: says('422 No', { success: false, error: 'q is not known' }),
    said: ['failed', 'contract'],
    stands: 'verification_failed',
  },
  stale: {
    direct: refuses('400 Bad'),
    relay: relays({ error: 'x' }, '400 Bad'),
    said: ['inconclusive', 'direct_status_400'],
    stands: 'not_verified',
  },
  dry: {
    direct: refuses('402 Payment Required'),
    relay: relays(body),
    said: ['inconclusive', 'direct_dry'],
    stands: null,
  },
  empty: {
    direct: served,
    relay: relays({ error: 'not enough credits' }, '402 Payment Required'),
    said: ['aggregator', 'vendor_dry'],
    stands: 'not_verified',
  },
  broken: {
    direct: served,
    relay: says('502 Bad Gateway', 'bad gateway'),
    said: ['aggregator', 'malformed'],
    stands: 'not_verified',
  },
  reset: {
    direct: served,
    relay: resets(),
    said: ['aggregator', 'unreachable'],
    stands: 'not_verified',
  },
};

type Named = readonly [name: string, run: (stand: JobStand) => Promise<string | void>];

const syncLive: Named = [
  'overflow sync --live: exactly the rows that a catalog names by host, method and path, every one off until it is verified',
  async (stand) => {
    const strangers = [
      { ...stand.offers()[0], method: 'POST' },
      { ...stand.offers()[0], host: 'elsewhere.example' },
      { ...stand.offers()[0], path: '/acme/fine/' },
      'nonsense',
    ];
    stand.catalog = says('200 OK', { endpoints: [...strangers, ...stand.offers()] });
    const { code, document } = await stand.weir('overflow', 'sync', '--live');
    same(code, 0, 'exit code');
    const rows = Object.keys(cases).length + 2;
    same(
      [document.rows, document.enabled, document.off],
      [rows, 0, { not_verified: rows }],
      'sync',
    );
    same(
      document.catalogs[0],
      { aggregator: 'orthogonal', outcome: 'read', offers: rows + 3, left_out: 1, matched: rows },
      'catalog',
    );
  },
];

const withoutAll: Named = [
  'overflow verify without --all visits no route that was never verified: nothing was attempted, exit 1',
  async (stand) => {
    const { code, document } = await stand.weir('overflow', 'verify');
    same([code, document.alarm, document.data], [1, 'nothing_attempted', []], 'verify');
    same(stand.arrived('/orthogonal/run').length, 0, 'sends');
  },
];

const verifyAll: Named = [
  'overflow verify --all: every verdict of the specification, stamps and reasons, and the sync behind it; exit 0, a failed route is a result',
  async (stand) => {
    const { code, document } = await stand.weir('overflow', 'verify', '--all');
    const said = new Map<string, readonly unknown[]>(
      document.data.map((each: Record<string, unknown>) => [
        each.endpoint,
        [each.verdict, each.reason],
      ]),
    );
    for (const [name, { said: wanted }] of Object.entries(cases))
      same(said.get(`acme.${name}`), wanted, name);
    same(said.get('bare.look'), ['inconclusive', 'no_key'], 'without a key of ours');
    same(said.get('bare.untested'), [null, 'no_test_request'], 'without a test request');
    same([code, document.alarm], [0, null], 'exit code');
    const routes = await stand.routes();
    for (const [name, { stands }] of Object.entries(cases))
      same(routes[`acme.${name}`]?.slice(0, 2), [stands === null, stands], `route of ${name}`);
    return `${said.size} routes`;
  },
];

const secretsStay: Named = [
  'each key goes to its own place and nowhere else, and no answer of the jobs shows one',
  async (stand) => {
    const { ACME_KEY, OVERFLOW_KEY_ORTHOGONAL, OVERFLOW_KEY_MONID } = standKeys;
    const text = (path: string): string =>
      stand
        .arrived(path)
        .map(({ request }) => `${request.lines.join('\n')}\n${request.body.toString()}`)
        .join('\n');
    const [direct, relay] = [text('/acme/'), text('/orthogonal/')];
    holds(direct.includes(ACME_KEY) && relay.includes(OVERFLOW_KEY_ORTHOGONAL), 'keys arrive');
    holds(!relay.includes(ACME_KEY) && !direct.includes(OVERFLOW_KEY_ORTHOGONAL), 'keys cross');
    const shown = [
      await stand.weir('overflow', 'routes', '--all'),
      await stand.weir('overflow', 'spend'),
    ];
    for (const key of [ACME_KEY, OVERFLOW_KEY_ORTHOGONAL, OVERFLOW_KEY_MONID])
      holds(
        !JSON.stringify(shown).includes(key) && !stand.world.gateway.output().includes(key),
        'shown',
      );
  },
];

const spendKnown: Named = [
  'overflow spend: known costs are spent, unknown ones stay reserved, refused runs cost nothing',
  async (stand) => {
    const { document } = await stand.weir('overflow', 'spend');
    const [day] = document.data[0].days;
    // Relayed with a price: fine, shape, gone, stale, dry, empty, bare.look. Refused: strict. Not known: broken, reset.
    same(
      [day.spent_micros, day.reserved_micros, day.calls],
      [7 * thereMicros, 2 * thereMicros, 7],
      'day',
    );
    same(document.data[1].days[0].calls, 0, 'the other aggregator');
  },
];

const failedStays: Named = [
  'a failed route stays off through every sync until it passes; then the sync behind turns it on',
  async (stand) => {
    await stand.weir('overflow', 'sync');
    same((await stand.routes())['acme.shape']?.[0], false, 'after a sync');
    stand.legs.set('shape', { direct: served, relay: relays(body) });
    await stand.weir('overflow', 'verify', '--all');
    same((await stand.routes())['acme.shape'], [true, null, true], 'after it passed');
  },
];

const catalogLost: Named = [
  'a catalog that refuses, breaks or is no catalog turns nothing off; one that no longer has a row turns that one off',
  async (stand) => {
    const before = await stand.routes();
    for (const plan of [
      refuses('401 No'),
      resets(),
      says('200 OK', { items: [] }),
      says('302 Found', {}),
    ]) {
      stand.catalog = plan;
      same((await stand.weir('overflow', 'sync', '--live')).code, 0, 'exit code');
      same(await stand.routes(), before, 'routes');
    }
    const [, ...rest] = stand.offers();
    stand.catalog = says('200 OK', { endpoints: rest });
    await stand.weir('overflow', 'sync', '--live');
    same((await stand.routes())['acme.fine']?.slice(0, 2), [false, 'missing_from_sync'], 'gone');
    stand.catalog = says('200 OK', { endpoints: stand.offers() });
    await stand.weir('overflow', 'sync', '--live');
    same(await stand.routes(), before, 'back');
  },
];

const cronTwice: Named = [
  'the weekly Cron, fired twice at once in two isolates and again later, asks each route once',
  async (stand) => {
    const before = stand.arrived('/orthogonal/run').length;
    const at = Date.now();
    await Promise.all([stand.fire(at, 0), stand.fire(at, 1)]);
    await stand.fire(at, 1);
    const stamped = Object.values(await stand.routes()).filter(([, , isStamped]) => isStamped);
    same(stand.arrived('/orthogonal/run').length - before, stamped.length, 'runs');
    return `${stamped.length} routes`;
  },
];

const ourKey: Named = [
  'our key refused on one route makes the run exit 1; its routes stay as they are',
  async (stand) => {
    const before = await stand.routes();
    stand.legs.set('fine', {
      direct: served,
      relay: says('401 Unauthorized', { success: false, code: 'UNAUTHORIZED' }),
    });
    const { code, document } = await stand.weir('overflow', 'verify');
    same([code, document.alarm], [1, 'our_key'], 'exit');
    same(await stand.routes(), before, 'routes');
    stand.legs.set('fine', {
      direct: served,
      relay: says('402 Pay', { success: false, code: 'INSUFFICIENT_CREDITS' }),
    });
    const broke = await stand.weir('overflow', 'verify');
    same([broke.code, broke.document.alarm], [1, 'our_balance'], 'exit');
  },
];

/** A world of its own: five routes of 8, a budget of 20. */
const budgetRow: Row = {
  name: 'C081: a verification of five routes of 8 with a budget of 20 sends two; three are refused before the network',
  run: async () => {
    const leg = { direct: served, relay: says('200 OK', { success: true, data: body }) };
    const legs = { a: leg, b: leg, c: leg, d: leg, e: leg };
    const stand = await JobStand.start({
      legs,
      budgetUsd: 0.02,
      priceMicros: 8_000,
      oursMicros: 8_000,
    });
    try {
      stand.catalog = says('200 OK', { endpoints: stand.offers().slice(0, 5) });
      await stand.weir('overflow', 'sync', '--live');
      const { document } = await stand.weir('overflow', 'verify', '--all');
      const reasons = document.data.map((each: Record<string, unknown>) => each.reason).sort();
      same(reasons, ['budget', 'budget', 'budget', 'passed', 'passed'], 'reasons');
      same(stand.arrived('/orthogonal/run').length, 2, 'sends');
      const spend = await stand.weir('overflow', 'spend');
      // No price was said: the estimates stay spent.
      same(spend.document.data[0].days[0].reserved_micros, 16_000, 'reserved');
    } finally {
      await stand.world.dispose();
    }
  },
};

/** In this order: each builds on what the one before left. */
const named: readonly Named[] = [
  syncLive,
  withoutAll,
  verifyAll,
  spendKnown,
  secretsStay,
  failedStays,
  catalogLost,
  cronTwice,
  ourKey,
];

export const startJobs = (): Promise<JobStand> => JobStand.start({ legs: cases });

export const jobRows = (stand: JobStand): readonly Row[] => [
  ...named.map(([name, run]): Row => ({ name, run: () => run(stand) })),
  budgetRow,
];
