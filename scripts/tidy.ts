/** `npm run tidy`: types, format and lint, import rules, migrations in step with the schema. `--fix` writes what can be written. */
import { execFile } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { pathToFileURL } from 'node:url';
import { ownArguments } from './lib/arguments.ts';

/** One check: a name and a command from node_modules/.bin. */
type Check = readonly [name: string, command: string, args: readonly string[]];

const checks = (fix: boolean): readonly Check[] => [
  ['types of the Worker', 'tsc', ['-p', 'tsconfig.json']],
  ['types of tests inside workerd', 'tsc', ['-p', 'tsconfig.test.json']],
  ['types of scripts and socket tests', 'tsc', ['-p', 'tsconfig.node.json']],
  ['format and lint', 'biome', ['check', ...(fix ? ['--write'] : []), '--error-on-warnings']],
  [
    'import rules',
    'depcruise',
    ['src', 'durable-objects', '--config', '.dependency-cruiser.cjs', '--output-type', 'err'],
  ],
  ['migrations match the schema', 'drizzle-kit', ['check']],
];

/** What a check printed, and whether it passed. */
const run = ([, command, args]: Check): Promise<{ passed: boolean; output: string }> =>
  new Promise((resolve) => {
    execFile(command, args, { maxBuffer: Number.POSITIVE_INFINITY }, (failure, stdout, stderr) =>
      resolve({
        passed: failure === null,
        output: `${stdout}${stderr}${failure?.code === 'ENOENT' ? failure.message : ''}`,
      }),
    );
  });

/** Runs all checks, one a core at a time (with `fix` one after the other: some write what others read); gives the names of those that failed. */
export async function tidy(fix: boolean): Promise<string[]> {
  const waiting = [...checks(fix)];
  const failed: string[] = [];
  const worker = async (): Promise<void> => {
    for (let check = waiting.shift(); check !== undefined; check = waiting.shift()) {
      const [name] = check;
      const { passed, output } = await run(check);
      console.log(`  ${passed ? 'ok  ' : 'FAIL'}  ${name}`);
      if (passed) continue;
      failed.push(name);
      console.log(output);
    }
  };
  await Promise.all(Array.from({ length: fix ? 1 : availableParallelism() }, worker));
  return failed;
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const usage = 'npm run tidy [-- --fix]\n\n  --fix   writes what can be written';
  const failed = await tidy(ownArguments({ usage, switches: ['fix'] }).isSet('fix'));
  process.exit(failed.length === 0 ? 0 : 1);
}
