/**
 * The life of one call, top to bottom: each stage takes what the one before gave, or refuses. One exit for refusals, one for answers.
 * Promises: exactly one terminal row for every call that is refused after 02 or sent (a caller that leaves before the send may leave none); a refusal costs no upstream; a bug is one bare 500.
 * The stage table is in README.md beside this file. Called by app.ts for every surface.
 */
import { bugFacts } from '../base/bug';
import type { MaybePromise, Result } from '../base/result';
import { outcomeOf } from '../domain/capacity/outcome';
import type { CapacitySignal } from '../domain/capacity/signal';
import type { EgressPolicy } from '../domain/egress/allowance';
import type { RecordedAnswer } from '../domain/ledger/operations';
import { childId, type OverflowTrigger } from '../domain/overflow/child';
import type { UsageTap } from '../domain/pricing/sse-usage-tap';
import type { Refusal } from '../domain/refusal';
import { problemResponse } from '../http/problem';
import { rowOf } from '../http/refusal-table';
import type { Background, Config } from '../ports/config';
import type { Blame, CallLog, FinishedCall } from '../ports/evidence';
import { intake } from './01-intake';
import { identify } from './02-identify';
import { resolve } from './03-resolve';
import { authorize } from './04-authorize';
import { admit } from './05-admit';
import { reserve } from './06-reserve';
import { type GuardPorts, guard } from './07-guard';
import { isPumped, type RelayPorts, relay } from './08-relay';
import { settle } from './09-settle';
import { evidence } from './10-evidence';
import { finalize, isFollowed } from './11-finalize';
import { type Child, type Overflow, type OverflowPorts, overflow } from './branch-overflow';
import { replay } from './branch-replay';
import { mayBeBurst, resend } from './branch-resend';
import type {
  AnsweredCall,
  AuthorizedCall,
  CatalogCall,
  EvidencedCall,
  GuardedCall,
  IdentifiedCall,
  ResolvedCall,
  Surface,
} from './call';
import {
  bodyEnding,
  endingOf,
  isBodyFault,
  isOutcomeUnknown,
  rowOfCall,
  servedElsewhere,
} from './call-row';
import { refusalAfter, triggerOf, unsent } from './capacity';
import type { LadderPorts } from './catalog-target';
import { Custody, clientClosed, type Ending, type Hold } from './custody';
import { FollowedAnswer } from './followed-answer';
import type { Money } from './money';
import { noted } from './noted';
import { refusalOf } from './refused-upload';
import { recordedHeaders } from './stream-end';

/** What the road needs from outside: what its stages ask, and these. Made by wiring.ts. */
export interface CallServices extends LadderPorts, GuardPorts, RelayPorts, OverflowPorts {
  readonly config: Config;
  readonly egressPolicy: EgressPolicy;
  readonly overflow: Overflow;
  readonly clientIpHeaders: ReadonlySet<string>;
  readonly callLog: CallLog;
}

