/** Smoothing in front of a vendor that counts: the same rows as `npm run prove -- spacer`. */
import { proof } from '../proofs/spacer.ts';
import { proofSuite } from '../support/proof-suite.ts';

await proofSuite(proof);
