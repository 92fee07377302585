/**
 * CI: `npm test`, then every proof in its full form, one after the other; what failed is said again at the end, and the last
 * line has the totals of all of them.
 * The benchmark is not here: its bars need a quiet machine (`npm run bench`).
 * Promises: ends within `allMinutesMax`; what does not end within its own limit is a failure, and a proof that could not end in time is
 * not begun: it is named and counted as skipped.
 */
import { hasList } from '../test/proofs/cases/list.ts';
import { type BoundedEnd, runBounded } from '../test/support/bounded-run.ts';

/** All of it, minutes: less than what CI gives. */
const allMinutesMax = 85;
/** One script, minutes; `minutesMaxOf` has the exceptions. */
const scriptMinutesMax = 20;
const minutesMaxOf: Readonly<Record<string, number>> = { kill: 25 };

/** Proofs in the order of their cost. */
const proofs = [
  'bounds',
  'ledger-model',
  'overspend',
  'idempotency',
  'upgrade',
  'metered-sse',
  'classify',
  'sweep',
  'spacer',
  'breaker',
  'breaker-model',
  'overflow',
  'tasks',
  'cases',
  'disconnect-money',
  'real-clients',
  'wire',
  'smuggling',
  'ssrf',
  'secrets',
  'disconnect',
  'revoke',
  'newcomer',
  'real-upstream',
  'kill',
];

interface Totals {
  passed: number;
  failed: number;
  skipped: number;
}

interface Ran extends BoundedEnd {
  readonly output: string;
}

/** Runs one of our scripts, showing its output as it comes; gives how it ended and everything it printed. */
async function run(script: string, args: readonly string[], limitMs: number): Promise<Ran> {
  const chunks: Buffer[] = [];
  const end = await runBounded(
    'node',
    ['--disable-warning=ExperimentalWarning', `scripts/${script}.ts`, ...args],
    {
      limitMs,
      onOutput: (chunk) => {
        chunks.push(chunk);
        process.stdout.write(chunk);
      },
    },
  );
  return { ...end, output: Buffer.concat(chunks).toString('utf8') };
}

function count(output: string, word: 'passed' | 'failed' | 'skipped'): number {
  const found = [...output.matchAll(new RegExp(`(\\d+) ${word}`, 'g'))].at(-1);
  return Number(found?.[1] ?? 0);
}

/** What a script counted: its closing line, or the rows that it has shown when it was cut off before. */
function totalsOf({ code, by, output }: Ran): Totals {
  const lines = output.split('\n');
  const closing = lines.findLast((line) => /^\d+ passed, \d+ failed/.test(line));
  if (closing === undefined) {
    const shown = (mark: string): number => lines.filter((line) => line.startsWith(mark)).length;
    return { passed: shown('  ok    '), failed: shown('  FAIL  ') + 1, skipped: 0 };
  }
  const failed = count(closing, 'failed');
  return {
    passed: count(closing, 'passed'),
    failed: code === 0 && by === 'itself' ? failed : Math.max(1, failed),
    skipped: count(closing, 'skipped'),
  };
}

/** A clone without the shared list beside it shows what it has. */
const argsOf = (name: string): readonly string[] =>
  hasList() || !(name === 'cases' || name === 'classify') ? [name] : [name, '--without-list'];

/** What is said again of one script's failures at the end, lines. */
const faultLinesMax = 40;

/** The lines of a script's output that tell what failed and why: each mark with what stands under it. */
function faultsIn(output: string): readonly string[] {
  const marked = /^(FAIL|\s+FAIL|\s+not ended|\s+×|the tests did not end|⎯+ Unhandled|\w*Error:)/;
  const lines = output.split('\n');
  const under = 6;
  const near = lines.map((_, at) =>
    lines.slice(Math.max(0, at - under), at + 1).some((line) => marked.test(line)),
  );
  const told = lines.filter(
    (line, at) => near[at] && line.trim() !== '' && !line.startsWith('  ok '),
  );
  return (told.length > 0 ? told : lines.slice(-under))
    .slice(0, faultLinesMax)
    .map((line) => line.slice(0, 400));
}

const failures: string[] = [];
const totals: Totals = { passed: 0, failed: 0, skipped: 0 };
const scripts: readonly (readonly [name: string, script: string, args: readonly string[]])[] = [
  ['test', 'test', []],
  ...proofs.map((name) => [name, 'prove', argsOf(name)] as const),
];
for (const [name, script, args] of scripts) {
  console.log(`\n== ${script} ${args.join(' ')}`);
  const minutesMax = minutesMaxOf[name] ?? scriptMinutesMax;
  if (performance.now() > (allMinutesMax - minutesMax) * 60_000) {
    console.log(`skipped ${name}: it could not end before minute ${allMinutesMax}`);
    totals.skipped += 1;
    continue;
  }
  const ran = await run(script, args, minutesMax * 60_000);
  if (ran.by === 'limit') console.log(`FAIL ${name}: not ended within ${minutesMax} minutes`);
  const { passed, failed, skipped } = totalsOf(ran);
  totals.passed += passed;
  totals.failed += failed;
  totals.skipped += skipped;
  if (failed > 0) failures.push(`${name}: ${failed} failed`, ...faultsIn(ran.output));
  if (ran.by === 'signal') break;
}
if (failures.length > 0) console.log(`\n== what failed\n${failures.join('\n')}`);
console.log(`\n${totals.passed} passed, ${totals.failed} failed, ${totals.skipped} skipped`);
process.exit(totals.failed === 0 ? 0 : 1);
