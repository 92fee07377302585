/**
 * Task: a vendor's asynchronous job. Its submission is answered at once with an id, polls tell how it goes, and the submission's hold
 * stays open until one of them says how it ended (digest A15).
 * Promises: only a 2xx is evidence; a state that nobody knows is still running; a success costs what its evidence says, and what was held
 * when that says nothing; a failure costs what the vendor reports for it, else nothing. Must never: look at a clock. Pure.
 * Called by stages 06 and 09, `jobs/task-polls.ts` and the ledger object.
 */
import { pathOf, readJsonExactly, readPath } from '../../base/json-path';
import {
  catalogIdCharsMax,
  ledgerIdCharsMax,
  taskDeadlineMsMax,
  taskIdCharsMax,
  taskTermsCharsMax,
} from '../../base/limits-money';
import type { EndOp } from '../ledger/operations';
import { type Charge, charge, isRelease, reportedCharge } from '../pricing/charge';
import type { FrozenPrice } from '../pricing/estimate';
import { usageOf, usagePlan } from '../pricing/meters';
import type { Cost, Settlement } from '../pricing/price';
import type { TaskRule } from './rule';

/** How a task will be priced, frozen when it was submitted: a catalog that changes meanwhile changes nothing of it. */
export interface TaskTerms {
  readonly rule: TaskRule;
  readonly cost: Cost;
  readonly settlement: Settlement;
  readonly price: FrozenPrice;
}

/** `timed_out`: its hold was released at the deadline and listed for review. */
export type TaskState = 'pending' | 'settled' | 'released' | 'timed_out';

/** What the ledger is told of a new task; its hold is open. `terms` is JSON that the ledger keeps and does not read. */
export interface OpenTask {
  readonly holdId: string;
  readonly provider: string;
  /** The vendor's id. */
  readonly taskId: string;
  /** The row that was called. */
  readonly endpointId: string;
  /** Label of the account that works on it. */
  readonly account: string;
  readonly deadlineMs: number;
  readonly terms: string;
}

/** `known`: another hold stands for that id; `not_open`: the hold has ended. Nothing was changed then. */
export type OpenTaskAnswer =
  | { readonly outcome: 'opened' | 'known' | 'not_open' }
  | { readonly outcome: 'invalid'; readonly field: string };

/** A task as its ledger knows it. Times are epoch milliseconds, amounts micro-USD. */
export interface TaskView {
  readonly holdId: string;
  readonly provider: string;
  readonly taskId: string;
  readonly endpointId: string;
  readonly account: string;
  readonly state: TaskState;
  readonly heldMicros: number;
  readonly terms: string;
  readonly openedAtMs: number;
  readonly deadlineAtMs: number;
  readonly closedAtMs: number | null;
}

/** A task as those who have it polled know it. */
export type WaitingTask = Pick<TaskView, 'holdId' | 'provider' | 'taskId'>;

/** The field of an {@link OpenTask} that breaks the contract; `null` when none does. */
export function openTaskFault(task: OpenTask): string | null {
  const isText = (text: string, charsMax: number): boolean =>
    text.length > 0 && text.length <= charsMax;
  if (!isText(task.holdId, ledgerIdCharsMax)) return 'holdId';
  if (!isText(task.taskId, taskIdCharsMax)) return 'taskId';
  for (const field of ['provider', 'endpointId', 'account'] as const)
    if (!isText(task[field], catalogIdCharsMax)) return field;
  if (!isText(task.terms, taskTermsCharsMax)) return 'terms';
  const { deadlineMs } = task;
  const isDeadline = Number.isSafeInteger(deadlineMs) && deadlineMs > 0;
  return isDeadline && deadlineMs <= taskDeadlineMsMax ? null : 'deadlineMs';
}

/** The terms of a row's new task. Prices that were not chosen are left out. */
export const termsOf = (
  rule: TaskRule,
  { cost, settlement }: { readonly cost: Cost; readonly settlement: Settlement },
  price: FrozenPrice,
): TaskTerms => ({
  rule,
  cost: cost.kind === 'free' ? cost : { ...cost, prices: [] },
  settlement,
  price,
});

/** An answer of the vendor about a task. `bytes`: its body, decoded; `null`: it has none that could be read. */
export interface TaskAnswer {
  readonly status: number;
  readonly header: (name: string) => string | null;
  readonly bytes: Uint8Array | null;
}

