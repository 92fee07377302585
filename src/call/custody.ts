/**
 * Custody: who must close what when the client leaves. Created disarmed; it begins just before the send and ends once, as the first of:
 * answered, failed, cancelled (499), timed out (504). For tiers 1 to 3 nothing but the call's row is owed.
 *
 * workerd runs no `finally` for a vanished client; its context dies, and with it the upstream connection, at once. A pending `waitUntil`
 * keeps the context alive so that the abort event arrives, but it costs a tenth of a relay; so do a timer, and a signal given to fetch.
 * So a call gets them only when it is still open after `custodyArmMs`. Until then the keeper of the call log watches it: it wakes the call
 * when that time has come, and writes the row of a call whose context died before.
 * Promises: exactly one terminal row; latency is real, and for a client that left before the arming at most `custodyLatencyErrorMs`.
 * Must never: hold a body. Called by run-call; stages 08 and 10 use the {@link Hold} that it gives.
 */
import { custodyArmMs, custodyLatencyErrorMs, uploadBytesPerSecondMin } from '../base/limits';
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

/** What the stages may do with the call that is held. */
export interface Hold {
  /** A switch for the send. Only for sends that must be cut while the context lives on; the others end with their context. */
  readonly cancel: AbortController | null;
  /**
   * Waits for the answer's headers under the first-byte watchdog. `uploadBytes`: what the upstream has to get first, as far as it is known;
   * its time is not the upstream's silence. Never rejects: a runtime's error text can contain the URL.
   */
  wait(
    answer: Promise<Response>,
    uploadBytes: () => number,
  ): Promise<Response | 'fault' | 'timeout'>;
  /** To be called before waiting for anything else than headers. */
  arm(): void;
  /**
   * The same for a wait that is mostly short: arms, and calls `then`, when `custodyArmMs` have passed; at once when `boundMs`, after which
   * the waiting must be cut, is no longer than that.
   */
  armLater(boundMs: number, then: () => void): void;
}

/** The time that an upload may take beside the wait for its answer, milliseconds. */
export const uploadMs = (bytes: number): number =>
  Math.ceil((1_000 * bytes) / uploadBytesPerSecondMin);

/** What a custody needs to begin. `firstByteTimeoutMs` counts from the send: what the caller or a turn took before is not the upstream's. */
export interface CustodyTerms {
  /** The request's signal; a function, because reading it makes a native object that a call which is answered at once never needs. */
  readonly client: () => AbortSignal;
  /** Whether an earlier stage waited for something: the caller may have left meanwhile. */
  readonly hasWaited: boolean;
  readonly background: Background;
  readonly log: Pick<CallLog, 'watch' | 'unwatch'>;
  readonly firstByteTimeoutMs: number;
  readonly nowMs: () => number;
  /** Whether other work keeps the context alive, or the body is pumped: then only a signal ends the send. */
  readonly needsCancel: () => boolean;
  /** What happens when the client leaves a call that has been sent: `null` lets its upstream go; else it is waited for, until `giveUp`. */
  readonly drain: ((giveUp: () => void) => void) | null;
  /** Whether the client had the last event of its stream before it left: then its call is whole, however it leaves. */
  readonly isWhole: () => boolean;
  /** Called once when the call is armed: what only a long call needs begins here. */
  readonly onArmed: () => void;
}

export class Custody implements OpenCall, Hold {
  armed = false;
  slot = 0;
  /** Whether the vendor may have been asked: its send was begun while somebody wanted it. */
  isSent = false;
  cancel: AbortController | null = null;
  readonly startedAtMs: number;
  readonly #onEnd: (ending: Ending, latencyMsMax: number | null) => void;
  #ended = false;
  #release: (() => void) | null = null;
  #terms: CustodyTerms | null = null;
  #wake: (() => void) | null = null;
  #isWoken = false;

