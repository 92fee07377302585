/**
 * Writes queued batches of call rows into D1; a batch that D1 does not take is retried by the queue. Called by worker.ts (queue).
 */
import type { CallRow, CallSink } from '../ports/evidence';

/** Writes a whole queue batch at once; acknowledges only after it is stored. */
export async function writeQueuedCalls(
  batch: MessageBatch<unknown>,
  sink: CallSink,
): Promise<void> {
  await sink.write(batch.messages.flatMap((m) => m.body as CallRow[]));
  batch.ackAll();
}
