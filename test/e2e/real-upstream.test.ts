/** The short form of the real-upstream proof: one small package. */
import { proof } from '../proofs/real-upstream.ts';
import { proofSuite } from '../support/proof-suite.ts';

await proofSuite(proof);
