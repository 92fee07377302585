/**
 * `npm test`: tidy, then every vitest project, then one closing line with the true totals. Arguments go to vitest (a file, `-t name`)
 * and skip tidy.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { tidy } from './tidy.ts';

interface Totals {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
  readonly numTodoTests: number;
  readonly numFailedTestSuites: number;
  readonly success: boolean;
}

const args = process.argv.slice(2);
const startedAt = performance.now();
const untidy = args.length === 0 ? tidy(false) : [];
const report = '.weir/test-report.json';
mkdirSync('.weir', { recursive: true });
rmSync(report, { force: true });
const run = spawnSync(
  'vitest',
  ['run', '--reporter=default', '--reporter=json', `--outputFile.json=${report}`, ...args],
  { stdio: 'inherit' },
);
let totals: Totals | null = null;
try {
  totals = JSON.parse(readFileSync(report, 'utf8')) as Totals;
} catch {
  console.error('vitest left no report');
}
const checks = args.length === 0 ? 6 : 0;
const passed = (totals?.numPassedTests ?? 0) + checks - untidy.length;
const suites =
  totals !== null && totals.numFailedTests === 0 && !totals.success
    ? totals.numFailedTestSuites
    : 0;
const failed = (totals?.numFailedTests ?? 1) + suites + untidy.length;
const skipped = (totals?.numPendingTests ?? 0) + (totals?.numTodoTests ?? 0);
console.log(`in ${((performance.now() - startedAt) / 1000).toFixed(0)} s`);
console.log(`${passed} passed, ${failed} failed, ${skipped} skipped`);
process.exit(run.status === 0 && untidy.length === 0 && totals !== null ? 0 : 1);
