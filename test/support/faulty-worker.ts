/**
 * The Worker with a store that fails on command and a clock that can jump; everything else is
 * src/worker.ts as it is deployed.
 * `GET /fault/store/{ok|fails|hangs}` says what D1 does from now on, in this isolate; `GET
 * /fault/ahead/{ms}` sets how far the isolate's clock is ahead of real time, so that a bound of
 * minutes is proved in seconds. Bundled by the revoke proof; never part of the product.
 */
import type { Bindings } from '../../src/env';
import worker from '../../src/worker';

export { MetricsHub, OrgLedger, OverflowBudget, ProviderCapacity } from '../../src/worker';

type Mode = 'ok' | 'fails' | 'hangs';

let mode: Mode = 'ok';
let aheadMs = 0;
const realNow = Date.now.bind(Date);
Date.now = () => realNow() + aheadMs;

/** Longer than any wait of the gateway for its store, milliseconds. */
const hangMs = 120_000;

/** Does the work, or what D1 does when it cannot be reached. */
async function gated<T>(work: () => Promise<T>): Promise<T> {
  if (mode === 'hangs') await scheduler.wait(hangMs);
  if (mode !== 'ok') throw new Error('D1_ERROR: Network connection lost.');
  return work();
}

const inner = new WeakMap<object, D1PreparedStatement>();

/** A statement whose execution is gated. */
function statement(real: D1PreparedStatement): D1PreparedStatement {
  const faulty = {
    bind: (...values: unknown[]) => statement(real.bind(...values)),
    first: (...args: [string]) => gated(() => real.first(...args)),
    run: () => gated(() => real.run()),
    all: () => gated(() => real.all()),
    raw: (...args: Parameters<D1PreparedStatement['raw']>) => gated(() => real.raw(...args)),
  };
  inner.set(faulty, real);
  return faulty as unknown as D1PreparedStatement;
}

function faultyDatabase(real: D1Database): D1Database {
  const faulty: Pick<D1Database, 'prepare' | 'batch'> = {
    prepare: (sql) => statement(real.prepare(sql)),
    batch: (statements) => gated(() => real.batch(statements.map((one) => inner.get(one) ?? one))),
  };
  return faulty as D1Database;
}

let served: { readonly from: Bindings; readonly bindings: Bindings } | null = null;

/** One object per isolate: the gateway keeps what it wired for the bindings that it was given. */
function faultyBindings(from: Bindings): Bindings {
  if (served?.from !== from) served = { from, bindings: { ...from, DB: faultyDatabase(from.DB) } };
  return served.bindings;
}

/** Obeys a control path; `null` for every other request. */
function control(url: string): Response | null {
  const [, kind, value = ''] = /\/fault\/(store|ahead)\/(\w+)$/.exec(url) ?? [];
  if (kind === 'store') mode = value as Mode;
  else if (kind === 'ahead') aheadMs = Number(value);
  else return null;
  return new Response(null, { status: 204 });
}

export default {
  fetch: (request, bindings, context) =>
    control(request.url) ?? worker.fetch(request, faultyBindings(bindings), context),
} satisfies ExportedHandler<Bindings>;
