/**
 * CI: `npm test`, then every proof in its full form, one after the other; the last line has the totals of all of them.
 * The benchmark is not here: its bars need a quiet machine (`npm run bench`).
 */
import { spawn } from 'node:child_process';

/** Proofs in the order of their cost. */
const proofs = [
  'bounds',
  'ledger-model',
  'overspend',
  'idempotency',
  'upgrade',
  'metered-sse',
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

/** Runs one of our scripts, showing its output as it comes; gives its exit code and everything it printed. */
function run(script: string, args: readonly string[]): Promise<{ code: number; output: string }> {
  return new Promise((resolve) => {
    const child = spawn(
      'node',
      ['--disable-warning=ExperimentalWarning', `scripts/${script}.ts`, ...args],
      {
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    );
    let output = '';
    const show = (chunk: Buffer): void => {
      output += chunk.toString('utf8');
      process.stdout.write(chunk);
    };
    child.stdout.on('data', show);
    child.stderr.on('data', show);
    child.on('exit', (code) => resolve({ code: code ?? 1, output }));
  });
}

function count(output: string, word: 'passed' | 'failed' | 'skipped'): number {
  const found = [...output.matchAll(new RegExp(`(\\d+) ${word}`, 'g'))].at(-1);
  return Number(found?.[1] ?? 0);
}

const totals: Totals = { passed: 0, failed: 0, skipped: 0 };
for (const [script, args] of [['test', []], ...proofs.map((name) => ['prove', [name]])] as [
  string,
  string[],
][]) {
  console.log(`\n== ${script} ${args.join(' ')}`);
  const { code, output } = await run(script, args);
  const closing =
    output
      .split('\n')
      .filter((line) => /^\d+ passed, \d+ failed/.test(line))
      .at(-1) ?? '';
  const failed = count(closing, 'failed');
  totals.passed += count(closing, 'passed');
  totals.failed += code !== 0 && failed === 0 ? 1 : failed;
  totals.skipped += count(closing, 'skipped');
}
console.log(`\n${totals.passed} passed, ${totals.failed} failed, ${totals.skipped} skipped`);
process.exit(totals.failed === 0 ? 0 : 1);
