/**
 * `node scripts/run.mjs contract`: writes the tables of docs/relay-contract.md from the rows of
 * the `wire` proof, between its markers. The text around the tables is written by hand. The proof
 * fails when the two differ.
 */
import { readFileSync, writeFileSync } from 'node:fs';

interface ContractRow {
  readonly n: number;
  readonly kind: string;
  readonly cases?: readonly string[];
  readonly title: string;
  readonly why: string;
}

interface Contract {
  readonly contractParts: readonly {
    readonly subject: string;
    readonly rows: readonly ContractRow[];
  }[];
  readonly cell: (text: string) => string;
}

const proof = new URL('../test/proofs/wire.ts', import.meta.url);
const document = new URL('../docs/relay-contract.md', import.meta.url);
const { contractParts, cell } = (await import(proof.href)) as Contract;

/** The tables of one kind, one per subject that has rows of it. */
function tables(kind: string): string {
  const parts = contractParts.map(({ subject, rows }) => ({
    subject,
    rows: rows.filter((row) => row.kind === kind),
  }));
  const filled = parts.filter(({ rows }) => rows.length > 0);
  return filled.map(({ subject, rows }) => table(subject, rows)).join('\n\n');
}

function table(subject: string, rows: readonly ContractRow[]): string {
  const lines = rows.map((row) => {
    const why = [row.why, ...(row.cases ?? [])].join('; ');
    return `| R${row.n} | ${cell(row.title)} | ${cell(why)} |`;
  });
  return [`### ${subject}`, '', '| | what | why |', '|---|---|---|', ...lines].join('\n');
}

const before = readFileSync(document, 'utf8');
const after = before.replace(
  /<!-- rows: (\w+) -->\n[\s\S]*?<!-- end -->/g,
  (_, kind: string) => `<!-- rows: ${kind} -->\n${tables(kind)}\n<!-- end -->`,
);
writeFileSync(document, after);
const count = after.match(/^\| R\d+ /gm)?.length ?? 0;
console.log(`docs/relay-contract.md: ${count} rows${after === before ? ', unchanged' : ''}`);
