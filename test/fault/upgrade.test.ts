/** From the newest landed bundle to the present one: the same rows as `npm run prove -- upgrade`. */
import { proof } from '../proofs/upgrade.ts';
import { proofSuite } from '../support/proof-suite.ts';

await proofSuite(proof);
