/** The short form of `npm run prove -- sweep`. */
import { proof } from '../proofs/sweep.ts';
import { proofSuite } from '../support/proof-suite.ts';

await proofSuite(proof);
