/** The short form of the classify proof. */
import { proof } from '../proofs/classify.ts';
import { proofSuite } from '../support/proof-suite.ts';

await proofSuite(proof);
