/**
 * EndedStore: holds that ended, for `ledgerRepeatMs`, so that a repeat gets its first answer.
 * They wait in memory until the next snapshot and are then written many to a row, sorted by id: a
 * hold costs a fraction of a page. A look-up reads the rows whose range covers the id. Hold ids
 * sort by time, so a new one is above everything written and needs no look-up (any text is
 * answered right, an unsorted one only slower). Called by `core.ts`.
 */
import { assert } from '../../src/base/assert';
import { ledgerEndedPartMax, ledgerRepeatMs } from '../../src/base/limits';
import type { EndedHold } from '../../src/domain/ledger/holds';
import type { Ending, Tags } from '../../src/domain/ledger/operations';
import { type LedgerSql, text, textOrNull } from './storage';

/** An ended hold as a row has it: a tuple, so that the names do not outweigh the numbers. */
type Written = readonly [
  id: string,
  amountMicros: number,
  placedAtMs: number,
  ending: Ending,
  chargeMicros: number,
  lateMicros: number | null,
  tags: Tags | null,
];

export class EndedStore {
  readonly #sql: LedgerSql;
  /** No written id sorts behind this one. */
  #idMax: string | null;

  constructor(sql: LedgerSql) {
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
      const found = parseWritten(text(row, 'body')).find(([other]) => other === id);
      if (found !== undefined) return holdOf(found);
    }
    return null;
  }

  /** Writes the holds that ended since the last time. */
  write(ended: ReadonlyMap<string, EndedHold>, atMs: number): void {
    const sorted = [...ended.keys()].sort();
    for (let from = 0; from < sorted.length; from += ledgerEndedPartMax) {
      const part = sorted.slice(from, from + ledgerEndedPartMax);
      const [first, last] = [part[0] ?? '', part.at(-1) ?? ''];
      this.#sql.exec(
        'INSERT INTO ended (at, id_min, id_max, body) VALUES (?, ?, ?, ?)',
        atMs,
        first,
        last,
        JSON.stringify(part.map((id) => writtenOf(id, ended.get(id)))),
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

function writtenOf(id: string, hold: EndedHold | undefined): Written {
  assert(hold !== undefined, 'an ended hold is gone');
  const { amountMicros, placedAtMs, ending, chargeMicros, lateMicros, tags } = hold;
  return [id, amountMicros, placedAtMs, ending, chargeMicros, lateMicros, tags];
}

function holdOf([
  ,
  amountMicros,
  placedAtMs,
  ending,
  chargeMicros,
  lateMicros,
  tags,
]: Written): EndedHold {
  return { amountMicros, placedAtMs, ending, chargeMicros, lateMicros, tags };
}

function parseWritten(body: string): readonly Written[] {
  const part = JSON.parse(body) as readonly Written[];
  assert(Array.isArray(part), 'a row of ended holds is no list');
  return part;
}
