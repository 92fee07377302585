/**
 * Leased: work that one firing does, once and alone.
 * Promises: work runs only where the firing's lease was taken, and the lease ends with the work, however the work ends. Called by the jobs.
 */
import type { CapacityStore, Firing } from '../adapters/d1/capacity-store';

/** The leases of jobs. */
export type Leases = Pick<CapacityStore, 'takeLease' | 'endLease'>;

/** Does `work` as this firing; skipped where the firing was done before, or where another one is at work. */
export async function leased<T>(
  leases: Leases,
  firing: Firing,
  { nowMs, leaseMs }: { readonly nowMs: number; readonly leaseMs: number },
  work: () => Promise<T>,
): Promise<T | { readonly outcome: 'skipped' }> {
  if (!(await leases.takeLease(firing, nowMs, leaseMs))) return { outcome: 'skipped' };
  try {
    return await work();
  } finally {
    await leases.endLease(firing);
  }
}
