/** The short form of `npm run prove -- smuggling`. */
import { proof } from '../proofs/smuggling.ts';
import { proofSuite } from '../support/proof-suite.ts';

await proofSuite(proof);
