/** The short form of the tasks proof, which is its whole form. */
import { proof } from '../proofs/tasks.ts';
import { proofSuite } from '../support/proof-suite.ts';

await proofSuite(proof);
