/** What people and scrapers read: CSV, Prometheus' text and cursors, against readers that are strict. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cursorCharsMax } from '../../src/base/limits';
import { ledgerIdCharsMax } from '../../src/base/limits-money';
import { csvText } from '../../src/control-plane/ledger-entries';
import { ledgerId } from '../../src/control-plane/ledger-pages';
import { decodedCursor } from '../../src/control-plane/pagination';
import { countCall } from '../../src/domain/metrics/count-call';
import { prometheusText } from '../../src/domain/metrics/prometheus';
import { Totals } from '../../src/domain/metrics/series';

// ── CSV ──

/** A strict reader of RFC 4180. */
function csvRows(text: string): string[][] {
  const [rows, cells]: [string[][], string[]] = [[], []];
  let at = 0;
  while (at < text.length) {
    const match = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/y;
    match.lastIndex = at;
    const [whole, quoted, plain = '', end] = match.exec(text) ?? [];
    if (whole === undefined) throw new Error(`no CSV at ${at}: ${text}`);
    cells.push(quoted === undefined ? plain : quoted.replaceAll('""', '"'));
    at += whole.length;
    if (end === '\r\n') rows.push(cells.splice(0));
  }
  return rows;
}

const nasty = fc.string({
  unit: fc.constantFrom(...'=+-@\t\r\n",;\'aé😀|', '\ufeff', '\u2028'),
  maxLength: 8,
});
const entry = fc.record({
  seq: fc.nat(),
  index: fc.nat(),
  at: fc.constant('2026-11-30T00:00:00.000Z'),
  kind: fc.constant('place' as const),
  id: fc.option(nasty),
  micros: fc.option(fc.maxSafeInteger()),
  held_micros: fc.option(fc.nat()),
  key_id: fc.option(nasty),
  tags: fc.option(fc.dictionary(nasty, nasty)),
  note: fc.option(nasty),
});

describe('a CSV of entries', () => {
  it('reads as what it was, and no text in it begins a formula', () => {
    fc.assert(
      fc.property(fc.array(entry, { maxLength: 3 }), (entries) => {
        const [head = [], ...rows] = csvRows(csvText(entries));
        expect(rows.length).toBe(entries.length);
        for (const [at, row] of rows.entries()) {
          for (const [column, cell] of row.entries()) {
            const value = Object.entries(entries[at] ?? {}).find(([key]) => key === head[column]);
            const [, of] = value ?? ['', null];
            const text = typeof of === 'string' ? of : of === null ? '' : JSON.stringify(of);
            expect(cell.replace(/^'/, '')).toBe(text.replace(/^'/, ''));
            if (typeof of !== 'number') expect(cell).not.toMatch(/^[=+\-@\t\r]/);
          }
        }
      }),
      { numRuns: 300 },
    );
  });
});

// ── metrics ──

const word = fc.oneof(
  fc.constantFrom('call', 'a"b', 'a\\b', 'a\nb', 'a,b', 'a|b', '', '4', 'x.y', '__proto__', '}'),
  fc.string({ maxLength: 4 }),
);
const callRow = fc.record({
  id: fc.constantFrom('call_1', 'call_1:overflow'),
  surface: word,
  outcome: word,
  status: fc.nat(999),
  code: fc.option(word),
  blame: fc.option(word),
  latencyMs: fc.oneof(fc.nat(400_000), fc.double({ min: 0, max: 500, noNaN: true })),
  requestBytes: fc.option(fc.nat()),
  responseBytes: fc.option(fc.nat()),
  tier: fc.option(fc.nat(4)),
  catalogId: fc.option(word),
  costMicros: fc.option(fc.nat()),
  signal: fc.option(word),
  found: fc.option(fc.constantFrom('hit', 'miss', 'error')),
  servedVia: fc.option(word),
});
const sample =
  /^weir_[a-z_]+(?:\{(?:[a-z_]+="[^"\\\n]*"(?:,[a-z_]+="[^"\\\n]*")*)\})? [0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?$/;
const comment = /^# (?:HELP weir_[a-z_]+ [^\n]+|TYPE weir_[a-z_]+ (?:counter|histogram))$/;

describe('the page of metrics', () => {
  it('is well formed whatever was counted, and no series is there twice', () => {
    const junk = fc.dictionary(
      fc.oneof(
        word,
        fc
          .tuple(fc.constantFrom('calls', 'duration', 'refusals', 'sent'), word)
          .map(([id, rest]) => `${id}|${rest}`),
      ),
      fc.oneof(fc.nat(), fc.constantFrom(-1, 0.5, Number.NaN, 1e300)),
    );
    fc.assert(
      fc.property(fc.array(callRow, { maxLength: 5 }), junk, (calls, counts) => {
        const totals = new Totals();
        for (const call of calls) countCall(totals, call, (code) => code.length < 4);
        const hub = new Totals();
        hub.merge(totals.list());
        hub.merge(counts);
        const lines = prometheusText(hub.list()).split('\n');
        expect(lines.pop()).toBe('');
        for (const line of lines) expect(line).toMatch(line.startsWith('#') ? comment : sample);
        const names = lines.map((line) => line.replace(/ [^ ]*$/, ''));
        const series = names.filter((name) => !name.startsWith('#'));
        expect(new Set(series).size).toBe(series.length);
      }),
      { numRuns: 200 },
    );
  });
});

// ── cursors ──

describe('a cursor', () => {
  it('of the longest id of a ledger is short enough to come back', () => {
    const id = fc.string({
      unit: fc.constantFrom('a', '~', ':', '!', '0'),
      minLength: 1,
      maxLength: ledgerIdCharsMax,
    });
    fc.assert(
      fc.property(fc.constantFrom('record', 'review', 'hold', 'task'), id, (list, last) => {
        const cursor = btoa(`${list}:${last}`);
        expect(cursor.length).toBeLessThanOrEqual(cursorCharsMax);
        expect(decodedCursor(cursor)).toBe(`${list}:${last}`);
        expect(ledgerId.test(last)).toBe(true);
      }),
    );
  });

  it('is read or none of ours, never a fault', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 140 }), (text) => {
        const read = decodedCursor(text);
        if (text.length > cursorCharsMax) expect(read).toBeNull();
      }),
    );
  });
});
