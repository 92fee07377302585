/**
 * Answered: a D1 read that hangs or fails is "no answer", never a throw and never a wait without end.
 * Promises: `null` within {@link configReadTimeoutMs}; D1's own text (it names columns, never parameters) goes to the log, cut.
 * Must never: retry. Called by the readers of this folder.
 */
import { configReadTimeoutMs } from '../../base/limits';

/** Writes one structured log line. */
export type Report = (event: string, facts: Readonly<Record<string, string>>) => void;

/** The answer, or `null` when the store gave none in time. */
export async function answered<T>(
  work: Promise<T>,
  report: Report,
  event: string,
): Promise<T | null> {
  const late = Promise.withResolvers<null>();
  const timer = setTimeout(() => late.resolve(null), configReadTimeoutMs);
  const failed = (fault: unknown): null => {
    const cause = fault instanceof Error ? (fault.cause ?? fault) : fault;
    report(event, { reason: cause instanceof Error ? cause.message.slice(0, 200) : 'unknown' });
    return null;
  };
  try {
    return await Promise.race([work.catch(failed), late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
