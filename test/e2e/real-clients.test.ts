/** The short form of the real-clients proof. */
import { proof } from '../proofs/real-clients.ts';
import { proofSuite } from '../support/proof-suite.ts';

await proofSuite(proof);
