/** Polling tasks by hand: the operator's, and what it says. */
import { describe, expect, it } from 'vitest';
import { err, ok } from '../../../src/base/result';
import { makeApi, makeTenant } from './harness';

const counts = { running: 2, settled: 1, released: 0, failed: 3, gone: 0, left: 4 };

describe('a poll by hand', () => {
  it('polls what is due, and counts what came of it', async () => {
    const api = makeApi({ pollTasks: async () => ok(counts) });
    expect(await api.made('POST', '/tasks/poll', {})).toEqual(counts);
  });

  it('is the operator’s', async () => {
    const api = makeApi();
    const { token: key } = await makeTenant(api);
    expect((await api.send('POST', '/tasks/poll', { key, body: {} })).status).toBe(403);
    expect((await api.send('POST', '/tasks/poll', { key: null, body: {} })).status).toBe(401);
  });

  it('without a store is 503', async () => {
    const down = err({ code: 'config.unavailable', retryAfterMs: 1_000 } as const);
    const api = makeApi({ pollTasks: async () => down });
    expect((await api.send('POST', '/tasks/poll', { body: {} })).status).toBe(503);
  });
});
