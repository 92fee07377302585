/** Every shared case: the same rows as `npm run prove -- cases`. */
import { vi } from 'vitest';
import { proof } from '../proofs/cases.ts';
import { proofSuite } from '../support/proof-suite.ts';

// A case may be several rows of the breaker proof, each some intervals of a second.
vi.setConfig({ testTimeout: 240_000 });
await proofSuite(proof);
