/** The lease of the kill proof: seconds, so that what dies is seen to expire. Called by ../kill.ts. */
import { type Limits, shortLease } from '../../support/money-world-bundle.ts';

/** A hold's life without a renewal, milliseconds; a start of workerd takes half of it. */
export const leaseMs = 3_000;

/** Limits of the bundle that is killed; everything else is the product's. */
export const killingBundleLimits: Limits = shortLease(leaseMs);
