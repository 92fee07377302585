/**
 * `npm run catalog -- check | diff | apply | policy`: what each does, and what it prints.
 * Promises: nothing is written before every file has passed; a second apply says "no changes"; exit 0 done, 1 a fault of the files or
 * the database, 2 not understood. Called by scripts/catalog.ts.
 */
import { statSync } from 'node:fs';
import { type EgressPolicy, parseEgressAllow } from '../../../src/domain/egress/allowance.ts';
import { type Arguments, readArguments, type Taken } from '../arguments.ts';
import { type CatalogDatabase, CatalogError, localDatabase, remoteDatabase } from './database.ts';
import { type CatalogChange, changesBetween, rowsOf, statementsFor } from './plan.ts';
import { type PolicyChoice, policyChoice, policyOptions, policyText, runPolicy } from './policy.ts';
import { type CatalogFault, readCatalog } from './read.ts';
import type { CatalogFile } from './schema.ts';

const usage = `npm run catalog -- check|diff|apply [--delete] [--json] [--catalog DIR] [--database DIR | --remote]
npm run catalog -- policy PROVIDER [OPTION…] [--json] [--database DIR | --remote]

  check   reads the files and says what is wrong with them
  diff    shows what apply would change
  apply   changes the database; the gateway follows within CONFIG_TTL_S
  policy  says what kind of account you have at a vendor; without an option, shows it

  --catalog DIR    the files (default catalog)
  --database DIR   state folder of npm start (default WEIR_STATE or .weir)
  --remote         the deployed database of wrangler.toml
  --delete         lets apply take rows away that the files do not have
  --json           one JSON document instead of text

  --type T          prepaid, quota, postpaid, unlimited
  --funding F       manual, auto_topup, subscription
  --source S        where its balance can be read: api, dashboard
  --low N           units below which a person should act; none
  --usd-per-unit N  what a unit of its balance is worth; none
  --overflow YES    whether an aggregator may serve it: yes, no
  --note TEXT       for people

WEIR_EGRESS_ALLOW (host:port pairs) opens local base URLs, as it does for npm start.`;

/** What a person chose. */
interface Choice {
  readonly command: 'check' | 'diff' | 'apply' | 'policy';
  /** Of the command `policy`. */
  readonly policy: PolicyChoice | null;
  readonly json: boolean;
  readonly deletes: boolean;
  readonly folder: string;
  readonly state: string;
  readonly remote: boolean;
}

/** Runs one command; gives the exit code. */
export async function runCatalog(args: readonly string[]): Promise<number> {
  const read = readArguments(args, taken);
  if (read.kind === 'help') {
    console.log(usage);
    return 0;
  }
  const choice = read.kind === 'fault' ? read.sentence : choiceOf(read.given);
  if (typeof choice === 'string') {
    console.error(`${choice}\n${usage}`);
    return 2;
  }
  try {
    return await run(choice);
  } catch (fault) {
    if (!(fault instanceof CatalogError)) throw fault;
    console.error(fault.message);
    return 1;
  }
}

const taken: Taken = {
  usage,
  switches: ['json', 'remote', 'delete'],
  texts: ['catalog', 'database', ...policyOptions],
  wordsMax: 2,
};

/** The choice, or what is wrong with it. */
function choiceOf(given: Arguments): Choice | string {
  const { words, isSet, text } = given;
  const [command, provider] = words;
  if (command !== 'check' && command !== 'diff' && command !== 'apply' && command !== 'policy')
    return command === undefined ? 'Which command?' : `There is no command "${command}".`;
  const policy = command === 'policy' ? policyChoice(provider, given) : null;
  if (typeof policy === 'string') return policy;
  if (policy === null && provider !== undefined) return `"${provider}" is not known here.`;
  const foreign = policyOptions.find((name) => policy === null && isSet(name));
  if (foreign !== undefined) return `--${foreign} is for policy.`;
  const database = text('database');
  if (isSet('delete') && command !== 'apply') return '--delete is for apply.';
  if (isSet('remote') && database !== undefined) return 'Give --database or --remote, not both.';
  const state = database ?? (process.env.WEIR_STATE || '.weir');
  const folder = text('catalog') ?? 'catalog';
  const [json, remote, deletes] = [isSet('json'), isSet('remote'), isSet('delete')];
  return { command, policy, json, deletes, folder, state, remote };
}

async function run(choice: Choice): Promise<number> {
  const { policy } = choice;
  if (policy !== null) return withDatabase(choice, (database) => decided(choice, policy, database));
  if (!isFolder(choice.folder)) throw new CatalogError(`There is no folder ${choice.folder}/.`);
  const read = readCatalog(choice.folder, egressPolicy());
  if (!read.ok) return refused(read.faults, choice.json);
  // Applied, it would take every row away.
  if (read.files.length === 0)
    throw new CatalogError(`There is no catalog file (*.yaml) in ${choice.folder}/.`);
  const endpoints = read.files.reduce((sum, file) => sum + file.endpoints.length, 0);
  const size = { providers: read.files.length, endpoints };
  if (choice.command === 'check') {
    const line = `${size.providers} providers, ${size.endpoints} endpoints: no faults`;
    return said(choice, { ok: true, ...size }, line);
  }
  return withDatabase(choice, (database) => compare(choice, read.files, database));
}

