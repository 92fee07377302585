/** The short form of `npm run prove -- ssrf`. */
import { proof } from '../proofs/ssrf.ts';
import { proofSuite } from '../support/proof-suite.ts';

await proofSuite(proof);
