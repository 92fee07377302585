/** The command line against the stand's gateway, in this process. Called by `rows.ts`. */
import { main } from '../../../scripts/weir/main.ts';
import { operatorKey } from '../../support/test-env.ts';
import type { Stand } from './stand.ts';

/** Runs `npm run weir -- ARGS` as the operator. */
export async function runWeir(
  stand: Stand,
  args: readonly string[],
): Promise<{ readonly code: number; readonly stdout: string }> {
  let stdout = '';
  const url = `http://127.0.0.1:${stand.world.gateway.port}`;
  const code = await main([...args, '--url', url], {
    env: { OPERATOR_KEY: operatorKey, WEIR_STATE: '/nonexistent' },
    send: fetch,
    write: (text) => {
      stdout += text;
    },
    complain: (text) => {
      stdout += `${text}\n`;
    },
  });
  return { code, stdout };
}