  /** `onEnd` writes the row; `latencyMsMax` is set only when the end itself was not seen. */
  constructor(startedAtMs: number, onEnd: (ending: Ending, latencyMsMax: number | null) => void) {
    this.startedAtMs = startedAtMs;
    this.#onEnd = onEnd;
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** From here the custody owns the call. */
  begin(terms: CustodyTerms): Hold {
    this.#terms = terms;
    terms.log.watch(this, terms.background);
    if (terms.needsCancel()) this.cancel = new AbortController();
    // Gone while an earlier stage waited: the event is past, the call must not be sent.
    if (terms.hasWaited && terms.client().aborted) {
      this.cancel ??= new AbortController();
      this.abandon(clientClosed);
    }
    return this;
  }

  wait(
    answer: Promise<Response>,
    uploadBytes: () => number,
  ): Promise<Response | 'fault' | 'timeout'> {
    this.isSent ||= !this.#ended;
    const terms = this.#terms;
    const isShort = terms !== null && terms.firstByteTimeoutMs < 2 * custodyArmMs;
    const answerByMs = terms === null ? 0 : terms.nowMs() + terms.firstByteTimeoutMs;
    const untilMs = (): number => answerByMs + uploadMs(uploadBytes());
    return new Promise((resolve) => {
      const woken = (): void => resolve(this.#underWatchdog(answer, untilMs));
      if (isShort || this.armed || this.#isWoken) return woken();
      // The keeper, another request, resolves this promise; what follows runs in the context that the call lives in. Only a promise of
      // `withResolvers` is safe for that: after some ten thousand calls one of `new Promise` goes on in the keeper's context.
      const wake = Promise.withResolvers<void>();
      this.#wake = wake.resolve;
      void wake.promise.then(woken);
      answer.then(resolve, () => resolve('fault'));
    });
  }

  /** `untilMs` moves while an upload goes on. */
  async #underWatchdog(
    answer: Promise<Response>,
    untilMs: () => number,
  ): Promise<Response | 'fault' | 'timeout'> {
    this.arm();
    const settled = answer.catch(() => 'fault' as const);
    let dueMs = untilMs();
    let leftMs = Math.max(0, dueMs - (this.#terms?.nowMs() ?? 0));
    do {
      const late = Promise.withResolvers<null>();
      const watchdog = setTimeout(() => late.resolve(null), leftMs);
      const first = await Promise.race([settled, late.promise]);
      clearTimeout(watchdog);
      if (first !== null) return first;
      leftMs = untilMs() - dueMs;
      dueMs += leftMs;
    } while (leftMs > 0);
    return 'timeout';
  }

  /** The keeper's word that `custodyArmMs` have passed. */
  wake(): void {
    this.#isWoken = true;
    this.#wake?.();
  }

  armLater(boundMs: number, then: () => void): void {
    const armed = (): void => {
      this.arm();
      then();
    };
    if (this.armed || this.#isWoken || boundMs < 2 * custodyArmMs) {
      armed();
      return;
    }
    const wake = Promise.withResolvers<void>();
    this.#wake = wake.resolve;
    void wake.promise.then(armed);
  }

  /** Registers with `waitUntil` and listens for the client; from here the end is always seen. */
  arm(): void {
    const terms = this.#terms;
    if (this.armed || this.#ended || terms === null) return;
    this.armed = true;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#release = resolve;
    terms.background(promise);
    terms.onArmed();
    const client = terms.client();
    client.addEventListener('abort', () => this.#clientLeft(terms));
    if (client.aborted) this.#clientLeft(terms);
  }

  #clientLeft({ drain, isWhole }: CustodyTerms): void {
    if (isWhole()) this.cancel?.abort();
    else if (drain === null) this.abandon(clientClosed);
    else if (this.end(clientClosed)) drain(() => this.cancel?.abort());
  }

  /** The caller is gone or the watchdog fired: the upstream is cancelled, unless the call has already ended. */
  abandon(ending: Ending): void {
    if (this.end(ending)) this.cancel?.abort();
  }

  /** The log's word that the context died before the arming. */
  lapse(): void {
    this.#finish(clientClosed, custodyLatencyErrorMs);
  }

  /** The one terminal write; later ones are no-ops and say so. */
  end(ending: Ending): boolean {
    return this.#finish(ending, null);
  }

  #finish(ending: Ending, latencyMsMax: number | null): boolean {
    if (this.#ended) return false;
    this.#ended = true;
    this.#terms?.log.unwatch(this);
    this.#onEnd(ending, latencyMsMax);
    this.#release?.();
    return true;
  }
}
