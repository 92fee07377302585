/**
 * Proof `wire`: raw sockets, byte for byte. Every numbered row of docs/relay-contract.md has
 * exactly one row here with the same number and title, and every headers, framing, encoding, path,
 * query, streaming, redirect, websocket, acl and secrets case is shown by one. Run by `npm run
 * prove -- wire`, in its short form by test/e2e/wire.test.ts.
 */
import { readFileSync } from 'node:fs';
import { holds, type Proof, type Row, same } from '../support/proof.ts';
import { accessRows } from './wire/access.ts';
import { answerBodyRows } from './wire/answer-bodies.ts';
import { answerRows } from './wire/answers.ts';
import { bindingRows } from './wire/bindings.ts';
import { framingRows } from './wire/framing.ts';
import { headerRows } from './wire/headers.ts';
import { keyRows } from './wire/keys.ts';
import { maskingRows } from './wire/masking.ts';
import { platformRows } from './wire/platform.ts';
import { platformAnswerRows } from './wire/platform-answers.ts';
import { residueAnswerRows } from './wire/residue-answers.ts';
import { residueRows } from './wire/residues.ts';
import { startStand, type WireRow } from './wire/stand.ts';
import { streamingRows } from './wire/streaming.ts';
import { targetRows } from './wire/target.ts';
import { websocketRows } from './wire/websocket.ts';

/** The rows by subject, as docs/relay-contract.md prints them. */
export const contractParts: readonly {
  readonly subject: string;
  readonly rows: readonly WireRow[];
}[] = [
  { subject: 'Path and query', rows: targetRows },
  { subject: 'Request headers', rows: headerRows },
  { subject: 'The Weir key', rows: keyRows },
  { subject: 'Bindings', rows: bindingRows },
  { subject: 'Methods and request bodies', rows: framingRows },
  { subject: 'Answers', rows: [...answerRows, ...answerBodyRows] },
  { subject: 'Credentials in answers', rows: maskingRows },
  { subject: 'Time', rows: streamingRows },
  { subject: 'WebSocket', rows: websocketRows },
  { subject: 'Where a call goes, and who may make it', rows: accessRows },
  { subject: 'The runtime', rows: [...residueRows, ...residueAnswerRows] },
  { subject: 'The platform account', rows: [...platformRows, ...platformAnswerRows] },
];

/** Every row, by number. */
export const contractRows: readonly WireRow[] = contractParts
  .flatMap((part) => part.rows)
  .sort((a, b) => a.n - b.n);

/** The cases of these kinds in the shared list. */
const cases = (
  'C001 C003 C004 C005 C007 C008 C009 C011 C012 C014 C015 C017 C018 C019 C021 C023 C024 C026 ' +
  'C028 C029 C031 C033 C034 C036 C037 C039 C040 C052 C053 C055 C057'
).split(' ');

const rowsMin = 90;

const nameOf = (row: WireRow): string =>
  `R${row.n}${row.cases === undefined ? '' : ` ${row.cases.join(' ')}`}: ${row.title}`;

/** A text as a cell of a Markdown table has it. */
export const cell = (text: string): string => text.replace(/[*<>|\\`]/g, (char) => `\\${char}`);

/** The contract's own list: number and title of every table row of the document. */
function documentedRows(): string[] {
  const text = readFileSync(new URL('../../docs/relay-contract.md', import.meta.url), 'utf8');
  return [...text.matchAll(/^\| R(\d+) \| (.+?) \| .+ \|$/gm)].map(
    ([, n, title]) => `R${n}: ${title}`,
  );
}

/** The document and the proof list the same numbers and titles, each once, without a gap. */
async function sameContract(): Promise<string> {
  const wanted = contractRows.map((row) => `R${row.n}: ${cell(row.title)}`);
  const written = documentedRows();
  const apart = [
    ...wanted.filter((row) => !written.includes(row)),
    ...written.filter((row) => !wanted.includes(row)),
  ];
  same(apart, [], 'docs/relay-contract.md (scripts/contract.ts writes it)');
  same(written.length, wanted.length, 'rows of the document');
  same(
    contractRows.map((row) => row.n),
    contractRows.map((_, i) => i + 1),
    'numbers',
  );
  holds(contractRows.length >= rowsMin, `${contractRows.length} rows, wanted ${rowsMin}`);
  const shown = new Set(contractRows.flatMap((row) => row.cases ?? []));
  same(
    cases.filter((id) => !shown.has(id)),
    [],
    'cases without a row',
  );
  return `${contractRows.length} rows, ${shown.size} cases`;
}

export const proof: Proof = {
  name: 'wire',
  title: 'the relay contract, row by row, over raw sockets',
  takes: { usage: '[R12 …]', wordsMax: contractRows.length },
  async stage({ short, args }) {
    const stand = await startStand(short);
    const only = args.filter((arg) => /^R\d+$/.test(arg));
    let held = 0;
    const chosen = contractRows.filter((row) => {
      if (short && row.fullOnly === true) return false;
      return only.length === 0 || only.includes(`R${row.n}`);
    });
    const rows: Row[] = chosen.map((row) => ({
      name: nameOf(row),
      run: async () => {
        const shown = await row.run(stand);
        held += 1;
        return shown;
      },
    }));
    rows.push({ name: 'The document and this proof list the same rows', run: sameContract });
    return {
      rows,
      figure: () => `${held} of ${chosen.length} rows of the relay contract hold`,
      dispose: stand.dispose,
    };
  },
};