/** Runs one request of a data plane surface. `background` is this request's waitUntil. Never rejects: every exit that may is awaited in here. */
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
    const resolved = await life.wait(resolve(identified.value, services, life.background));
    if (!resolved.ok) return life.refuse(resolved.error);
    life.to(resolved.value);
    const authorized = await life.wait(authorize(resolved.value));
    if (!authorized.ok) return life.refuse(authorized.error);
    const admitted = admit(authorized.value);
    if (!admitted.ok) return life.refuse(admitted.error);
    const reserved = await life.wait(reserve(admitted.value, services, life.background));
    if (!reserved.ok) return await life.refuseOrElsewhere(admitted.value, reserved.error);
    if ('replay' in reserved.value) return await life.replay(reserved.value.replay);
    life.owes(reserved.value.money);
    const guarded = await life.wait(guard(reserved.value, services, life.background));
    if (!guarded.ok) return await life.refuseOrElsewhere(reserved.value, guarded.error);
    const hold = life.begin(guarded.value);
    const answered = await relay(guarded.value, services, hold);
    if (!answered.ok) return await life.unanswered(guarded.value, answered.error);
    const last = mayBeBurst(answered.value) ? await life.resent(answered.value, hold) : answered;
    if (!last.ok) return life.refuse(last.error);
    const settled = await settle(last.value, hold, services, life.background);
    if (!settled.ok) return life.refuse(settled.error);
    const evidenced = await evidence(settled.value, hold);
    if (!evidenced.ok) return life.refuse(evidenced.error);
    life.note(evidenced.value);
    return await life.answerOrElsewhere(evidenced.value);
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
  #money: Money | null = null;
  #tap: UsageTap | null = null;
  #target: ResolvedCall | null = null;
  #evidence: string | null = null;
  #account: string | null = null;
  #signal: CapacitySignal | null = null;
  #found: FinishedCall['found'] = null;
  #child: Child | null = null;
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

  /** What the call owes the ledger; from here every exit closes it. */
  owes(money: Money | null): void {
    this.#money = money;
  }

  /** From here the custody owns the call. */
  begin(call: GuardedCall): Hold {
    const money = this.#money;
    return this.#custody.begin({
      client: () => this.#request.signal,
      hasWaited: this.#hasWaited,
      background: this.#background,
      log: this.#services.callLog,
      firstByteTimeoutMs: call.upstream.firstByteTimeoutMs,
      nowMs: this.#services.nowMs,
      needsCancel: () => this.#hasBackground || isPumped(call),
      drain: money === null ? null : (giveUp) => money.left(giveUp),
      isWhole: () => this.#tap?.hasEnded ?? false,
      onArmed: () => money?.lasts(),
    });
  }

  /** A send that broke while its body was under way may have broken because its caller left: the runtime says so a moment later. */
  async unanswered(call: GuardedCall, refusal: Refusal): Promise<Response> {
    if (!this.#custody.isSent) unsent(call, this.#services, this.#background);
    const { code } = refusal;
    const isBroken = code === 'downstream.error' || code === 'request.body_incomplete';
    if (isBroken && this.#request.body !== null && !this.#custody.ended) {
      await this.#services.sleep(0);
      if (this.#request.signal.aborted) this.#custody.abandon(clientClosed);
    }
    return this.refuse(refusal);
  }

  /** The second answer to a burst that may be sent once more. */
  resent(call: AnsweredCall, hold: Hold): Promise<Result<AnsweredCall, Refusal>> {
    return resend(call, this.#services, hold);
  }

  /** Our "no", unless it is about the operator's account and an aggregator serves the call: then the call's one row is the child's. */
  refuseOrElsewhere(call: AuthorizedCall, refusal: Refusal): MaybePromise<Response> {
    const trigger = triggerOf(refusal);
    if (trigger === null || call.catalog?.hasRoute !== true) return this.refuse(refusal);
    // Released before the child's hold is placed; nothing was sent.
    this.#money?.abandon(refusal.code, false);
    return this.#overflow(call, trigger).then((child) => {
      if (child?.response == null) return this.refuse(this.#afterChild(refusal, child));
      this.#child = child;
      this.#custody.end({ outcome: 'answered', status: child.status, code: null });
      return child.response;
    });
  }

  /** Their answer, unless it was our account's fault and an aggregator has a better one; a child that ran has a row of its own. */
  answerOrElsewhere(call: EvidencedCall): MaybePromise<Response> {
    const signal = this.#signal;
    const { catalog } = call;
    if (signal === null || catalog?.hasRoute !== true) return this.answer(call);
    // What the vendor billed is paid: parent and child are never both charged.
    if (call.costMicros !== null && call.costMicros > 0) return this.answer(call);
    const trigger = { kind: 'answer', status: call.status, signal: signal.kind } as const;
    return this.#elsewhere(call, catalog, signal, trigger);
  }

  /** The child cycle of this call; one that was placed was counted. */
  #overflow(call: AuthorizedCall, trigger: OverflowTrigger): Promise<Child | null> {
    const isCounted = this.#money !== null;
    const onShadow = (shadow: Child): void => this.#pushChild(shadow);
    return overflow(call, { trigger, isCounted, onShadow }, this.#services, this.#background);
  }

  /** Our "no" when an aggregator that was asked did not serve the call either: that run has a row. */
  #afterChild(refusal: Refusal, child: Child | null): Refusal {
    if (child === null) return refusal;
    this.#pushChild(child);
    return refusal.code === 'provider_capacity' ? { ...refusal, overflow: child.code } : refusal;
  }

  async #elsewhere(
    call: EvidencedCall,
    catalog: CatalogCall,
    signal: CapacitySignal,
    trigger: OverflowTrigger,
  ): Promise<Response> {
    const child = await this.#overflow(call, trigger);
    if (child === null) return this.answer(call);
    this.#pushChild(child);
    if (child.response !== null) return this.#instead(call, child.response, null);
    if (!child.isOut) return this.answer(call);
    const out = await refusalAfter(catalog, signal, this.#services, this.#background);
    if (out === null) return this.answer(call);
    const refusal = { ...out, overflow: child.code };
    return this.#instead(call, problemResponse(refusal, { callId: call.id }), refusal.code);
  }

  /** The call's row has the vendor's answer, its caller another one. */
  #instead(call: EvidencedCall, response: Response, code: string | null): Response {
    this.#evidence = call.evidence;
    this.#custody.end({ outcome: 'answered', status: call.status, code });
    return response;
  }

  /** What an answer says of the operator's account, after the hold was closed, and whether it has what was asked for. */
  note(call: EvidencedCall): void {
    if (call.catalog !== null) this.#found = outcomeOf(call.status, null);
    this.#account = call.account;
    this.#signal = noted(call, this.#services, this.#background);
  }

  /** Our "no", or a fault of the transport: a problem document and the row. The upstream, if it was asked, is let go. */
  refuse(refusal: Refusal): MaybePromise<Response> {
    const row = rowOf(refusal);
    if (!this.#custody.ended) this.#blame = row.blame;
    this.#custody.abandon(endingOf(refusal, row.status));
    // A vendor that never had the whole request cannot have executed it.
    if (isBodyFault(refusal)) this.#money?.release(refusal.code);
    this.#money?.abandon(refusal.code, isOutcomeUnknown(refusal));
    return refusalOf(this.#request, refusal, this.#call?.id ?? null);
  }

  /** The answer that a keyed call had before. */
  async replay(recorded: RecordedAnswer): Promise<Response> {
    const call = this.#call;
    const again = await replay(recorded, call?.id ?? '', this.#services.replayBodies);
    if (!again.ok) return this.refuse(again.error);
    const { status } = recorded;
    this.#custody.end({ outcome: 'answered', status, code: 'idempotency.replayed' });
    return again.value;
  }

  /** Their answer, whatever its status. Tracking ends here unless its body is followed. */
  answer(call: EvidencedCall): MaybePromise<Response> {
    this.#evidence = call.evidence;
    const { status, money } = call;
    if (isFollowed(call)) return this.#followed(call);
    const code = call.redacted ? 'response.redacted' : null;
    const answer = finalize(call, null);
    const ending: Ending = { outcome: 'answered', status, code };
    if (money === null || money.isClosed) {
      this.#custody.end(ending);
      return answer;
    }
    const bytes = call.body instanceof Uint8Array ? call.body : new Uint8Array();
    return money.record({ status, headers: recordedHeaders(answer.headers), bytes }).then(() => {
      this.#custody.end(ending);
      return answer;
    });
  }

  /** An answer whose end matters: a tracked upstream's, or a stream that says its price as it passes. */
  #followed(call: EvidencedCall): MaybePromise<Response> {
    const { status, tap } = call;
    this.#tap = tap;
    const followed = new FollowedAnswer(call, {
      onBytes: (total) => {
        this.#responseBytes = total;
      },
      onEnd: (end, hasEnded) => {
        const [ending, blame] = bodyEnding(end, status, hasEnded);
        this.#blame = blame;
        this.#custody.end(ending);
      },
    });
    this.#custody.armLater(call.upstream.idleTimeoutMs, () => followed.watch());
    return followed.response();
  }

  /** A bug of ours: a bare 500 with the call id; the text goes to the log only. */
  fail(bug: unknown): Response {
    const refusal: Refusal = { code: 'internal.error' };
    this.#blame = 'gateway';
    this.#services.report('call.bug', { call_id: this.#call?.id ?? null, ...bugFacts(bug) });
    this.#custody.abandon({ outcome: 'failed', status: 500, code: refusal.code });
    this.#money?.abandon(refusal.code, true);
    return problemResponse(refusal, this.#call === null ? {} : { callId: this.#call.id });
  }

  /** The row is written when the call has ended and its money is closed, whichever comes later. */
  #log(ending: Ending, latencyMsMax: number | null): void {
    const latencyMs = latencyMsMax ?? this.#services.nowMs() - this.#startedAtMs;
    if (this.#money === null) this.#push(ending, latencyMs);
    else this.#money.whenClosed(() => this.#push(ending, latencyMs));
  }

  #push(ending: Ending, latencyMs: number): void {
    const row = this.#row(ending, latencyMs);
    if (row === null) return;
    const own = this.#child === null ? row : servedElsewhere(row, this.#child);
    this.#services.callLog.push(own, this.#background);
  }

  /** The row of a child call, beside its parent's. */
  #pushChild(child: Child): void {
    const { nowMs, callLog } = this.#services;
    const row = this.#row(clientClosed, nowMs() - this.#startedAtMs);
    if (row === null) return;
    callLog.push(servedElsewhere({ ...row, id: childId(row.id) }, child), this.#background);
  }

  #row(ending: Ending, latencyMs: number): FinishedCall | null {
    const call = this.#call;
    if (call === null) return null;
    return rowOfCall({
      call,
      target: this.#target,
      ending,
      startedAtMs: this.#startedAtMs,
      latencyMs,
      blame: this.#blame,
      evidence: this.#evidence,
      responseBytes: this.#responseBytes,
      costMicros: this.#money?.costMicros ?? null,
      holdId: this.#money?.holdId ?? null,
      account: this.#account,
      signal: this.#signal?.kind ?? null,
      found: this.#money?.found ?? this.#found,
    });
  }
}
