/** A task for the tests: its rule, its price, and how its ledger knows it. */
import { type OpenTask, type TaskView, termsOf } from '../../../../src/domain/tasks/task';

export const rule = {
  idAt: 'id',
  poll: 'lab.look-at',
  stateAt: 'status',
  succeeded: ['succeeded'],
  failed: ['failed'],
  deadlineMs: 86_400_000,
} as const;
export const cost = { kind: 'per_success', prices: [{ when: [], priceMicros: 70 }] } as const;
export const price = { kind: 'per_success', priceMicros: 70 } as const;
export const settlement = {
  basis: 'terminal',
  reported: null,
  fallbackMicros: null,
  reserveMicros: null,
} as const;

export const pending = (parts: Partial<TaskView> = {}): TaskView => ({
  holdId: 'hld_task',
  provider: 'lab',
  taskId: 'job-1',
  endpointId: 'lab.submit',
  account: 'primary',
  state: 'pending',
  heldMicros: 100,
  terms: JSON.stringify(termsOf(rule, { cost, settlement }, price)),
  openedAtMs: 0,
  deadlineAtMs: 2_000_000,
  closedAtMs: null,
  ...parts,
});

/** A submission that its ledger is told of. */
export const submitted = (holdId: string, parts: Partial<OpenTask> = {}): OpenTask => ({
  holdId,
  provider: 'lab',
  taskId: `job of ${holdId}`,
  endpointId: 'lab.submit',
  account: 'primary',
  deadlineMs: 3_600_000,
  terms: '{}',
  ...parts,
});
