/**
 * The life of one call, top to bottom: each stage takes what the one before gave, or refuses. One exit for refusals, one for answers.
 * Promises: exactly one terminal row for every call that is refused after 02 or sent (a caller that leaves before the send may leave none); a refusal costs no upstream; a bug is one bare 500.
 * The stage table is in README.md beside this file. Called by app.ts for every surface.
 */
import type { MaybePromise } from '../base/result';
import type { EgressPolicy } from '../domain/egress/allowance';
import type { Refusal } from '../domain/refusal';
import { withoutTokens } from '../domain/tenancy/token';
import { problemResponse } from '../http/problem';
import { rowOf } from '../http/refusal-table';
import type { Background, Config } from '../ports/config';
import type { Credentials } from '../ports/credentials';
import type { EgressGuard } from '../ports/egress';
import type { Blame, CallLog } from '../ports/evidence';
import { intake } from './01-intake';
import { identify } from './02-identify';
import { resolve } from './03-resolve';
import { authorize } from './04-authorize';
import { admit } from './05-admit';
import { reserve } from './06-reserve';
import { guard } from './07-guard';
import { isPumped, type RelayPorts, relay } from './08-relay';
import { settle } from './09-settle';
import { evidence } from './10-evidence';
import { finalize, isFollowed } from './11-finalize';
import type { EvidencedCall, GuardedCall, IdentifiedCall, ResolvedCall, Surface } from './call';
import { Custody, clientClosed, type Ending, type Hold } from './custody';
import { type BodyEnd, Silence } from './pump';

/** What the road needs from outside; made by wiring.ts. */
export interface CallServices {
  readonly config: Config;
  readonly credentials: Credentials;
  readonly egress: EgressGuard;
  readonly egressPolicy: EgressPolicy;
  readonly clientIpHeaders: ReadonlySet<string>;
  readonly callLog: CallLog;
  readonly send: RelayPorts['send'];
  readonly nowMs: () => number;
  /** One structured line: never a body, a query string or a secret. */
  readonly report: (event: string, facts: Record<string, string | number | null>) => void;
}

/** Runs one request of a data plane surface. `background` is this request's waitUntil. */
export async function runCall(
  surface: Surface,
  request: Request,
  services: CallServices,
  background: Background,
): Promise<Response> {
  const life = new CallLife(request, services, background);
  try {
    const taken = intake(request, surface, services.nowMs(), {
      clientIpHeaders: services.clientIpHeaders,
      egress: services.egressPolicy,
    });
    if (!taken.ok) return life.refuse(taken.error);
    const identified = await life.wait(identify(taken.value, services.config, life.background));
    if (!identified.ok) return life.refuse(identified.error);
    life.of(identified.value);
    const resolved = await life.wait(resolve(identified.value));
    if (!resolved.ok) return life.refuse(resolved.error);
    life.to(resolved.value);
    const authorized = authorize(resolved.value);
    if (!authorized.ok) return life.refuse(authorized.error);
    const admitted = admit(authorized.value);
    if (!admitted.ok) return life.refuse(admitted.error);
    const reserved = reserve(admitted.value);
    if (!reserved.ok) return life.refuse(reserved.error);
    const guarded = await life.wait(guard(reserved.value, services, life.background));
    if (!guarded.ok) return life.refuse(guarded.error);
    const hold = life.begin(guarded.value);
    const answered = await relay(guarded.value, services, hold);
    if (!answered.ok) return life.refuse(answered.error);
    const evidenced = await evidence(settle(answered.value), hold);
    if (!evidenced.ok) return life.refuse(evidenced.error);
    return life.answer(evidenced.value);
  } catch (bug) {
    return life.fail(bug);
  }
}

/** What one call owes its log, gathered as it becomes known, and the two exits. */
class CallLife {
  readonly #request: Request;
  readonly #services: CallServices;
  readonly #background: Background;
  #hasBackground = false;
  #hasWaited = false;
  readonly #custody: Custody;
  readonly #startedAtMs: number;
  #call: IdentifiedCall | null = null;
  #target: ResolvedCall | null = null;
  #evidence: string | null = null;
  #responseBytes: number | null = null;
  #blame: Blame | null = null;

