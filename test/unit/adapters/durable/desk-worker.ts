/**
 * The desk and the real object behind a small Worker: what only requests of their own can show,
 * callers that wait for each other's answers and clients that vanish. Bundled by
 * `test/fault/ledger-client.test.ts`; never part of the product.
 *
 * `/call?id=` is the life of a metered call without its vendor: place, answer, settle afterwards.
 * `&owner=none` registers nothing with `waitUntil`, so that the call dies with its client.
 */
import { OrgLedger } from '../../../../durable-objects/org-ledger';
import {
  type LedgerObject,
  ledgerStubs,
  packedLedger,
} from '../../../../src/adapters/durable/ledger-call';
import { DurableLedgerDesk } from '../../../../src/adapters/durable/ledger-desk';
import { noSettlementQueue } from '../../../../src/adapters/durable/settlement-queue';
import { platformTime } from '../../../../src/adapters/time';
import type { PlaceOp } from '../../../../src/domain/ledger/operations';
import type { LedgerAddress } from '../../../../src/ports/ledger';

export { OrgLedger };

interface Env {
  readonly LEDGER: DurableObjectNamespace<OrgLedger>;
}

const address: LedgerAddress = { ledgerTenantId: 'ten_desk', homeRegion: null };

/** How long each of the next object calls is under way, milliseconds; then none is slow. */
let delaysMs: number[] = [];
/** Calls that have arrived at the desk. */
let arrived = 0;
let desk: DurableLedgerDesk | null = null;

function deskOf(env: Env): DurableLedgerDesk {
  const stubOf = ledgerStubs(env.LEDGER);
  desk ??= new DurableLedgerDesk({
    objectOf: (to): LedgerObject => {
      const ledger = packedLedger(stubOf(to));
      return {
        apply: async (ends, places) => {
          const delayMs = delaysMs.shift();
          if (delayMs !== undefined) await scheduler.wait(delayMs);
          return ledger.apply(ends, places);
        },
      };
    },
    keeper: noSettlementQueue,
    time: platformTime,
  });
  return desk;
}

async function call(request: Request, env: Env, context: ExecutionContext): Promise<Response> {
  const { searchParams } = new URL(request.url);
  const id = searchParams.get('id') ?? '';
  const background = (work: Promise<unknown>): void => {
    if (searchParams.get('owner') !== 'none') context.waitUntil(work);
  };
  arrived += 1;
  const op: PlaceOp = ['place', id, 10, 'key_1', null, null, null];
  const answer = await deskOf(env).place(address, op, background);
  if (answer.outcome === 'placed') {
    deskOf(env).end(address, ['settle', id, 5, true], background);
  }
  return new Response(answer.outcome);
}

export default {
  async fetch(request: Request, env: Env, context: ExecutionContext): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname === '/call') return call(request, env, context);
    if (pathname === '/delays') {
      delaysMs = (searchParams.get('ms') ?? '').split(',').map(Number);
      return new Response(null);
    }
    const stub = env.LEDGER.getByName(address.ledgerTenantId);
    if (pathname === '/fund') return Response.json(await stub.topUp('pay', 1_000_000_000));
    const view = await stub.view();
    return Response.json({ view, arrived, counts: deskOf(env).counts });
  },
};
