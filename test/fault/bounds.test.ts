/**
 * Every limit of the wire and of management, attacked once: the same rows as `npm run prove --
 * bounds`.
 */
import { proof } from '../proofs/bounds.ts';
import { proofSuite } from '../support/proof-suite.ts';

await proofSuite(proof);
