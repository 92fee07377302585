/** The client leaves a metered call: the same rows as `npm run prove -- disconnect-money`. */
import { proof } from '../proofs/disconnect-money.ts';
import { proofSuite } from '../support/proof-suite.ts';

await proofSuite(proof);
