/** 09 settle: tiers 1 to 3 owe nothing, so the very same call comes back. */
import { expect, it } from 'vitest';
import { settle } from '../../../src/call/09-settle';
import { answered } from './calls';

it('the answer passes unchanged', () => {
  const call = answered();
  expect(settle(call)).toBe(call);
});
