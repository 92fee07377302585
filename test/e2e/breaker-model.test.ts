/** The short form of the breaker-model proof. */
import { proof } from '../proofs/breaker-model.ts';
import { proofSuite } from '../support/proof-suite.ts';

await proofSuite(proof);
