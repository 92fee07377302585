/** The short form of the idempotency proof: the same rows, fewer rounds of the crowds. */
import { proof } from '../proofs/idempotency.ts';
import { proofSuite } from '../support/proof-suite.ts';

await proofSuite(proof);
