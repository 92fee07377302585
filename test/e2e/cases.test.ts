/** The shared cases of the metered road: the same rows as `npm run prove -- cases`. */
import { proof } from '../proofs/cases.ts';
import { proofSuite } from '../support/proof-suite.ts';

await proofSuite(proof);
