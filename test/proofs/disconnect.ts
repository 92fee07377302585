/**
 * `npm run prove -- disconnect`: who leaves, when and how; what the other side notices within a
 * second; what the call's one row says.
 * Promises: exact bytes over raw sockets; the only time that passes is part of a case; every call
 * of the run has one row.
 * The tables are in disconnect/. Called by scripts/prove.ts and test/fault/disconnect.test.ts.
 */
import { startGateway } from '../support/gateway.ts';
import { type Proof, type Staged, same } from '../support/proof.ts';
import { startOrigin } from '../support/recording-origin.ts';
import { makeScenario } from '../support/scenario.ts';
import { sideBySide } from '../support/side-by-side.ts';
import { until } from '../support/until.ts';
import { clientLeaves } from './disconnect/client-leaves.ts';
import {
  cancelled,
  held,
  leave,
  type Named,
  Stand,
  shown,
  silent,
  stillServes,
  upstreams,
  type Visit,
} from './disconnect/stand.ts';
import { talkative } from './disconnect/talkative.ts';
import { upstreamFails } from './disconnect/upstream-fails.ts';

/** `heldMs` 0: before the custody is armed, 600 of them: more than one batch of the log. */
const bursts: readonly Named[] = (
  [
    [50, 150],
    [600, 0],
  ] as const
).map(([count, heldMs]) => [
  `a burst of ${count} RSTs after ${heldMs} ms: ${count} rows, no open upstream connection, the isolate serves on`,
  async (stand) => {
    const visits: Visit[] = [];
    while (visits.length < count) {
      const some = Math.min(burstSize, count - visits.length);
      const each = await Promise.all(
        Array.from({ length: some }, () => stand.visit('native', silent)),
      );
      await Promise.all(each.map((visit) => stand.reached(visit)));
      for (const visit of each) await held(visit, heldMs);
      for (const visit of each) leave(visit, 'RST');
      visits.push(...each);
    }
    const closed = await Promise.all(visits.map((visit) => stand.upstreamClosed(visit)));
    await stillServes(stand);
    await stand.allEnded(visits, cancelled);
    return `last ${shown(Math.max(...closed))}`;
  },
]);
const burstSize = 50;

const oneRowEach: Named = [
  'every call of this run has exactly one row',
  async (stand) => {
    await stillServes(stand);
    const marker = stand.paths.at(-1) as string;
    await until('the last row', async () => (await stand.rows(marker))[0]);
    const counts = await stand.rowCounts();
    const wrong = stand.paths.filter((path) => counts.get(path) !== 1);
    same(wrong, [], 'calls without exactly one row');
    return `${stand.paths.length} calls`;
  },
];

/**
 * Cases that may run side by side: a row waits a second for the log's flush, and nothing here needs
 * the machine for itself.
 */
const together: readonly Named[] = [...clientLeaves, ...upstreamFails];
const sideBySideMax = 8;

async function stage(): Promise<Staged> {
  const origin = await startOrigin();
  const gateway = await startGateway({ allow: [origin.authority] });
  const scenario = await makeScenario(gateway);
  await scenario.secret('vendor', 'sk-vendor-0123456789');
  for (const [name, fields] of Object.entries(upstreams)) {
    const endpoints = [{ host: '127.0.0.1', port: origin.port }];
    await scenario.upstream({ name, alias: `${name}.test`, scheme: 'http', endpoints, ...fields });
  }
  const stand = new Stand(gateway, origin, scenario);
  const { rows, passed } = sideBySide(stand, {
    together,
    after: [...bursts, oneRowEach, talkative],
    max: sideBySideMax,
  });
  return {
    rows,
    figure: () => `${passed()} of ${rows.length} rows hold, ${stand.paths.length} calls`,
    dispose: async () => {
      await gateway.dispose();
      await origin.close();
    },
  };
}

export const proof: Proof = {
  name: 'disconnect',
  title: 'whoever leaves, the other side is let go within a second and the call ends once',
  stage,
};
