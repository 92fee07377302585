/** `/metrics` over real sockets: who may read it, that it shows all isolates, what stands in its labels, and that no counter falls. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { refusalTable } from '../../src/http/refusal-table.ts';
import { failOpens } from '../../src/ports/metrics.ts';
import { type MoneyTenant, type MoneyWorld, startMoneyWorld } from '../support/money-world.ts';
import { callMicros, labKey } from '../support/money-world-catalog.ts';
import { operatorKey } from '../support/test-env.ts';
import { until } from '../support/until.ts';

let world: MoneyWorld;
let tenant: MoneyTenant;
let poor: MoneyTenant;

beforeAll(async () => {
  world = await startMoneyWorld({ isolates: 2 });
  tenant = await world.tenant({ name: 'Planted Tenant' });
  poor = await world.tenant({ topUpMicros: 1 });
});
afterAll(() => world.dispose());

const scrape = (isolate: number, authorization = `Bearer ${operatorKey}`): Promise<Response> =>
  fetch(`http://127.0.0.1:${world.isolates.ports[isolate]}/metrics`, {
    headers: authorization === '' ? {} : { authorization },
  });

/** Samples of a page by their series. */
async function samples(isolate: number): Promise<ReadonlyMap<string, number>> {
  const answer = await scrape(isolate);
  expect(answer.status).toBe(200);
  const lines = (await answer.text()).split('\n').filter((line) => /^weir_/.test(line));
  return new Map(
    lines.map((line) => {
      const at = line.lastIndexOf(' ');
      return [line.slice(0, at), Number(line.slice(at + 1))];
    }),
  );
}

const calls = (page: ReadonlyMap<string, number>): number =>
  [...page]
    .filter(([series]) => series.startsWith('weir_calls_total{'))
    .reduce((sum, [, count]) => sum + count, 0);

describe('/metrics', () => {
  it.each([
    ['without a key', ''],
    ['with a wrong key', 'Bearer not-the-operator'],
    ['with a longer one', `Bearer ${operatorKey}x`],
  ])('is 401 %s', async (_, authorization) => {
    const answer = await scrape(0, authorization);
    expect(answer.status).toBe(401);
    expect(await answer.text()).not.toContain('weir_');
  });

  it('is 403 with a tenant’s key', async () => {
    const answer = await scrape(0, `Bearer ${tenant.scenario.token}`);
    expect([answer.status, (await answer.json()).needs]).toEqual([403, 'operator']);
  });

  it('shows what alerts wait for as 0 before it is counted', async () => {
    // `increase()` and `rate()` compare two samples: a series that comes with a 1 and stays there has none.
    const codes = Object.keys(refusalTable).map((code) => `weir_refusals_total{code="${code}"}`);
    const whats = failOpens.map((what) => `weir_fail_open_total{what="${what}"}`);
    const page = await samples(0);
    for (const series of [...codes, ...whats])
      expect([series, page.get(series)]).toEqual([series, 0]);
  });

  it('shows the calls of every isolate, whichever is asked', async () => {
    for (const isolate of [0, 0, 0, 1, 1]) {
      const answer = await tenant.call('lab.fixed', { isolate });
      expect(answer.status).toBe(200);
    }
    expect((await poor.call('lab.fixed', { isolate: 1 })).status).toBe(402);
    const pages = await until('the calls of both isolates', async () => {
      const both = [await samples(0), await samples(1)] as const;
      return both.every((page) => calls(page) === 6) ? both : undefined;
    });
    for (const page of pages) {
      expect(Object.fromEntries(page)).toMatchObject({
        'weir_calls_total{surface="call",outcome="answered",blame="none",tier="4",status_class="2xx"}': 5,
        'weir_cost_micro_usd_total{provider="lab"}': 5 * callMicros,
        'weir_refusals_total{code="insufficient_balance"}': 1,
        'weir_call_duration_seconds_count{tier="4"}': 6,
        'weir_call_duration_seconds_bucket{tier="4",le="+Inf"}': 6,
      });
    }
  });

  it('has labels of ours only: no tenant, path, host, key or word of a caller', async () => {
    const before = calls(await samples(0));
    const word = 'planted-word';
    const lines = [`X-Weir-Meta: team=${word}`, `X-Custom: ${word}`];
    await tenant.call('lab.fixed', { headers: lines, query: `?q=${word}` });
    await tenant.call(`lab.${word}`, {});
    const text = await until('the two calls', async () => {
      const answer = await scrape(0);
      const body = await answer.text();
      return calls(await samples(0)) === before + 2 ? body : undefined;
    });
    const host = world.origin.authority;
    for (const secret of [
      word,
      host,
      labKey,
      tenant.scenario.token,
      tenant.id,
      'Planted',
      '/fixed',
    ])
      expect(text).not.toContain(secret);
    // Of any key, tenant, call or hold: codes of ours begin with `key_` as well.
    expect(text).not.toMatch(/[a-z]+_[0-9A-HJKMNP-TV-Z]{26}/);
  });

  it('is the text format that Prometheus reads, and nobody keeps it', async () => {
    const answer = await scrape(0);
    expect(answer.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
    expect(answer.headers.get('cache-control')).toBe('no-store');
  });

  it('shows no counter that has fallen after the process was killed', async () => {
    const before = await samples(0);
    await world.isolates.kill();
    await world.restart();
    const after = await samples(1);
    for (const [series, count] of before)
      expect([series, (after.get(series) ?? 0) >= count]).toEqual([series, true]);
  });
});
