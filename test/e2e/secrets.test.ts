/** The short form of `npm run prove -- secrets`. */
import { proof } from '../proofs/secrets.ts';
import { proofSuite } from '../support/proof-suite.ts';

await proofSuite(proof);
