/** The fixed table of disconnects (issue 1): the same rows as `npm run prove -- disconnect`. */
import { proof } from '../proofs/disconnect.ts';
import { proofSuite } from '../support/proof-suite.ts';

await proofSuite(proof);
