/**
 * Reads a catalog folder: one YAML file a provider.
 * Promises: nothing half-right comes back: either the whole catalog, or every fault with its file, line and column.
 * Must never: repeat a value of a file in a fault: an operator may have put a credential there by mistake. Called by main.ts and tests.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { type Document, isMap, isNode, isPair, LineCounter, parseDocument } from 'yaml';
import type * as z from 'zod';
import { catalogEndpointsMax, catalogProvidersMax } from '../../../src/base/limits-money.ts';
import type { EgressPolicy } from '../../../src/domain/egress/allowance.ts';
import { literalBytes, literalBytesMax } from './plan.ts';
import { type CatalogFile, fileSchema } from './schema.ts';

/** What is wrong, and where; lines and columns count from 1. */
export interface CatalogFault {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  /** Dotted: `endpoints.0.cost`. Empty for a file that is no YAML. */
  readonly path: string;
  readonly message: string;
}

/** The whole catalog, or why it is none. */
export type CatalogRead =
  | { readonly ok: true; readonly files: readonly CatalogFile[] }
  | { readonly ok: false; readonly faults: readonly CatalogFault[] };

/** One file as text. */
export interface SourceFile {
  readonly name: string;
  readonly text: string;
}

/** Reads every `*.yaml` of a folder; `*.yml` is a fault, since whoever wrote it takes it for read. */
export function readCatalog(folder: string, policy: EgressPolicy): CatalogRead {
  const all = readdirSync(folder).sort();
  const misnamed = all.filter((name) => name.endsWith('.yml'));
  if (misnamed.length > 0)
    return {
      ok: false,
      faults: misnamed.map((name) => fileFault(`${folder}/${name}`, misnamedFault)),
    };
  const names = all.filter((name) => name.endsWith('.yaml')).map((name) => `${folder}/${name}`);
  const sources = names.map((name) => ({ name, text: textOf(name) }));
  const closed = sources.filter(({ text }) => text === null);
  if (closed.length > 0)
    return { ok: false, faults: closed.map(({ name }) => fileFault(name, 'cannot be read')) };
  return readSources(
    sources.map(({ name, text }) => ({ name, text: text ?? '' })),
    policy,
  );
}

/** The text of a file; null for a folder, a link to nowhere, or what its owner has closed. */
function textOf(name: string): string | null {
  try {
    return readFileSync(name, 'utf8');
  } catch {
    return null;
  }
}

/** Reads files that are texts already. */
export function readSources(sources: readonly SourceFile[], policy: EgressPolicy): CatalogRead {
  const read = sources.map((source) => new OpenFile(source, policy));
  const faults = read.flatMap(({ faults }) => faults);
  const whole = read.filter((file) => file.content !== null);
  if (faults.length === 0) faults.push(...faultsBetween(whole));
  if (faults.length > 0) return { ok: false, faults };
  return { ok: true, files: whole.flatMap(({ content }) => content ?? []) };
}

const misnamedFault = 'is not read: its name must end in .yaml';

/** A fault of a whole file. */
const fileFault = (file: string, message: string): CatalogFault => ({
  file,
  line: 1,
  column: 1,
  path: '',
  message,
});

type Path = readonly PropertyKey[];

/** One parsed file: its content, or its faults; and where each of its fields is. */
class OpenFile {
  readonly name: string;
  readonly faults: CatalogFault[];
  readonly content: CatalogFile | null;
  readonly #lines = new LineCounter();
  readonly #document: Document.Parsed;