/** How a task stands. A charge that is `not_billable` gives the hold back. */
export type TaskVerdict =
  | { readonly kind: 'running' }
  | { readonly kind: 'ended'; readonly charge: Charge };

/** What a submission's answer started; `ended`: it is over already, or it was not accepted. */
export type Submission =
  | { readonly kind: 'started'; readonly taskId: string }
  | { readonly kind: 'ended'; readonly charge: Charge };

const notBillable: Charge = { micros: 0, source: 'not_billable' };

/** What came of a submission. */
export function submissionOf(terms: TaskTerms, answer: TaskAnswer, heldMicros: number): Submission {
  const document = documentOf(answer);
  const { idAt, stateAt, succeeded } = terms.rule;
  const state = document === undefined ? null : textAt(document, stateAt);
  if (isSuccess(answer) && state !== null && succeeded.includes(state))
    return { kind: 'ended', charge: successCharge(terms, answer, document, heldMicros) };
  const taskId = document === undefined ? null : textAt(document, idAt);
  const isAccepted = isSuccess(answer) && taskId !== null && taskId.length <= taskIdCharsMax;
  const isFailed = state !== null && terms.rule.failed.includes(state);
  if (isAccepted && !isFailed) return { kind: 'started', taskId };
  return { kind: 'ended', charge: failureCharge(terms, answer, document) };
}

/** What a poll says of its task. */
export function verdictOf(terms: TaskTerms, answer: TaskAnswer, heldMicros: number): TaskVerdict {
  const document = isSuccess(answer) ? documentOf(answer) : undefined;
  const state = document === undefined ? null : textAt(document, terms.rule.stateAt);
  if (state === null) return { kind: 'running' };
  if (terms.rule.succeeded.includes(state))
    return { kind: 'ended', charge: successCharge(terms, answer, document, heldMicros) };
  if (!terms.rule.failed.includes(state)) return { kind: 'running' };
  return { kind: 'ended', charge: failureCharge(terms, answer, document) };
}

/** How the hold of a pending task ends by an answer about it; `null`: the task is still running. */
export function endOfTask(
  { holdId, heldMicros, terms }: Pick<TaskView, 'holdId' | 'heldMicros' | 'terms'>,
  answer: TaskAnswer,
): TaskEnd | null {
  const verdict = verdictOf(readTerms(terms), answer, heldMicros);
  return verdict.kind === 'running' ? null : endOf(holdId, verdict.charge);
}

/** The settlement or the release of a task's hold. */
export type TaskEnd = Extract<EndOp, readonly ['settle' | 'release', ...unknown[]]>;

/** Catalog id of the row that polls a task. */
export const pollOf = ({ terms }: Pick<TaskView, 'terms'>): string => readTerms(terms).rule.poll;

/** Reads what the ledger kept of terms; we wrote it ourselves. */
const readTerms = (text: string): TaskTerms => JSON.parse(text) as TaskTerms;

const endOf = (holdId: string, { micros, source }: Charge): TaskEnd =>
  isRelease(source) ? ['release', holdId, 'task_failed'] : ['settle', holdId, micros, true];

const isSuccess = ({ status }: TaskAnswer): boolean => status >= 200 && status < 300;

/** A rounded id would be polled, paid and shown as another task, perhaps of another caller. */
function documentOf({ bytes }: TaskAnswer): unknown {
  const read = bytes === null ? null : readJsonExactly(bytes);
  return read?.ok === true ? read.value : undefined;
}

/** A text or a number at a path; an empty text is none. */
function textAt(document: unknown, path: string): string | null {
  const found = readPath(document, pathOf(path));
  const [value] = found.kind === 'values' ? found.values : [];
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' && value !== '' ? value : null;
}

function successCharge(
  { cost, settlement, price }: TaskTerms,
  { status, header }: TaskAnswer,
  document: unknown,
  heldMicros: number,
): Charge {
  const usage = usageOf(document, usagePlan(cost, settlement));
  return charge({ status, header, usage, price, settlement, heldMicros });
}

function failureCharge(
  { cost, settlement }: TaskTerms,
  { header }: TaskAnswer,
  document: unknown,
): Charge {
  const usage = document === undefined ? null : usageOf(document, usagePlan(cost, settlement));
  const micros = reportedCharge({ header, usage, settlement });
  return micros === null || micros === 0 ? notBillable : { micros, source: 'reported' };
}
