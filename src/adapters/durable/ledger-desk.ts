/**
 * Ledger desk: the road's way to the ledgers. Calls of one tenant that arrive together share one
 * object call, and settlements ride along with it.
 * Promises: see `ports/ledger.ts`; a bounded number of desks, of which only idle ones are forgotten.
 * Must never: keep a stub or a promise of one request for another. Made by wiring.ts; called by the
 * stages 06 and 09 and by the custody of a call.
 */
import { ledgerDeskScanMax, ledgerDesksMax } from '../../base/limits-money';
import type { EndAnswer, EndOp, PlaceAnswer, PlaceOp } from '../../domain/ledger/operations';
import type { Background } from '../../ports/config';
import type {
  DeskTime,
  FromLedger,
  LedgerAddress,
  LedgerDesk,
  SettlementKeeper,
} from '../../ports/ledger';
import { callLedger, type LedgerObject, ledgerBusy, ledgerUnavailable } from './ledger-call';
import { DeskCounts, TenantDesk } from './tenant-desk';
import { Ticket } from './ticket';

/** What the desk is made of. */
export interface DurableLedgerDeskParts {
  /** A fresh stub. */
  readonly objectOf: (address: LedgerAddress) => LedgerObject;
  readonly keeper: SettlementKeeper;
  readonly time: DeskTime;
}

export class DurableLedgerDesk implements LedgerDesk {
  readonly counts = new DeskCounts();
  readonly #parts: DurableLedgerDeskParts;
  /** Least recently used first. */
  readonly #desks = new Map<string, TenantDesk>();

  constructor(parts: DurableLedgerDeskParts) {
    this.#parts = parts;
  }

  async place(
    address: LedgerAddress,
    op: PlaceOp,
    background: Background,
  ): FromLedger<PlaceAnswer> {
    const desk = this.#deskOf(address) ?? this.#newDesk(address);
    if (desk === null) return ledgerBusy;
    const outcome = await desk.submit(Ticket.placing(op), background);
    return outcome.outcome === 'applied' ? (outcome.places[0] ?? ledgerUnavailable) : outcome;
  }

  end(address: LedgerAddress, op: EndOp, background: Background): void {
    this.#deskForEnds(address).end(op, background);
  }

  async endNow(
    address: LedgerAddress,
    ops: readonly EndOp[],
    background: Background,
  ): FromLedger<readonly EndAnswer[]> {
    const outcome = await this.#deskForEnds(address).submit(Ticket.ending(ops), background);
    return outcome.outcome === 'applied' ? outcome.ends : outcome;
  }

  #deskOf({ ledgerTenantId }: LedgerAddress): TenantDesk | null {
    const desk = this.#desks.get(ledgerTenantId);
    if (desk === undefined) return null;
    this.#desks.delete(ledgerTenantId);
    this.#desks.set(ledgerTenantId, desk);
    return desk;
  }

  /** `null`: the isolate is full of desks that have something to do. */
  #newDesk(address: LedgerAddress): TenantDesk | null {
    return this.#hasRoom() ? this.#open(address) : null;
  }

  /** An end is never turned away: its desk was forgotten, or is as old as its hold. */
  #deskForEnds(address: LedgerAddress): TenantDesk {
    const known = this.#deskOf(address);
    if (known !== null) return known;
    this.#hasRoom();
    return this.#open(address);
  }

  /** Forgets the oldest idle desk when there are too many; false when none of the oldest is idle. */
  #hasRoom(): boolean {
    if (this.#desks.size < ledgerDesksMax) return true;
    let passed = 0;
    for (const [ledgerTenantId, desk] of this.#desks) {
      if (desk.isIdle) return this.#desks.delete(ledgerTenantId);
      passed += 1;
      if (passed >= ledgerDeskScanMax) break;
    }
    return false;
  }

  #open(address: LedgerAddress): TenantDesk {
    const { objectOf, keeper, time } = this.#parts;
    const desk = new TenantDesk({
      send: (ends, places) => callLedger(() => objectOf(address).apply(ends, places), time),
      keep: (ends) => keeper.keep(address, ends),
      time,
      counts: this.counts,
    });
    this.#desks.set(address.ledgerTenantId, desk);
    return desk;
  }
}
