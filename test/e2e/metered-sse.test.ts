/** Metered streams: the rows of `npm run prove -- metered-sse`, cut at some bytes instead of all. */
import { proof } from '../proofs/metered-sse.ts';
import { proofSuite } from '../support/proof-suite.ts';

await proofSuite(proof);
