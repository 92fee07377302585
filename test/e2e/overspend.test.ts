/** The short form of the overspend proof: one rush of each case. */
import { proof } from '../proofs/overspend.ts';
import { proofSuite } from '../support/proof-suite.ts';

await proofSuite(proof);
