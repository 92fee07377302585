/** The rows of `npm run prove -- sweep`, in their order: each begins where the one before it ended. */
import { refuses, silent } from '../../support/priced-origin.ts';
import { holds, same } from '../../support/proof.ts';
import { headerOf } from '../../support/raw-client.ts';
import { until } from '../../support/until.ts';
import type { Stand } from './stand.ts';
import {
  backupKey,
  furtherAccounts,
  keyOf,
  planted,
  says,
  unclassified,
  vendors,
  withheldNote,
} from './vendors.ts';
import { runWeir } from './weir.ts';

/** A name and what must hold; gives what is shown behind it. */
export type SweepRow = readonly [name: string, run: (stand: Stand) => Promise<string | void>];

const accounts = [
  ...vendors('').map(({ slug, want }) => ({ name: slug, want })),
  ...furtherAccounts,
].sort((a, b) => (a.name < b.name ? -1 : 1));

/** What the first firing found, for the rows behind it. */
let firstAtMs = 0;

export const sweepRows: readonly SweepRow[] = [
  [
    'a hand-edited policy is kept, those that are known are added, the others are named for a person',
    async (stand) => {
      const db = await stand.world.gateway.db();
      await db
        .prepare(
          "insert into capacity_policies (provider, capacity_type, funding_mode, source, low_remaining, overflow_allowed, note, created_at) values ('scrapecreators', 'postpaid', 'auto_topup', 'dashboard', 100, 1, 'by hand', 5)",
        )
        .run();
      const edited = async () =>
        (
          await db
            .prepare("select * from capacity_policies where provider = 'scrapecreators'")
            .all()
        ).results;
      const before = await edited();
      firstAtMs = stand.nextFiring();
      await stand.fire(firstAtMs);
      same(await edited(), before, 'the edited policy');
      const { results } = await db.prepare('select provider from capacity_policies').all();
      const known = new Set(results.map(({ provider }) => provider));
      for (const { name } of accounts.filter(({ name }) => !name.includes('#')))
        same(known.has(name), !unclassified.includes(name), `a policy of ${name}`);
      const line = /"event":"sweep\.unclassified","providers":"([^"]*)"/.exec(
        stand.world.gateway.output(),
      );
      same(line?.[1]?.split(' ').sort(), unclassified, 'named in the log');
      return `${known.size} policies, ${unclassified.length} named`;
    },
  ],
  [
    'every account with a key is one row, aggregators and further accounts included, whatever its vendor did',
    async (stand) => {
      const found = await stand.snapshots(firstAtMs);
      // `lab` is the vendor that every world has; it says nothing of its balance.
      same(
        [...found.keys()].sort(),
        [...accounts.map(({ name }) => name), 'lab'].sort(),
        'accounts',
      );
      return `${found.size} accounts`;
    },
  ],
  ...accounts.map(
    ({ name, want }): SweepRow => [
      `${name}: ${want.error ?? want.state}`,
      async (stand) => {
        const row = (await stand.snapshots(firstAtMs)).get(name);
        const seen = Object.fromEntries(Object.keys(want).map((key) => [key, row?.[key]]));
        same(seen, want, name);
      },
    ],
  ),
  [
    'each vendor was asked once, with its own credential; a look-up comes first; where one redirects to is not asked',
    async (stand) => {
      const paths = new Map<string, number>();
      for (const path of stand.asked()) paths.set(path, (paths.get(path) ?? 0) + 1);
      same(
        [...paths.keys()].filter((path) => path !== '/openai/credits' && paths.get(path) !== 1),
        [],
        'asked again',
      );
      same(paths.get('/openai/credits'), 2, 'two accounts');
      holds(paths.has('/deepgram/projects') && paths.has('/deepgram/p-1/credits'), 'the look-up');
      holds(paths.has('/brave/credits'), 'a vendor that is switched off is still read');
      for (const { request } of stand.world.origin.calls) {
        const slug = request.target.split('/')[1] ?? '';
        const sent =
          headerOf(request.lines, `x-${slug}-key`) ?? headerOf(request.lines, 'authorization');
        const own =
          slug === 'monid'
            ? [`Bearer ${keyOf(slug)}`]
            : [keyOf(slug), ...(slug === 'openai' ? [backupKey] : [])];
        holds(own.includes(sent ?? ''), `${request.target} was sent ${sent}`);
      }
      same(stand.elsewhere.connections.length, 0, 'connections elsewhere');
      return `${stand.world.origin.calls.length} requests`;
    },
  ],
  [
    'a firing that comes again reads nothing; two at once on two isolates read once',
    async (stand) => {
      stand.world.origin.clear();
      await stand.fire(firstAtMs);
      await stand.fire(firstAtMs, 1);
      same(stand.asked(), [], 'asked for a firing that was done');
      const atMs = stand.nextFiring();
      await Promise.all([
        stand.fire(atMs),
        stand.fire(atMs, 1),
        stand.fire(atMs),
        stand.fire(atMs, 1),
      ]);
      same(
        stand.asked().filter((path) => path === '/apify/credits').length,
        1,
        'asked by four firings',
      );
      same((await stand.snapshots(atMs)).size, accounts.length + 1, 'rows');
      return '4 firings, 1 sweep';
    },
  ],
  [
    'one slow vendor delays none: all others are stored while it is still being waited for',
    async (stand) => {
      stand.world.origin.clear();
      const atMs = stand.nextFiring();
      const beganAtMs = performance.now();
      const firing = stand.fire(atMs);
      const rows = await until(
        'the rows of all but the slow one',
        async () => {
          const found = await stand.snapshots(atMs);
          return found.size >= accounts.length ? found : undefined;
        },
        stand.waitMs,
      );
      const othersMs = performance.now() - beganAtMs;
      holds(!rows.has('elevenlabs'), 'the slow one has ended already');
      await firing;
      const allMs = performance.now() - beganAtMs;
      holds(allMs < stand.waitMs + 2_000, `the sweep took ${Math.round(allMs)} ms`);
      same((await stand.snapshots(atMs)).get('elevenlabs')?.error, 'late', 'the slow one');
      return `others after ${Math.round(othersMs)} ms, the slow one after ${Math.round(allMs)} of ${stand.waitMs} ms`;
    },
  ],
  [
    'more slow vendors than are asked at a time delay the others by a deadline, and leave none out',
    async (stand) => {
      const slow = ['openai', 'apify', 'gemini', 'anthropic', 'resend'];
      for (const slug of slow) stand.vendor(`/${slug}/credits`, silent);
      const atMs = stand.nextFiring();
      const beganAtMs = performance.now();
      await stand.fire(atMs);
      const tookMs = performance.now() - beganAtMs;
      const found = await stand.snapshots(atMs);
      same(found.size, accounts.length + 1, 'rows');
      for (const slug of slow) same(found.get(slug)?.error, 'late', slug);
      // Seven that are silent (two accounts of one), four at a time.
      holds(tookMs < 2 * stand.waitMs + 2_000, `the sweep took ${Math.round(tookMs)} ms`);
      return `${Math.round(tookMs)} ms`;
    },
  ],
  [
    'an exact reading of nothing left refuses before any hold, other vendors serve; the next sweep that reads something opens it',
    async (stand) => {
      stand.vendor('/openrouter/op', refuses('402 Payment Required'));
      const refused = await until('the refusal', async () => {
        const answer = await stand.tenant.call('openrouter.op');
        return answer.status === 503 ? answer : undefined;
      });
      holds(
        refused.body.toString().includes('provider_capacity'),
        refused.body.toString().slice(0, 200),
      );
      const state = await stand.api('GET', '/capacity?limit=100');
      const shown = state.data.find((row: { provider: string }) => row.provider === 'openrouter');
      same(shown?.state, 'exhausted', 'the view');
      await stand.tenant.ended();
      const booked = await stand.tenant.entries();
      stand.world.origin.clear();
      for (let n = 0; n < 5; n += 1)
        same((await stand.tenant.call('openrouter.op')).status, 503, 'refused');
      same(stand.world.origin.calls.length, 0, 'requests at the empty vendor');
      same((await stand.tenant.entries()).length, booked.length, 'entries: no hold was placed');
      same((await stand.tenant.call('scrapecreators.op')).status, 200, 'another vendor');
      stand.vendor('/openrouter/op', says({ ok: true }));
      stand.vendor('/openrouter/credits', says({ left: 5 }));
      await stand.fire(stand.nextFiring());
      await until('the call to be open', async () =>
        (await stand.tenant.call('openrouter.op')).status === 200 ? true : undefined,
      );
    },
  ],
  [
    'by hand: npm run weir -- capacity sweep --only reads those alone, says what is not there, and the spend of the day is beside it',
    async (stand) => {
      stand.world.origin.clear();
      const swept = await runWeir(stand, [
        'capacity',
        'sweep',
        '--only',
        'openrouter,strange,nobody',
        '--json',
      ]);
      same(swept.code, 1, 'exit code with a name that is not there');
      const run = JSON.parse(swept.stdout);
      same(
        run.data.map((row: { provider: string }) => row.provider),
        ['openrouter', 'strange'],
        'read',
      );
      same(
        [run.unknown, run.not_found, run.unwritten, run.unpublished],
        [['strange'], ['nobody'], [], []],
        'named',
      );
      same(stand.asked(), ['/openrouter/credits', '/strange/credits'], 'asked');
      const listed = await runWeir(stand, [
        'capacity',
        'snapshots',
        '--provider',
        'openrouter',
        '--json',
      ]);
      same(listed.code, 0, 'exit code');
      const [newest] = JSON.parse(listed.stdout);
      const spent = await until(
        'the calls to be copied',
        async () => {
          const page = await stand.api('GET', '/capacity/snapshots?provider=openrouter&limit=1');
          return page.data[0]?.spent_micros > 0 ? Number(page.data[0].spent_micros) : undefined;
        },
        30_000,
      );
      same(
        [newest.remaining, newest.unit, newest.state],
        [5, 'credits', 'ok'],
        'the newest reading',
      );
      const table = await runWeir(stand, ['capacity', 'sweep', '--only', 'tikhub']);
      same([table.code, /tikhub +stale .*dashboard/.test(table.stdout)], [0, true], table.stdout);
      return `${spent} micro-USD spent beside 5 credits`;
    },
  ],
  [
    'no credential, and no text of a vendor but a note that was let through, is stored, shown or printed',
    async (stand) => {
      const db = await stand.world.gateway.db();
      const texts = [
        stand.world.gateway.output(),
        JSON.stringify((await db.prepare('select * from capacity_snapshots').all()).results),
        JSON.stringify((await db.prepare('select * from capacity_policies').all()).results),
        JSON.stringify(await stand.api('GET', '/capacity/snapshots?limit=100')),
        JSON.stringify(await stand.api('GET', '/capacity?limit=100')),
        (await runWeir(stand, ['capacity', 'snapshots', '--all'])).stdout,
      ];
      const secrets = [
        ...accounts.map(({ name }) => keyOf(name.split('#')[0] ?? '')),
        backupKey,
        keyOf('monid'),
        keyOf('orthogonal'),
        planted,
        '_proof_',
      ];
      for (const secret of secrets)
        for (const [n, text] of texts.entries())
          holds(!text.includes(secret), `text ${n} shows ${secret}`);
      holds(
        texts.some((text) => text.includes(withheldNote)),
        'the withheld note is not there to be searched',
      );
      return `${secrets.length} secrets in ${texts.reduce((sum, text) => sum + text.length, 0)} characters: none`;
    },
  ],
];
