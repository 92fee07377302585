/**
 * A Worker that prints more than a pipe holds while Node's only thread is blocked in a question to D1: a burst of disconnects is one, and
 * the proof hung there (test/support/workerd-log.ts says why).
 * Promises: the question is answered and every line is kept; without the log file this row never ends.
 * Called by test/proofs/disconnect.ts.
 */
import { writeFileSync } from 'node:fs';
import { startGateway } from '../../support/gateway.ts';
import { same } from '../../support/proof.ts';
import { RawConnection } from '../../support/raw-client.ts';
import type { Named } from './stand.ts';

const bundle = 'dist/talkative.js';
const lines = 2_000;
const lineBytes = 1_000;
const worker = `
import { DurableObject } from 'cloudflare:workers';
export class OrgLedger extends DurableObject {}
export default {
  fetch() {
    for (let i = 0; i < ${lines}; i += 1) console.log('x'.repeat(${lineBytes}));
    return new Response('said');
  },
};`;

export const talkative: Named = [
  'a Worker that prints 2 MB holds up no question to D1, and no line is lost',
  async () => {
    writeFileSync(bundle, worker);
    const gateway = await startGateway({ bundle });
    try {
      const db = await gateway.db();
      const client = await RawConnection.open(gateway.port);
      client.send('GET / HTTP/1.1\r\nHost: gw\r\n\r\n');
      const { results } = await db.prepare('select 1 one').all();
      same(results, [{ one: 1 }], 'the answer of D1');
      same((await client.answer()).body.toString(), 'said', 'the answer of the Worker');
      client.close();
      const said = gateway.output().match(/^x+$/gm) ?? [];
      same(
        [said.length, said.join('').length],
        [lines, lines * lineBytes],
        'lines and their bytes',
      );
    } finally {
      await gateway.dispose();
    }
  },
];
