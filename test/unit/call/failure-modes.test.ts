/**
 * docs/failure-modes.md against the refusal table: every code once, with its status and blame, and
 * nothing invented.
 */
import { describe, expect, it } from 'vitest';
import page from '../../../docs/failure-modes.md?raw';
import { refusalTable } from '../../../src/http/refusal-table';

interface Documented {
  readonly status: string;
  readonly blame: string;
  readonly advice: string;
}

/** Rows of the five-column tables by code. */
const documented = new Map<string, Documented>();
for (const line of page.split('\n')) {
  const [, first = '', status = '', , blame = '', advice = ''] =
    line.split(' | ').length === 5 ? cells(line) : [];
  const code = /^`([a-z_.]+)`$/.exec(first)?.[1];
  if (code !== undefined) documented.set(code, { status, blame, advice });
}

function cells(line: string): string[] {
  return line.split('|').map((cell) => cell.trim());
}

describe('docs/failure-modes.md', () => {
  it.each(Object.entries(refusalTable))(
    'has %s with its status, blame and what to do',
    (code, row) => {
      const found = documented.get(code);
      expect(found, `${code} is not in docs/failure-modes.md`).toBeDefined();
      // A withheld body keeps the upstream's status.
      const status = code === 'response.redacted' ? 'the upstream’s' : String(row.status);
      expect(found?.status.replace("'", '’')).toBe(status);
      expect(found?.blame).toBe(row.blame);
      expect(found?.advice).not.toBe('');
    },
  );

  it('invents no code', () => {
    expect([...documented.keys()].filter((code) => !(code in refusalTable))).toEqual([]);
  });

  it('has every code once', () => {
    const rows = [...page.matchAll(/^\| `([a-z_.]+)` \|/gm)].map((match) => match[1]);
    expect(rows.length).toBe(new Set(rows).size);
  });
});
