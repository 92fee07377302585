/**
 * Mutants: the breaker with one guard removed each. A simulation that does not see one of them proves nothing. Each is a text patch that
 * must match exactly once.
 */
import type { Patch } from './ledger-bundle.ts';

export interface Mutant extends Patch {
  /** What the mutant does wrong. */
  readonly name: string;
}

const mutant = (name: string, find: string, replace: string): Mutant => ({
  name,
  file: 'src/domain/capacity/breaker.ts',
  find,
  replace,
});

export const mutants: readonly Mutant[] = [
  mutant(
    'a probe is granted while another one is leased',
    'if (nowMs < nextAtMs) return probe.get(op.lockId)?.callId === op.id;',
    'if (nowMs < nextAtMs - 30_000) return probe.get(op.lockId)?.callId === op.id;',
  ),
  mutant(
    'a restart forgets who probes',
    'Object.values(this.#shelves).flatMap((shelf) => shelf.takeChanges())',
    "Object.values(this.#shelves).flatMap((shelf) => shelf.takeChanges()).filter((change) => change.kind !== 'probe')",
  ),
  mutant(
    'a lease never frees itself',
    'return (last ?? sinceMs) + probeIntervalMs;',
    'return last === undefined ? sinceMs + probeIntervalMs : Number.POSITIVE_INFINITY;',
  ),
  mutant(
    'the call that was granted is refused when it asks again',
    'return probe.get(op.lockId)?.callId === op.id;',
    'return false;',
  ),
  mutant(
    'a later strike shortens a lock',
    'if (untilMs > lock.untilMs) this.#shelves',
    'if (untilMs !== lock.untilMs) this.#shelves',
  ),
  mutant(
    'a lengthened lock outlives its cap',
    'const untilMs = Math.min(ownUntilMs, lock.sinceMs + capacityVendorHoldMsMax);',
    'const untilMs = ownUntilMs;',
  ),
  mutant(
    'a stated reset is not capped',
    'Math.min(Math.max(0, forMs), capacityVendorHoldMsMax)',
    'Math.max(0, forMs)',
  ),
  mutant(
    'a lock never lapses',
    'lock.purge(({ untilMs }) => untilMs <= nowMs)',
    'lock.purge(({ untilMs }) => untilMs < 0)',
  ),
  mutant(
    'a burst counts as two strikes',
    'if (lastAtMs - firstAtMs < strikeSpacingMs) {',
    'if (lastAtMs - firstAtMs < 1) {',
  ),
  mutant(
    'a 2xx between two strikes counts for nothing',
    'if (struck.lastAtMs <= atMs) strike.delete(key);',
    'if (struck.lastAtMs <= atMs) return;',
  ),
  mutant(
    'what an isolate saw itself counts for nothing',
    'if (op.lastOkAgoMs !== null) this.#succeeded',
    'if (op.lastOkAgoMs === -1) this.#succeeded',
  ),
  mutant(
    'a call that is told twice strikes twice',
    'if (seen.get(id) !== undefined) return true;',
    'if (seen.get(id)?.atMs === nowMs) return true;',
  ),
  mutant(
    'a late strike is placed where it arrives',
    'const atMs = nowMs - since(op.agoMs);',
    'const atMs = nowMs;',
  ),
  mutant(
    'an account locks another one',
    'const key = lockKey(op.kind, { ...op, provider: this.#provider });',
    'const key = lockKey(op.kind, { ...op, account: primaryAccount, provider: this.#provider });',
  ),
  mutant(
    'a probe’s 2xx does not end its lock',
    'if (op.probe !== null) this.#reopen(op.probe.lockId, keys, op);',
    'if (op.probe === null) this.#reopen(op.id, keys, op);',
  ),
  mutant(
    'the 2xx of an older probe ends a newer lock',
    'keys.find((one) => lock.get(one)?.id === lockId)',
    'keys.find((one) => lock.get(one) !== undefined)',
  ),
  mutant(
    'a free 2xx is recovery of a balance',
    'return op.spendsBalance ? [quota, lockKey',
    'return quota.length > 0 ? [quota, lockKey',
  ),
  mutant(
    'a late reading replaces a newer one',
    'if (known !== undefined && observedAtMs <= known.observedAtMs) return;',
    'if (known !== undefined && observedAtMs === known.observedAtMs) return;',
  ),
];
