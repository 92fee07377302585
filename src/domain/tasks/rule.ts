/**
 * Task rule: how a catalog row says that its work goes on after the answer. In a file of its own because the catalog names it and the
 * judgement of tasks (`task.ts`) needs the prices that the catalog has. Plain JSON, validated when it was imported.
 */

/** How the answers of a submission and of its polls are read; part of a catalog row. Paths are those of `base/json-path.ts`. */
export interface TaskRule {
  /** Where the submission's answer names the task. */
  readonly idAt: string;
  /** Catalog id of the row that polls it. */
  readonly poll: string;
  /** Where both say how it goes. */
  readonly stateAt: string;
  readonly succeeded: readonly string[];
  readonly failed: readonly string[];
  /** From the submission on, milliseconds: later it is given up. */
  readonly deadlineMs: number;
}
