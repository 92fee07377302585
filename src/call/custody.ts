/**
 * Custody: who must close what when the client leaves. Created disarmed; it begins just before the send and ends once, as the first of:
 * answered, failed, cancelled (499), timed out (504). For tiers 1 to 3 nothing but the call's row is owed.
 *
 * workerd runs no `finally` for a vanished client. A pending `waitUntil` keeps the context alive so that the abort event arrives, but it
 * costs a tenth of a relay, so a call gets one only when it is still open after `custodyArmMs`. Until then the call log watches it: a
 * context that dies takes the upstream connection with it at once, and the log writes the row of a call that nobody can end any more.
 * Promises: exactly one terminal row; latency is real, and for a client that left before the arming at most `custodyArmMs`.
 * Must never: hold a body. Called by run-call; stage 08 uses the {@link Send} that it gives.
 */
import { custodyArmMs } from '../base/limits';
import type { Background } from '../ports/config';
import type { CallLog, OpenCall, Outcome } from '../ports/evidence';

/** What the terminal row of a call says about its end. */
export interface Ending {
  readonly outcome: Outcome;
  readonly status: number;
  readonly code: string | null;
}

/** The caller left before the end. */
export const clientClosed: Ending = { outcome: 'cancelled', status: 499, code: 'client.closed' };

/** What stage 08 may do with the call that it sends. */
export interface Send {
  readonly signal: AbortSignal;
  /** Cancels the send; the call itself goes on to its refusal. */
  cancel(): void;
  /** Resolves when no answer began in time. */
  readonly timedOut: Promise<'timeout'>;
  /** The answer's headers are here: the first-byte watchdog stands down. */
  answered(): void;
}

/** What a custody needs to begin. `firstByteTimeoutMs` counts from now. */
export interface CustodyTerms {
  readonly client: AbortSignal;
  readonly background: Background;
  readonly log: Pick<CallLog, 'watch' | 'unwatch'>;
  readonly firstByteTimeoutMs: number;
}

export class Custody implements OpenCall {
  armed = false;
  readonly startedAtMs: number;
  readonly #onEnd: (ending: Ending, latencyMsMax: number | null) => void;
  #ended = false;
  #release: (() => void) | null = null;
  #cancel: AbortController | null = null;
  #terms: CustodyTerms | null = null;
  #armTimer: number | null = null;
  #watchdog: number | null = null;
  #headersCame = false;

  /** `onEnd` writes the row; `latencyMsMax` is set only when the end itself was not seen. */
  constructor(startedAtMs: number, onEnd: (ending: Ending, latencyMsMax: number | null) => void) {
    this.startedAtMs = startedAtMs;
    this.#onEnd = onEnd;
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** From here the custody owns the call. */
  begin(terms: CustodyTerms): Send {
    this.#terms = terms;
    const cancel = new AbortController();
    this.#cancel = cancel;
    const late = Promise.withResolvers<'timeout'>();
    terms.log.watch(this, terms.background);
    const armAfterMs = Math.min(custodyArmMs, terms.firstByteTimeoutMs);
    this.#armTimer = setTimeout(() => {
      this.arm();
      if (this.#ended || this.#headersCame) return;
      this.#watchdog = setTimeout(() => late.resolve('timeout'), terms.firstByteTimeoutMs - armAfterMs);
    }, armAfterMs);
    // Gone while an earlier stage waited: the event is past, the call must not be sent.
    if (terms.client.aborted) this.abandon(clientClosed);
    return {
      signal: cancel.signal,
      timedOut: late.promise,
      cancel: () => cancel.abort(),
      answered: () => {
        this.#headersCame = true;
        clearTimeout(this.#watchdog);
      },
    };
  }

  /** Registers with `waitUntil` and listens for the client; from here the end is always seen. */
  arm(): void {
    const terms = this.#terms;
    if (this.armed || this.#ended || terms === null) return;
    this.armed = true;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#release = resolve;
    terms.background(promise);
    terms.client.addEventListener('abort', () => this.abandon(clientClosed));
    if (terms.client.aborted) this.abandon(clientClosed);
  }

  /** The caller is gone or the watchdog fired: the upstream is cancelled, unless the call has already ended. */
  abandon(ending: Ending): void {
    if (this.end(ending)) this.#cancel?.abort();
  }

  /** The log's word that the context died before the arming. */
  lapse(): void {
    this.#finish(clientClosed, custodyArmMs);
  }

  /** The one terminal write; later ones are no-ops and say so. */
  end(ending: Ending): boolean {
    return this.#finish(ending, null);
  }

  #finish(ending: Ending, latencyMsMax: number | null): boolean {
    if (this.#ended) return false;
    this.#ended = true;
    clearTimeout(this.#armTimer);
    clearTimeout(this.#watchdog);
    this.#terms?.log.unwatch(this);
    this.#onEnd(ending, latencyMsMax);
    this.#release?.();
    return true;
  }
}
