/** `npm run weir -- COMMAND`: balance, holds, entries and the rest over the management API; `--help` has them all. */
import { main } from './weir/main.ts';

// Whoever reads has seen enough (`| head`): not our fault, and no stack for it.
process.stdout.on('error', (fault: NodeJS.ErrnoException) => {
  process.exit(fault.code === 'EPIPE' ? 0 : 1);
});

process.exitCode = await main(process.argv.slice(2), {
  env: process.env,
  send: fetch,
  write: (text) => void process.stdout.write(text),
  complain: (text) => void process.stderr.write(`${text}\n`),
});