  constructor(request: Request, services: CallServices, background: Background) {
    this.#request = request;
    this.#services = services;
    this.#background = (work) => {
      this.#hasBackground = true;
      background(work);
    };
    this.#startedAtMs = services.nowMs();
    this.#custody = new Custody(this.#startedAtMs, (ending, latencyMsMax) =>
      this.#log(ending, latencyMsMax),
    );
  }

  /** This request's waitUntil; remembers that it was used. */
  get background(): Background {
    return this.#background;
  }

  /** What a stage gives, noting whether it must be waited for: then the caller may be gone when it comes. */
  wait<T>(step: MaybePromise<T>): MaybePromise<T> {
    if (step instanceof Promise) this.#hasWaited = true;
    return step;
  }

  of(call: IdentifiedCall): void {
    this.#call = call;
  }

  to(target: ResolvedCall): void {
    this.#target = target;
  }

  /** From here the custody owns the call. */
  begin(call: GuardedCall): Hold {
    return this.#custody.begin({
      client: () => this.#request.signal,
      hasWaited: this.#hasWaited,
      background: this.#background,
      log: this.#services.callLog,
      firstByteTimeoutMs: call.upstream.firstByteTimeoutMs,
      nowMs: this.#services.nowMs,
      needsCancel: () => this.#hasBackground || isPumped(call),
    });
  }

  /** Our "no", or a fault of the transport: a problem document and the row. The upstream, if it was asked, is let go. */
  refuse(refusal: Refusal): Response {
    const row = rowOf(refusal);
    if (!this.#custody.ended) this.#blame = row.blame;
    this.#custody.abandon(endingOf(refusal, row.status));
    return problemResponse(refusal, this.#call === null ? {} : { callId: this.#call.id });
  }

  /** Their answer, whatever its status. Tracking ends here unless the upstream asks for its body to be followed. */
  answer(call: EvidencedCall): Response {
    this.#evidence = call.evidence;
    const { status } = call;
    const { idleTimeoutMs } = call.upstream;
    const silence = new Silence(idleTimeoutMs);
    if (isFollowed(call)) {
      this.#custody.armLater(idleTimeoutMs, () => silence.watch());
    } else {
      const code = call.redacted ? 'response.redacted' : null;
      this.#custody.end({ outcome: 'answered', status, code });
    }
    return finalize(call, {
      silence,
      onBytes: (total) => {
        this.#responseBytes = total;
      },
      onEnd: (end) => {
        const [ending, blame] = bodyEnding(end, status);
        this.#blame = blame;
        this.#custody.end(ending);
      },
    });
  }

  /** A bug of ours: a bare 500 with the call id; the text goes to the log only. */
  fail(bug: unknown): Response {
    const refusal: Refusal = { code: 'internal.error' };
    this.#blame = 'gateway';
    const name = bug instanceof Error ? bug.name : typeof bug;
    const where =
      bug instanceof Error
        ? (bug.stack ?? '').split('\n').slice(1, 4).join(' ').replace(/\s+/g, ' ')
        : '';
    this.#services.report('call.bug', { call_id: this.#call?.id ?? null, error: name, where });
    this.#custody.abandon({ outcome: 'failed', status: 500, code: refusal.code });
    return problemResponse(refusal, this.#call === null ? {} : { callId: this.#call.id });
  }

  #log({ outcome, status, code }: Ending, latencyMsMax: number | null): void {
    const call = this.#call;
    if (call === null) return;
    const target = this.#target;
    this.#services.callLog.push(
      {
        id: call.id,
        tenantId: call.key.tenantId,
        keyId: call.key.id,
        principalId: call.key.principalId,
        upstreamId: target?.upstream.id ?? null,
        surface: call.surface,
        method: call.method,
        host: target?.endpoint.host ?? null,
        path: target === null ? null : withoutTokens(target.sentPath),
        outcome,
        status,
        code,
        blame: outcome === 'cancelled' ? 'caller' : this.#blame,
        startedAtMs: this.#startedAtMs,
        latencyMs: latencyMsMax ?? this.#services.nowMs() - this.#startedAtMs,
        requestBytes: call.declaredBytes,
        responseBytes: this.#responseBytes,
        evidence: this.#evidence,
      },
      this.#background,
    );
  }
}

/** How the row reads for a refusal: a caller that stopped sending is a cancelled call, whatever we answer. */
function endingOf(refusal: Refusal, status: number): Ending {
  const { code } = refusal;
  if (code === 'request.body_incomplete') return { outcome: 'cancelled', status: 499, code };
  if (code === 'timeout.request') return { outcome: 'timed_out', status, code };
  return { outcome: code === 'downstream.error' ? 'failed' : 'refused', status, code };
}

function bodyEnding(end: BodyEnd, status: number): readonly [Ending, Blame | null] {
  switch (end) {
    case 'complete':
      return [{ outcome: 'answered', status, code: null }, null];
    case 'caller_left':
      return [clientClosed, 'caller'];
    case 'idle':
      return [{ outcome: 'timed_out', status: 504, code: 'timeout.idle' }, 'upstream'];
    case 'upstream_broke':
      return [{ outcome: 'failed', status, code: 'stream.aborted' }, 'connection'];
  }
}
