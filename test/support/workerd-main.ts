/**
 * The Worker of the projects inside workerd: the product's entry, and the objects that are proven but not yet bound by it.
 */
export { MetricsHub } from '../../durable-objects/metrics-hub';
export { OrgLedger } from '../../durable-objects/org-ledger';
export { OverflowBudget } from '../../durable-objects/overflow-budget';
export { ProviderCapacity } from '../../durable-objects/provider-capacity';
export { default } from '../../src/worker';
