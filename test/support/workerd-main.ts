/**
 * The Worker of the projects inside workerd: the product's entry, and the objects that are proven but not yet bound by it.
 */
export { OrgLedger } from '../../durable-objects/org-ledger';
export { default } from '../../src/worker';