async function withDatabase(
  choice: Choice,
  work: (database: CatalogDatabase) => Promise<number>,
): Promise<number> {
  if (!choice.remote && !isFolder(choice.state))
    throw new CatalogError(
      `There is no folder ${choice.state}/: run npm start once, or name another with --database.`,
    );
  const database = choice.remote ? remoteDatabase() : await localDatabase(choice.state);
  try {
    return await work(database);
  } finally {
    await database.close();
  }
}

async function decided(
  choice: Choice,
  policy: PolicyChoice,
  database: CatalogDatabase,
): Promise<number> {
  const row = await runPolicy(policy, database, Date.now());
  if (typeof row === 'string') throw new CatalogError(row);
  return said(choice, { ok: true, database: database.name, policy: row }, policyText(row));
}

const isFolder = (path: string): boolean =>
  statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;

async function compare(
  choice: Choice,
  files: readonly CatalogFile[],
  database: CatalogDatabase,
): Promise<number> {
  if (choice.command === 'apply' && !choice.deletes) await refuseToDelete(database, files);
  const { changes, applied } = await bring(database, files, choice.command === 'apply');
  const report = { ok: true, database: database.name, applied, changes };
  if (changes.length === 0) return said(choice, report, 'no changes');
  const verb = applied ? 'applied to' : 'to apply to';
  const lines = [...changes.map(lineOf), `${changes.length} changes ${verb} ${database.name}`];
  return said(choice, report, lines.join('\n'));
}

/** The mistake: half a file, or another folder. Whoever calls what is gone gets 404 at once. */
async function refuseToDelete(
  database: CatalogDatabase,
  files: readonly CatalogFile[],
): Promise<void> {
  const changes = changesBetween(await database.rows(), rowsOf(files));
  const gone = changes.filter(({ change }) => change === 'removed');
  if (gone.length === 0) return;
  throw new CatalogError(
    [
      ...gone.map(lineOf),
      `The files lack these ${gone.length}, which ${database.name} has; nothing was changed. A row that is to go gets a tombstone; --delete takes them away.`,
    ].join('\n'),
  );
}

/** Compares, and applies when it shall. Also for scripts that have the database open. */
export async function bring(
  database: Pick<CatalogDatabase, 'rows' | 'apply'>,
  files: readonly CatalogFile[],
  shall: boolean,
): Promise<{ readonly changes: readonly CatalogChange[]; readonly applied: boolean }> {
  const wanted = rowsOf(files);
  const changes = changesBetween(await database.rows(), wanted);
  const applied = shall && changes.length > 0;
  if (applied) await database.apply(statementsFor(changes, wanted, Date.now()));
  return { changes, applied };
}

/** Fills an empty catalog from a folder; one that has rows is left alone. For `npm start`. */
export async function fillEmpty(
  database: Pick<CatalogDatabase, 'rows' | 'apply'>,
  folder: string,
): Promise<void> {
  const { providers } = await database.rows();
  if (providers.size > 0) return;
  const read = readCatalog(folder, egressPolicy());
  if (!read.ok) throw new CatalogError(read.faults.map(faultLine).join('\n'));
  await bring(database, read.files, true);
}

function egressPolicy(): EgressPolicy {
  const allow = parseEgressAllow(process.env.WEIR_EGRESS_ALLOW ?? '');
  if (!allow.ok) throw new CatalogError(`WEIR_EGRESS_ALLOW: ${allow.error}`);
  return { allow: allow.value, gatewayHosts: [], httpsOnly: true };
}

function refused(faults: readonly CatalogFault[], json: boolean): number {
  if (json) console.log(JSON.stringify({ ok: false, faults }, null, 2));
  else for (const fault of faults) console.error(faultLine(fault));
  if (!json) console.error(`${faults.length} faults; nothing was changed`);
  return 1;
}

/** `file:line:column path message`, which editors and terminals open. */
export const faultLine = ({ file, line, column, path, message }: CatalogFault): string =>
  `${file}:${line}:${column} ${path === '' ? '' : `${path} `}${message}`;

const signs = { added: '+', changed: '~', removed: '-' } as const;

/** Fields of one change that are shown; more are counted. */
const shownFieldsMax = 8;

function lineOf(row: CatalogChange): string {
  const { what, id, change, fields } = row;
  const shown = fields.slice(0, shownFieldsMax).join(', ');
  const more = fields.length > shownFieldsMax ? ` and ${fields.length - shownFieldsMax} more` : '';
  return `${signs[change]} ${what} ${id}${shown === '' ? '' : `  ${shown}${more}`}${warningOf(row)}`;
}

function warningOf({ what, change, endsPolls }: CatalogChange): string {
  if (endsPolls) return '  (tasks that are pending are asked through it: a tombstone keeps that)';
  // Who still calls it gets 404 and no word of what to call instead.
  return change === 'removed' && what === 'endpoint' ? '  (a tombstone is kinder)' : '';
}

function said({ json }: Choice, report: object, text: string): number {
  console.log(json ? JSON.stringify(report, null, 2) : text);
  return 0;
}
