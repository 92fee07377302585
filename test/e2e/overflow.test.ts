/** The short form of `npm run prove -- overflow`. */
import { proof } from '../proofs/overflow.ts';
import { proofSuite } from '../support/proof-suite.ts';

await proofSuite(proof);
