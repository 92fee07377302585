/**
 * EndedStore: holds that ended, for `ledgerRepeatMs`, so that a repeat gets its first answer.
 * They wait in memory until the next snapshot and are then written many to a row, sorted by id: a
 * hold costs a fraction of a page. A look-up reads the rows whose range covers the id. Hold ids
 * sort by time, so a new one is above everything written and needs no look-up (any text is
 * answered right, an unsorted one only slower). Called by `core.ts` and `turn.ts`.
 */
import { assert } from '../../src/base/assert';
import { ledgerEndedPartMax, ledgerRepeatMs } from '../../src/base/limits-money';
import type { EndedHolds } from '../../src/domain/ledger/ended-holds';
import type { EndedHold } from '../../src/domain/ledger/holds';
import type { Ending, Tags } from '../../src/domain/ledger/operations';
import { type ObjectSql, text, textOrNull } from '../storage';

/**
 * Ended holds as a row has them, one flat list: of a hold that was settled, without tags, its id,
 * amount, time and charge; of any other the tuple.
 */
type Written = readonly (string | number | WrittenWhole)[];

type WrittenWhole = readonly [
  id: string,
  amountMicros: number,
  placedAtMs: number,
  ending: Ending,
  chargeMicros: number,
  lateMicros: number | null,
  tags: Tags | null,
];

export class EndedStore {
  readonly #sql: ObjectSql;
  /** No written id sorts behind this one. */
  #idMax: string | null;

  constructor(sql: ObjectSql) {
    this.#sql = sql;
    const newest = sql.exec('SELECT max(id_max) AS id FROM ended').toArray()[0];
    this.#idMax = newest === undefined ? null : textOrNull(newest, 'id');
  }

  /** What is remembered on disk of an ended hold; the newest word about it. */
  find(id: string): EndedHold | null {
    if (this.#idMax === null || id > this.#idMax) return null;
    const rows = this.#sql
      .exec('SELECT body FROM ended WHERE id_max >= ? AND id_min <= ? ORDER BY n DESC', id, id)
      .toArray();
    for (const row of rows) {
      const found = findWritten(text(row, 'body'), id);
      if (found !== null) return found;
    }
    return null;
  }

  /** Writes the holds that ended since the last time. */
  write(ended: EndedHolds, atMs: number): void {
    const sorted = ended.ids.toSorted();
    for (let from = 0; from < sorted.length; from += ledgerEndedPartMax) {
      const part = sorted.slice(from, from + ledgerEndedPartMax);
      const [first, last] = [part[0] ?? '', part.at(-1) ?? ''];
      this.#sql.exec(
        'INSERT INTO ended (at, id_min, id_max, body) VALUES (?, ?, ?, ?)',
        atMs,
        first,
        last,
        JSON.stringify(writtenOf(part, ended)),
      );
      if (this.#idMax === null || last > this.#idMax) this.#idMax = last;
    }
  }

  /** Forgets what ended longer than `ledgerRepeatMs` ago. */
  prune(nowMs: number): void {
    this.#sql.exec(
      'DELETE FROM ended WHERE n IN (SELECT n FROM ended ORDER BY n LIMIT 100) AND at < ?',
      nowMs - ledgerRepeatMs,
    );
  }
}

function writtenOf(ids: readonly string[], ended: EndedHolds): Written {
  const flat: Written[number][] = [];
  for (const id of ids) {
    const hold = ended.get(id);
    assert(hold !== undefined, 'an ended hold is gone');
    const { amountMicros, placedAtMs, ending, chargeMicros, lateMicros, tags } = hold;
    if (ending === 'settled' && lateMicros === null && tags === null) {
      flat.push(id, amountMicros, placedAtMs, chargeMicros);
    } else {
      flat.push([id, amountMicros, placedAtMs, ending, chargeMicros, lateMicros, tags]);
    }
  }
  return flat;
}

/** A hold in a row that {@link writtenOf} made. */
function findWritten(body: string, id: string): EndedHold | null {
  const flat = JSON.parse(body) as Written;
  assert(Array.isArray(flat), 'a row of ended holds is no list');
  for (let at = 0; at < flat.length; ) {
    const item = flat[at];
    if (typeof item === 'object') {
      if (item[0] === id) return wholeHold(item);
      at += 1;
    } else {
      if (item === id) return settledHold(flat, at);
      at += 4;
    }
  }
  return null;
}

function settledHold(flat: Written, at: number): EndedHold {
  const [amountMicros, placedAtMs, chargeMicros] = flat.slice(at + 1, at + 4);
  assert(
    typeof amountMicros === 'number' &&
      typeof placedAtMs === 'number' &&
      typeof chargeMicros === 'number',
    'a row of ended holds has something else where a number belongs',
  );
  const usual = { ending: 'settled', lateMicros: null, tags: null } as const;
  return { amountMicros, placedAtMs, chargeMicros, ...usual };
}

function wholeHold(whole: WrittenWhole): EndedHold {
  const [, amountMicros, placedAtMs, ending, chargeMicros, lateMicros, tags] = whole;
  return { amountMicros, placedAtMs, ending, chargeMicros, lateMicros, tags };
}
