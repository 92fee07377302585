/** The short form of the `wire` proof: every row of docs/relay-contract.md but the 100 MB upload. */
import { proof } from '../proofs/wire.ts';
import { proofSuite } from '../support/proof-suite.ts';

await proofSuite(proof);
