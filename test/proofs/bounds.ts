/**
 * `npm run prove -- bounds`: every limit of the wire, of the metered road and of management is
 * attacked once over sockets: at it a request passes, beyond it comes a typed refusal and the origin
 * is not asked. Limits that no request reaches are attacked where they are kept: catalog files, the
 * ledger's own statements, queue and journal. The tables are in bounds/. Called by scripts/prove.ts
 * and test/fault/bounds.test.ts.
 */

import { writeCatalog } from '../../scripts/lib/catalog/write.ts';
import { freePorts } from '../../scripts/lib/ports.ts';
import { poolEndpointsMax } from '../../src/base/limits.ts';
import { startGateway } from '../support/gateway.ts';
import { type Proof, type Row, type Staged, same } from '../support/proof.ts';
import { startOrigin } from '../support/recording-origin.ts';
import { makeScenario } from '../support/scenario.ts';
import { inCatalogFiles } from './bounds/catalog-files.ts';
import { everyLimit } from './bounds/every-limit.ts';
import { inTheCode } from './bounds/in-code.ts';
import { inTheJobs } from './bounds/in-jobs.ts';
import { inTheLedger } from './bounds/in-ledger.ts';
import { inManagement } from './bounds/management.ts';
import { account, labFile, onTheMeteredRoad } from './bounds/metered.ts';
import { inSmallWorlds } from './bounds/small-world.ts';
import type { Named, Stand } from './bounds/stand.ts';
import { onTheWire } from './bounds/wire.ts';

/** A row of the management API: whatever it does, no upstream hears of it. */
const asksNoOrigin = ([name, run]: Named): Named => [
  name,
  async (stand) => {
    const before = stand.origin.connections.length;
    const shown = await run(stand);
    same(stand.origin.connections.length, before, 'connections of the origin');
    return shown;
  },
];

async function stage(): Promise<Staged> {
  const origin = await startOrigin();
  const [countingPort = 0] = await freePorts(1);
  // One more than a pool may have, all on the origin's port.
  const hosts = Array.from({ length: poolEndpointsMax + 1 }, (_, i) => `127.0.0.${i + 1}`);
  const pairs = hosts.map((host) => `${host}:${origin.port}`);
  const gateway = await startGateway({
    allow: [...pairs, `127.0.0.1:${countingPort}`],
    bindings: { PLATFORM_SETTINGS: JSON.stringify({ [account.setting]: account.key }) },
  });
  await writeCatalog(await gateway.db(), origin.authority, [labFile(origin.authority)]);
  const scenario = await makeScenario(gateway);
  await scenario.post('/ledger/topups', { id: 'start', micros: 1_000_000 });
  await scenario.secret('vendor', 'sk-vendor-0123456789');
  const registered = (name: string, port: number, parts: object = {}): Promise<string> => {
    const endpoints = [{ host: '127.0.0.1', port }];
    return scenario.upstream({ name, alias: `${name}.test`, scheme: 'http', endpoints, ...parts });
  };
  await registered('native', origin.port);
  await registered('counting', countingPort);
  const bindings = [{ location: 'json', name: 'api_key', secret: 'cred://vendor' }];
  await registered('bound', origin.port, { bindings });
  const upstreamId = await registered('routed', origin.port);
  const known = { principalId: scenario.principalId, upstreamId, hosts, port: origin.port };
  const stand: Stand = { gateway, origin, scenario, known, countingPort };
  let passed = 0;
  const rows: Row[] = [
    ...onTheWire,
    ...onTheMeteredRoad,
    ...inManagement.map(asksNoOrigin),
    ...inCatalogFiles,
    ...inTheCode,
    ...inTheLedger,
    ...inTheJobs,
    ...inSmallWorlds,
    everyLimit,
  ].map(([name, run]) => ({
    name,
    run: async () => {
      const shown = await run(stand);
      passed += 1;
      return typeof shown === 'string' ? shown : undefined;
    },
  }));
  return {
    rows,
    figure: () => `${passed} of ${rows.length} limits hold`,
    dispose: async () => {
      await gateway.dispose();
      await origin.close();
    },
  };
}

export const proof: Proof = {
  name: 'bounds',
  title: 'each limit is attacked once: a typed refusal, and the origin is not asked',
  stage,
};
