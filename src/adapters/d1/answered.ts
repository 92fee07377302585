/**
 * Answered: a D1 read that hangs or fails is "no answer", never a throw and never a wait without end.
 * Promises: `null` within {@link configReadTimeoutMs}; D1's own text (it names columns, never parameters) goes to the log, cut.
 * Must never: retry. Called by the readers of this folder.
 */
import { configReadTimeoutMs } from '../../base/limits';
import type { Report } from '../../ports/report';
import { orLate, platformTime } from '../time';

/** The answer, or `null` when the store gave none in time. */
export function answered<T>(work: Promise<T>, report: Report, event: string): Promise<T | null> {
  const failed = (fault: unknown): null => {
    const cause = fault instanceof Error ? (fault.cause ?? fault) : fault;
    report(event, { reason: cause instanceof Error ? cause.message.slice(0, 200) : 'unknown' });
    return null;
  };
  return orLate(work.catch(failed), { time: platformTime, ms: configReadTimeoutMs, late: null });
}
