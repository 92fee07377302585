/** Header rules: their order, and what adding means. */
import { expect, it } from 'vitest';
import { applyEdits } from '../../../../src/domain/relay/header-edits';

const none = { remove: [], set: [], add: [] };

function edited(before: Record<string, string>, edits: Partial<Parameters<typeof applyEdits>[1]>) {
  const headers = new Headers(before);
  applyEdits(headers, { ...none, ...edits });
  return Object.fromEntries(headers);
}

it('removes, then sets, then adds', () => {
  const edits = {
    remove: ['x-a', 'x-b'],
    set: [['x-b', '2']],
    add: [
      ['x-b', '3'],
      ['x-c', '4'],
    ],
  } as const;
  expect(edited({ 'x-a': '0', 'x-b': '1' }, edits)).toEqual({ 'x-b': '2, 3', 'x-c': '4' });
});

it('adds a cookie to those that are there, as cookies are parted', () => {
  const add = [['cookie', 'b=2']] as const;
  expect(edited({ cookie: 'a=1; c=3' }, { add })).toEqual({ cookie: 'a=1; c=3; b=2' });
  expect(edited({}, { add })).toEqual({ cookie: 'b=2' });
});
