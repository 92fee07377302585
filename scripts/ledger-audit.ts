/**
 * `npm run ledger:audit`: is every ledger of the local Weir right? `--json` for machines. Exit 0:
 * all clean; 1: a fault, or it could not look. For a running or deployed Weir: `npm run weir --
 * ledger audit`.
 */
import { existsSync } from 'node:fs';
import { bundleWorker } from './build.ts';
import { ownArguments } from './lib/arguments.ts';
import { loadDevEnv } from './lib/dev-env.ts';
import { auditLedgers, type LedgerFinding } from './lib/ledger-audit.ts';
import { isOurs } from './lib/management.ts';
import { migrate } from './lib/migrations.ts';
import { startWorkerd } from './lib/miniflare.ts';
import { freePorts } from './lib/ports.ts';

const usage = `npm run ledger:audit [-- --json]

  --json       one JSON document instead of text

  WEIR_STATE   state folder of npm start (default .weir); stop it first`;

const given = ownArguments({ usage, switches: ['json'] });
const state = process.env.WEIR_STATE || '.weir';

/** Why there is nothing to look at; `null`: there is. */
async function obstacle(): Promise<string | null> {
  if (!existsSync(`${state}/state`)) return `There is no Weir in ${state}/: run npm start once.`;
  const { LAST_PORT: last, OPERATOR_KEY: key = '' } = loadDevEnv(`${state}/dev.env`);
  if (last === undefined || !(await isOurs(Number(last), key))) return null;
  return `A Weir runs on ${state}/, on port ${last}: stop it, or use npm run weir -- ledger audit.`;
}

async function findings(): Promise<readonly LedgerFinding[]> {
  const [{ path: bundle }, [port = 0]] = await Promise.all([bundleWorker(), freePorts(1)]);
  const workerd = await startWorkerd({
    bundle,
    isolates: [{ port, bindings: {} }],
    persist: `${state}/state`,
    onLine: (line) => console.error(line),
  });
  try {
    await migrate(await workerd.db());
    return await auditLedgers(workerd);
  } finally {
    await workerd.dispose();
  }
}

const line = (f: LedgerFinding): string =>
  `${f.faults.length === 0 ? 'clean' : 'FAULT'}  ${f.tenantId}  rows ${f.seq}, copied ${f.copiedSeq}` +
  `  available ${f.availableMicros}  held ${f.heldMicros} in ${f.openHolds}` +
  `  settled ${f.settledMicros} micro-USD${f.faults.map((fault) => `\n       ${fault}`).join('')}`;

const why = await obstacle();
if (why === null) {
  const found = await findings();
  const isClean = found.every(({ faults }) => faults.length === 0);
  if (given.isSet('json')) console.log(JSON.stringify({ clean: isClean, ledgers: found }));
  else console.log([...found.map(line), `${found.length} ledgers looked at`].join('\n'));
  process.exitCode = isClean ? 0 : 1;
} else {
  console.error(why);
  process.exitCode = 1;
}
