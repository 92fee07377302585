/** A vendor account that runs dry: the same rows as `npm run prove -- breaker`. */
import { proof } from '../proofs/breaker.ts';
import { proofSuite } from '../support/proof-suite.ts';

await proofSuite(proof);
