/** The short form of the newcomer proof: the working copy on an empty state folder. */
import { proof } from '../proofs/newcomer.ts';
import { proofSuite } from '../support/proof-suite.ts';

await proofSuite(proof);
