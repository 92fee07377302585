/**
 * Egress: may a judged host be connected to now? The last look before a send, and before a cached answer (stage 07).
 * Promises: never throws and never rejects; a name is let through only while every address of its latest answer is public; no answer
 * is a refusal. Implemented by `adapters/egress/doh-resolver.ts`.
 */
import type { MaybePromise, Result } from '../base/result';
import type { JudgedEndpoint } from '../domain/egress/target-url';
import type { Refusal } from '../domain/refusal';
import type { Background } from './config';

export interface EgressGuard {
  /**
   * `host` is the normal form of a judged endpoint (lower-case, no root dot, IPv6 without brackets) and `judged` its kind. `nowMs` is
   * Unix time; `background` is this request's waitUntil. The answer is there at once for a name that was resolved recently.
   * Refuses with `egress.blocked` (an address is not public, or the pair is not allowed any more) or `egress.unresolved`.
   */
  check(
    host: string,
    port: number,
    judged: JudgedEndpoint['kind'],
    nowMs: number,
    background: Background,
  ): MaybePromise<Result<void, Refusal>>;
}
