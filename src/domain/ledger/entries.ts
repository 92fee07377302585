/**
 * Entries: what the log says, one tuple per change. The log is the truth: memory is a snapshot and
 * the entries after it. Promises: an entry, once released, is read the same way for ever; a change
 * of a rule is a new kind of entry. Must never: need anything but the entries before it.
 * Written by the object's `turn.ts`; read by replay, audit, the journal copy in D1 and the views.
 */
import { AssertionError, assert, assertNever } from '../../base/assert';
import type { BlockKind } from './blocks';
import type { LedgerConfig } from './config';
import type { Ending, Tags } from './operations';

/** One change. Amounts in micro-USD. */
export type LogOp =
  | readonly [op: 'grant', id: string, micros: number, kind: BlockKind]
  | readonly [op: 'top_up', id: string, micros: number]
  | readonly [
      op: 'place',
      id: string,
      micros: number,
      keyId: string,
      tags: Tags | null,
      recordId: string | null,
      /** The call was counted by an earlier hold. */
      isAgain?: true,
    ]
  | readonly [op: 'renew', id: string]
  | readonly [op: 'settle', id: string, micros: number, heldMicros: number]
  | readonly [op: 'release', id: string, heldMicros: number, reason: string]
  | readonly [op: 'expire', id: string, heldMicros: number]
  | readonly [
      op: 'late_settle',
      id: string,
      micros: number,
      heldMicros: number,
      ending: Ending,
      placedAtMs: number,
      tags: Tags | null,
    ]
  | readonly [op: 'configure', config: LedgerConfig]
  /** The object started with open holds: they have a fresh lease. */
  | readonly [op: 'grace'];

/** One row of the log: the changes of one object call, and the books after them. */
export interface LogRow {
  /** Contiguous from 1. */
  readonly seq: number;
  readonly atMs: number;
  readonly availableMicros: number;
  readonly heldMicros: number;
  readonly settledMicros: number;
  /** The changes as {@link encodeOps} writes them. */
  readonly ops: string;
}

/** One change as the views show it; `null` where a kind has no such thing. */
export interface LedgerEntry {
  readonly seq: number;
  /** Position in its row. */
  readonly index: number;
  readonly atMs: number;
  readonly kind: LogOp[0];
  /** Of the hold, grant or top-up. */
  readonly id: string | null;
  /** What was credited, placed or charged. */
  readonly micros: number | null;
  /** The hold that it ended. */
  readonly heldMicros: number | null;
  readonly keyId: string | null;
  readonly tags: Tags | null;
  /** Kind of a block, reason of a release. */
  readonly note: string | null;
}

/** The entries of one row. */
export function entriesOf({ seq, atMs, ops }: LogRow): readonly LedgerEntry[] {
  return decodeOps(ops).map((op, index) => ({ ...blank, ...shown(op), seq, index, atMs }));
}

type Shown = Omit<LedgerEntry, 'seq' | 'index' | 'atMs'>;

const blank: Omit<Shown, 'kind'> = {
  id: null,
  micros: null,
  heldMicros: null,
  keyId: null,
  tags: null,
  note: null,
};

function shown(op: LogOp): Partial<Shown> & Pick<Shown, 'kind'> {
  const [kind] = op;
  switch (op[0]) {
    case 'grant':
      return { kind, id: op[1], micros: op[2], note: op[3] };
    case 'top_up':
      return { kind, id: op[1], micros: op[2] };
    case 'place':
      return { kind, id: op[1], micros: op[2], keyId: op[3], tags: op[4] };
    case 'renew':
      return { kind, id: op[1] };
    case 'settle':
      return { kind, id: op[1], micros: op[2], heldMicros: op[3] };
    case 'release':
      return { kind, id: op[1], heldMicros: op[2], note: op[3] };
    case 'expire':
      return { kind, id: op[1], heldMicros: op[2] };
    case 'late_settle':
      return { kind, id: op[1], micros: op[2], tags: op[6] };
    case 'configure':
    case 'grace':
      return { kind };
    default:
      return assertNever(op);
  }
}

/** Codes of the usual changes; a change without a code stands as the tuple that it is. */
const placeOfKey = 1;
const placeOfSameKey = 2;
const settle = 3;

/**
 * The text of a row's changes: one flat list, half as long as the tuples. A row is most of what an
 * unkeyed call writes, and a text is written for each of its pages.
 */
export function encodeOps(ops: readonly LogOp[]): string {
  const flat: (string | number | LogOp)[] = [];
  let lastKey: string | null = null;
  for (const op of ops) {
    if (op[0] === 'settle') {
      flat.push(settle, op[1], op[2], op[3]);
    } else if (op[0] !== 'place' || op[4] !== null || op[5] !== null || op.length > 6) {
      flat.push(op);
    } else if (op[3] === lastKey) {
      flat.push(placeOfSameKey, op[1], op[2]);
    } else {
      lastKey = op[3];
      flat.push(placeOfKey, op[1], op[2], op[3]);
    }
  }
  return JSON.stringify(flat);
}

/** Reads what {@link encodeOps} wrote; we wrote it, so a wrong shape is a broken promise. */
export function decodeOps(text: string): readonly LogOp[] {
  const flat = listOf(text);
  const ops: LogOp[] = [];
  let key = '';
  for (let at = 0; at < flat.length; ) {
    const item = flat[at];
    switch (item) {
      case placeOfKey:
      case placeOfSameKey:
        if (item === placeOfKey) key = textAt(flat, at + 3);
        ops.push(['place', textAt(flat, at + 1), numberAt(flat, at + 2), key, null, null]);
        at += item === placeOfKey ? 4 : 3;
        break;
      case settle:
        ops.push(['settle', textAt(flat, at + 1), numberAt(flat, at + 2), numberAt(flat, at + 3)]);
        at += 4;
        break;
      default:
        assert(Array.isArray(item), 'a log row has an entry of an unknown code');
        ops.push(item as unknown as LogOp);
        at += 1;
    }
  }
  return ops;
}

/** A text that is no JSON is a broken promise like any other: an audit names its row. */
function listOf(text: string): readonly (string | number | LogOp)[] {
  const flat = parsed(text);
  assert(Array.isArray(flat), 'a log row is not a list of entries');
  return flat;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new AssertionError('the entries are no JSON');
  }
}

function textAt(flat: readonly unknown[], at: number): string {
  const item = flat[at];
  assert(typeof item === 'string', 'a log row has something else where a text belongs');
  return item;
}

function numberAt(flat: readonly unknown[], at: number): number {
  const item = flat[at];
  assert(typeof item === 'number', 'a log row has something else where a number belongs');
  return item;
}
