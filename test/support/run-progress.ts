/**
 * A vitest reporter that keeps, on disk, what has been counted and which files have not ended.
 * Promises: true at every moment, so that a run that is killed still has totals and names. Must
 * never: print.
 * Called by vitest for scripts/test.ts, which reads it when a run was cut off.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import type { Reporter, TestCase, TestModule, TestSpecification } from 'vitest/node';

const progressFile = '.weir/test-progress.json';

/** What is known of a run; files are `project: path`. */
export interface RunProgress {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  /** Begun and not ended. */
  readonly open: readonly string[];
  /** Not begun. */
  readonly waiting: readonly string[];
}

const nothing: RunProgress = { passed: 0, failed: 0, skipped: 0, open: [], waiting: [] };

/** Forgets the run before. */
export const clearProgress = (): void => writeFileSync(progressFile, JSON.stringify(nothing));

/** What the run has told so far; nothing when it was killed while it wrote. */
export function readProgress(): RunProgress {
  try {
    return JSON.parse(readFileSync(progressFile, 'utf8')) as RunProgress;
  } catch {
    return nothing;
  }
}

interface File {
  readonly project: { readonly name: string };
  readonly moduleId: string;
}
const nameOf = ({ project, moduleId }: File): string =>
  `${project.name}: ${relative(process.cwd(), moduleId)}`;

export default class ProgressReporter implements Reporter {
  readonly #counts = { passed: 0, failed: 0, skipped: 0 };
  readonly #open = new Set<string>();
  readonly #waiting = new Set<string>();

  onTestRunStart(files: readonly TestSpecification[]): void {
    for (const file of files) this.#waiting.add(nameOf(file));
    this.#write();
  }

  onTestModuleQueued(file: TestModule): void {
    this.#waiting.delete(nameOf(file));
    this.#open.add(nameOf(file));
    this.#write();
  }

  onTestCaseResult(test: TestCase): void {
    const { state } = test.result();
    if (state !== 'pending') this.#counts[state] += 1;
    this.#write();
  }

  onTestModuleEnd(file: TestModule): void {
    this.#open.delete(nameOf(file));
    this.#write();
  }

  #write(): void {
    const progress = { ...this.#counts, open: [...this.#open], waiting: [...this.#waiting] };
    writeFileSync(progressFile, JSON.stringify(progress));
  }
}
