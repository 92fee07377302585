/**
 * 02 identify: the token, the clock of the call and its waitUntil go to the configuration; what
 * comes back decides.
 */
import { describe, expect, it } from 'vitest';
import { err, ok, type Result } from '../../../src/base/result';
import { identify } from '../../../src/call/02-identify';
import type { Refusal } from '../../../src/domain/refusal';
import type { Identity } from '../../../src/ports/config';
import { backgroundOf, key, startMs, taken, tenant, token, unavailable } from './calls';

const identity: Identity = { key: key(), tenant: tenant() };
type Answer = Result<Identity, Refusal>;

const asked = (answer: Answer | Promise<Answer>) => {
  const seen: unknown[] = [];
  const background = backgroundOf();
  const config = {
    identify: (...args: readonly unknown[]) => {
      seen.push(...args);
      return answer;
    },
  };
  return { seen, background, config };
};

describe('identify', () => {
  it.each([
    ['at once', ok(identity)],
    ['later', Promise.resolve(ok(identity))],
  ])('an identity that is there %s joins the call', async (_, answer) => {
    const { seen, background, config } = asked(answer);
    const call = taken();
    const result = await identify(call, config, background);
    expect(result).toEqual(ok({ ...call, key: identity.key, tenant: identity.tenant }));
    expect(seen).toEqual([token, startMs, background]);
  });

  it.each<Refusal>([
    { code: 'auth.failed', reason: 'unknown' },
    { code: 'auth.failed', reason: 'expired' },
    { code: 'auth.failed', reason: 'revoked' },
    unavailable,
  ])('%j is passed on', async (refusal) => {
    const { background, config } = asked(Promise.resolve(err(refusal)));
    expect(await identify(taken(), config, background)).toEqual(err(refusal));
  });
});
