/**
 * Text for a terminal: tables and pairs. Promises: columns line up, a number's to the right; a
 * value never carries a control character to the terminal (the attack: a tag or a key with escape
 * sequences in it). Pure. Called by the commands.
 */

/** One column: its heading and how a row shows in it; `right` for amounts. */
export interface Column<R> {
  readonly head: string;
  readonly cell: (row: R) => string;
  readonly right?: boolean;
}

/** Shown where there is no value. */
const none = '-';

/** A value in one line: control characters, also those that turn text around, become `�`. */
export const oneLine = (text: string): string =>
  text.replaceAll(/[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu, '\ufffd');

/** Rows under headings; `empty` when there is none. */
export function table<R>(rows: readonly R[], columns: readonly Column<R>[], empty: string): string {
  if (rows.length === 0) return empty;
  const cells = rows.map((row) => columns.map((column) => oneLine(column.cell(row)) || none));
  const lines = [columns.map((column) => column.head), ...cells];
  const widths = columns.map((_, at) => Math.max(...lines.map((line) => (line[at] ?? '').length)));
  const padded = (line: readonly string[]): string =>
    line
      .map((text, at) => {
        const width = widths[at] ?? 0;
        return columns[at]?.right === true ? text.padStart(width) : text.padEnd(width);
      })
      .join('  ')
      .trimEnd();
  return lines.map(padded).join('\n');
}

/** Names and values, one pair a line. */
export function pairs(rows: readonly (readonly [name: string, value: string])[]): string {
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, value]) => `${name.padEnd(width)}  ${oneLine(value) || none}`).join('\n');
}
