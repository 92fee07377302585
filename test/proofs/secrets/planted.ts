/** First rows: one planted leak per spelling, in the kinds of streams that the proof searches; the detector must see each. */
import { randomBytes } from 'node:crypto';
import { type Canary, leaksIn } from '../../support/leak-detector.ts';
import { holds, type Row, same } from '../../support/proof.ts';
import { spellings } from './spellings.ts';

const core = randomBytes(15).toString('hex');
const value = `q9"/<&'+=%z@${core} e ü☃`;
/** Found by its random core. */
const byCore: Canary = { name: 'planted', value, core };
/** Found by the whole value only: a spelling that breaks the core must not be the only one that is seen. */
const whole: Canary = { name: 'planted', value, core: 'a core that is in no stream' };

const answer = (body: Buffer): Buffer =>
  Buffer.concat([
    Buffer.from('HTTP/1.1 400 Bad\r\nContent-Type: application/json\r\nX: 1\r\n\r\n'),
    body,
    Buffer.from('\r\n\r\n{"event":"next line of a log"}\n'),
  ]);

/** Cut into chunks of seven bytes, as an answer would carry it. */
function chunks(body: Buffer): Buffer {
  const parts: Buffer[] = [Buffer.from('HTTP/1.1 500 No\r\nTransfer-Encoding: chunked\r\n\r\n')];
  for (let at = 0; at < body.length; at += 7) {
    const part = body.subarray(at, at + 7);
    parts.push(Buffer.from(`${part.length.toString(16)}\r\n`), part, Buffer.from('\r\n'));
  }
  return Buffer.concat([...parts, Buffer.from('0\r\n\r\n')]);
}

/** The rows; they need no gateway. */
export const plantedRows: readonly Row[] = [
  ...spellings.map(
    ({ name, write }): Row => ({
      name: `the detector sees a planted leak: ${name}`,
      async run() {
        const written = write(value);
        holds(leaksIn(answer(written), [byCore]).length > 0, 'not seen in an answer');
        holds(leaksIn(chunks(written), [byCore]).length > 0, 'not seen behind chunks');
        const seen = leaksIn(answer(written), [whole])[0]?.spelling;
        holds(seen !== undefined || name.startsWith('UTF-16'), 'the whole value was not seen');
        return seen ?? 'by its core';
      },
    }),
  ),
  {
    name: 'the detector is silent where nothing leaked',
    async run() {
      const reversed = [...value].reverse().join('');
      for (const { write } of spellings) {
        same(
          leaksIn(answer(write(reversed)), [byCore, whole]),
          [],
          'a secret that is not the canary',
        );
        same(leaksIn(answer(write('***')), [byCore, whole]), [], 'a masked body');
      }
    },
  },
];