  constructor({ name, text }: SourceFile, policy: EgressPolicy) {
    this.name = name;
    this.#document = parseDocument(text, { lineCounter: this.#lines, prettyErrors: false });
    const broken = [...this.#document.errors, ...this.#document.warnings];
    this.faults = broken.map((error) => this.#at(error.pos[0], '', yamlMessage(error.code)));
    this.content = broken.length > 0 ? null : this.#held(policy);
  }

  /** A fault at a field. */
  fault(path: Path, message: string): CatalogFault {
    return this.#at(this.#offsetOf(path), path.map(String).join('.'), message);
  }

  #held(policy: EgressPolicy): CatalogFile | null {
    let value: unknown;
    try {
      value = this.#document.toJS();
    } catch {
      this.faults.push(this.#at(0, '', 'has an alias without an anchor, or too many'));
      return null;
    }
    const held = fileSchema(policy).safeParse(value, { reportInput: true });
    if (held.success) return held.data;
    this.faults.push(...held.error.issues.flatMap((issue) => this.#faults(issue)));
    return null;
  }

  #faults(issue: z.core.$ZodIssue): CatalogFault[] {
    if (issue.code !== 'unrecognized_keys') return [this.fault(issue.path, messageOf(issue))];
    return issue.keys.map((key) => this.fault([...issue.path, key], 'is not a field here'));
  }

  #at(offset: number, path: string, message: string): CatalogFault {
    const { line, col } = this.#lines.linePos(offset);
    return { file: this.name, line: Math.max(line, 1), column: Math.max(col, 1), path, message };
  }

  /** Where a field is; of one that is missing, where the nearest thing around it is. */
  #offsetOf(path: Path): number {
    for (let length = path.length; length > 0; length -= 1) {
      const parent = this.#document.getIn(path.slice(0, length - 1), true);
      const name = path[length - 1];
      if (isMap(parent)) {
        const pair = parent.items.find((each) => isPair(each) && String(each.key) === String(name));
        if (isNode(pair?.key)) return pair.key.range?.[0] ?? 0;
      }
      const node = this.#document.getIn(path.slice(0, length), true);
      if (isNode(node)) return node.range?.[0] ?? 0;
    }
    return 0;
  }
}

/** What only shows when all files are there. */
function faultsBetween(files: readonly OpenFile[]): CatalogFault[] {
  const faults: CatalogFault[] = [];
  const rows = new Map(
    files.flatMap(({ content }) => content?.endpoints ?? []).map((row) => [row.id, row] as const),
  );
  const first = files[0];
  if (first === undefined) return faults;
  if (files.length > catalogProvidersMax)
    faults.push(first.fault([], `a catalog has at most ${catalogProvidersMax} providers`));
  if (rows.size > catalogEndpointsMax)
    faults.push(first.fault([], `a catalog has at most ${catalogEndpointsMax} endpoints`));
  for (const file of files) {
    if (basename(file.name, '.yaml') !== file.content?.provider.slug)
      faults.push(file.fault(['provider'], 'is not the name of the file'));
    if (file.content !== null) faults.push(...tooLargeIn(file, file.content));
    file.content?.endpoints.forEach(({ id, tombstone }, i) => {
      const next = tombstone?.supersededBy ?? null;
      if (next === null) return;
      const other = rows.get(next);
      if (other !== undefined && other.tombstone === null && next !== id) return;
      const path = ['endpoints', i, 'tombstone', 'superseded_by'];
      faults.push(file.fault(path, 'is no live endpoint of the catalog'));
    });
  }
  return faults;
}

/** Rows that the deployed database would not take. */
function tooLargeIn(file: OpenFile, { provider, endpoints }: CatalogFile): CatalogFault[] {
  const isLarge = (document: object): boolean => literalBytes(document) > literalBytesMax;
  const message = `makes a row of more than ${literalBytesMax} bytes`;
  const faults = endpoints.flatMap((row, i) =>
    isLarge(row) ? [file.fault(['endpoints', i], message)] : [],
  );
  return isLarge(provider) ? [file.fault(['provider'], message), ...faults] : faults;
}

/** Our own words: no message repeats what was in the file. */
function messageOf(issue: z.core.$ZodIssue): string {
  if (issue.input === undefined && issue.code !== 'custom') return 'is missing';
  switch (issue.code) {
    case 'invalid_type':
      return `must be of type ${issue.expected}`;
    case 'invalid_value':
      return `must be one of ${issue.values.map(String).join(', ')}`;
    case 'invalid_union': {
      const named = issue.errors.flat().find((inner) => inner.code === 'custom');
      return named?.message ?? 'is none of the known forms';
    }
    case 'invalid_key':
      return issue.issues[0]?.message ?? 'is no name that is allowed here';
    case 'too_big':
      return `may be at most ${issue.maximum}`;
    case 'too_small':
      return `must be at least ${issue.minimum}`;
    default:
      return issue.message;
  }
}

const yamlMessage = (code: string): string =>
  code === 'DUPLICATE_KEY'
    ? 'names a field twice'
    : `is not YAML (${code.toLowerCase().replaceAll('_', ' ')})`;
