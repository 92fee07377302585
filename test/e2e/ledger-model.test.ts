/** The short form of the ledger-model proof. */
import { proof } from '../proofs/ledger-model.ts';
import { proofSuite } from '../support/proof-suite.ts';

await proofSuite(proof);
