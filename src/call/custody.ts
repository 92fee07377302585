/**
 * Custody: who must close what when the client leaves. Created disarmed; armed just before the first await on the upstream; it ends
 * once, as the first of: answered, failed, cancelled (499), timed out (504). For tiers 1 to 3 nothing but the call's row is owed.
 * Promises: exactly one terminal row, with the real latency; the upstream is cancelled when the client leaves or the watchdog fires.
 * workerd runs no `finally` for a vanished client: a pending `waitUntil` keeps the context alive so that the abort event arrives.
 * Must never: hold a body. Called by run-call.
 */
import type { Background } from '../ports/config';
import type { Outcome } from '../ports/evidence';

/** What the terminal row of a call says about its end. */
export interface Ending {
  readonly outcome: Outcome;
  readonly status: number;
  readonly code: string | null;
}

/** The caller left before the end. */
export const clientClosed: Ending = { outcome: 'cancelled', status: 499, code: 'client.closed' };

export class Custody {
  readonly #onEnd: (ending: Ending) => void;
  #ended = false;
  #release: (() => void) | null = null;
  #cancel: AbortController | null = null;

  constructor(onEnd: (ending: Ending) => void) {
    this.#onEnd = onEnd;
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** From here the custody owns the call: registered with `waitUntil`, listening for the client. Gives the send's switch. */
  arm(client: AbortSignal, background: Background): AbortController {
    const cancel = new AbortController();
    this.#cancel = cancel;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#release = resolve;
    background(promise);
    client.addEventListener('abort', () => this.abandon(clientClosed));
    // Gone while an earlier stage waited: the event is past, the call must not be sent.
    if (client.aborted) this.abandon(clientClosed);
    return cancel;
  }

  /** The caller is gone or the watchdog fired: the upstream is cancelled, unless the call has already ended. */
  abandon(ending: Ending): void {
    if (this.#ended) return;
    this.end(ending);
    this.#cancel?.abort();
  }

  /** The one terminal write; later ones are no-ops and say so. */
  end(ending: Ending): boolean {
    if (this.#ended) return false;
    this.#ended = true;
    this.#onEnd(ending);
    this.#release?.();
    return true;
  }
}
