/** 05 admit: no flow limit can be configured yet, so the very same call comes back. */
import { expect, it } from 'vitest';
import { admit } from '../../../src/call/05-admit';
import { authorized } from './calls';

it('the call passes unchanged', () => {
  const call = authorized();
  const admitted = admit(call);
  expect(admitted.ok && admitted.value).toBe(call);
});
