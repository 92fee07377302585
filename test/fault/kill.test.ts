/** The short form of the kill proof: five kills. */
import { proof } from '../proofs/kill.ts';
import { proofSuite } from '../support/proof-suite.ts';

await proofSuite(proof);
