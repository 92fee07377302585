/**
 * Commands of the operator that bring money in: grant and topup. Promises: the id is shown before
 * anything can be lost, so that a repeat with it books nothing twice. Read by `commands.ts`.
 */
import { randomBytes } from 'node:crypto';
import type { Client, Row } from './client.ts';
import { amount, type Command, defaults, field, type Input, type Output } from './command.ts';
import { Fault } from './fault.ts';
import { amountWanted, dollars, microsOf } from './money.ts';

const idOption = {
  name: 'id',
  value: 'ID',
  help: 'e.g. the number of the payment; the same id again books nothing',
};

/** `npm run weir -- topup 25.00` */
export const topup: Command = {
  ...defaults,
  name: 'topup',
  words: 'USD',
  wordsMin: 1,
  wordsMax: 1,
  prefers: 'operator',
  summary: 'Book purchased money (operator)',
  options: [idOption],
  examples: ['npm run weir -- topup 25.00 --tenant ten_… --id invoice-1017'],
  run: (client, input) => booked(client, '/ledger/topups', input, {}),
};

/** `npm run weir -- grant 5.00` */
export const grant: Command = {
  ...defaults,
  name: 'grant',
  words: 'USD',
  wordsMin: 1,
  wordsMax: 1,
  prefers: 'operator',
  summary: 'Grant promotional or earned money (operator)',
  options: [
    idOption,
    { name: 'kind', value: 'KIND', help: 'promotional (default, burns first) or earned' },
  ],
  examples: ['npm run weir -- grant 5 --tenant ten_… --kind promotional --id welcome-acme'],
  run(client, input) {
    const kind = input.option('kind') ?? 'promotional';
    if (kind === 'promotional' || kind === 'earned')
      return booked(client, '/ledger/grants', input, { kind });
    throw new Fault('--kind is promotional or earned.', 'usage');
  },
};

async function booked(
  client: Client,
  path: string,
  { words, option }: Input,
  kind: Row,
): Promise<Output> {
  const micros = microsOf(words[0] ?? '');
  if (micros === null || micros === 0) throw new Fault(amountWanted, 'usage');
  const id = option('id') ?? `cli_${randomBytes(12).toString('hex')}`;
  const row = await posted(client, path, { id, micros, ...kind });
  const what = `${dollars(amount(row, 'micros'))} USD (${field(row, 'kind')})`;
  const where = `${field(row, 'ledger_tenant_id')}, row ${field(row, 'seq')}`;
  const text = `Booked ${what} as ${id} in ${where}.`;
  return { kind: 'shown', document: row, text };
}

/** Whether a lost answer was a booking is not known here; the id makes the repeat safe. After a plain no there is nothing to repeat. */
async function posted(client: Client, path: string, body: Row): Promise<Row> {
  try {
    return await client.post(path, body);
  } catch (fault) {
    if (!(fault instanceof Fault) || fault.kind === 'refused') throw fault;
    throw new Fault(`${fault.message} To repeat it safely: --id ${String(body.id)}`, fault.kind);
  }
}
