/**
 * Changes made in one of two isolates, and a store that is gone: the same rows as `npm run prove --
 * revoke`.
 */
import { proof } from '../proofs/revoke.ts';
import { proofSuite } from '../support/proof-suite.ts';

await proofSuite(proof);
