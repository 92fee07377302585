/** 06 reserve: every call is of tier 1 and owes nothing, so the very same call comes back. */
import { expect, it } from 'vitest';
import { reserve } from '../../../src/call/06-reserve';
import { authorized } from './calls';

it('the call passes unchanged', () => {
  const call = authorized();
  const reserved = reserve(call);
  expect(reserved.ok && reserved.value).toBe(call);
});
