/**
 * `npm test`: tidy, then every vitest project, then one closing line with the true totals. Arguments go to vitest (a file, `-t name`)
 * and skip tidy.
 * Promises: ends after `testMinutesMax`; what hangs then is a failure with the names of the files that have not reported.
 */
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { runBounded } from '../test/support/bounded-run.ts';
import { clearProgress, readProgress } from '../test/support/run-progress.ts';
import { tidy } from './tidy.ts';

/** Five times what a run needs on two idle cores: a machine at half speed with a neighbour is slow, it does not hang. CI gives more. */
const testMinutesMax = 30;

interface Totals {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

interface Report {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
  readonly numTodoTests: number;
  readonly numFailedTestSuites: number;
  readonly success: boolean;
}

const args = process.argv.slice(2);
const startedAt = performance.now();
const untidy = args.length === 0 ? await tidy(false) : [];
const report = '.weir/test-report.json';
mkdirSync('.weir', { recursive: true });
rmSync(report, { force: true });
clearProgress();
const run = await runBounded(
  'vitest',
  [
    'run',
    '--reporter=default',
    '--reporter=json',
    '--reporter=./test/support/run-progress.ts',
    `--outputFile.json=${report}`,
    ...args,
  ],
  { limitMs: testMinutesMax * 60_000 - (performance.now() - startedAt) },
);

/** The totals of a run that ended by itself. */
function reported(): Totals | null {
  try {
    const all = JSON.parse(readFileSync(report, 'utf8')) as Report;
    const suites = all.numFailedTests === 0 && !all.success ? all.numFailedTestSuites : 0;
    return {
      passed: all.numPassedTests,
      failed: all.numFailedTests + suites,
      skipped: all.numPendingTests + all.numTodoTests,
    };
  } catch {
    return null;
  }
}

/** The totals of a run that was cut off: a file that was at work has failed, one that was not begun was skipped. */
function cutOff(): Totals {
  const { passed, failed, skipped, open, waiting } = readProgress();
  for (const file of open) console.error(`  not ended  ${file}`);
  for (const file of waiting) console.error(`  not begun  ${file}`);
  return { passed, failed: failed + Math.max(1, open.length), skipped: skipped + waiting.length };
}

if (run.by === 'limit') console.error(`the tests did not end within ${testMinutesMax} minutes`);
const ended = run.by === 'itself' ? reported() : null;
if (run.by === 'itself' && ended === null) console.error('vitest left no report');
const totals = ended ?? cutOff();
const checks = args.length === 0 ? 6 : 0;
const passed = totals.passed + checks - untidy.length;
const failed = totals.failed + untidy.length;
console.log(`in ${((performance.now() - startedAt) / 1000).toFixed(0)} s`);
console.log(`${passed} passed, ${failed} failed, ${totals.skipped} skipped`);
process.exit(run.code === 0 && untidy.length === 0 && ended !== null ? 0 : 1);
