/** SSE load: concurrent streams through one target; per-event delay, completeness, chunks. Called by bench.ts. */
import http from 'node:http';

/** What a round of streams showed. Delays in milliseconds; `merged` counts chunks that held more than one event. */
export interface Streamed {
  readonly p50: number;
  readonly complete: number;
  readonly merged: number;
}

interface OneStream {
  readonly delays: number[];
  readonly isComplete: boolean;
  readonly merged: number;
}

/** Opens `streams` at once, each of 200 events with a gap of 5 ms. */
export async function streamRound(
  base: string,
  headers: Record<string, string>,
  streams: number,
): Promise<Streamed> {
  const all = await Promise.all(
    Array.from({ length: streams }, () => oneStream(`${base}/v1/sse?n=200&gap=5`, headers)),
  );
  const delays = all.flatMap((s) => s.delays).sort((a, b) => a - b);
  return {
    p50: delays[Math.floor(delays.length / 2)] ?? Number.NaN,
    complete: all.filter((s) => s.isComplete).length,
    merged: all.reduce((sum, s) => sum + s.merged, 0),
  };
}

function oneStream(url: string, headers: Record<string, string>): Promise<OneStream> {
  return new Promise((resolve) => {
    const delays: number[] = [];
    let text = '';
    let merged = 0;
    const request = http.get(url, { headers, agent: false }, (answer) => {
      answer.setEncoding('utf8');
      answer.on('data', (chunk: string) => {
        const now = process.hrtime.bigint();
        const stamps = [...chunk.matchAll(/"t":"(\d+)"/g)];
        if (stamps.length > 1) merged += 1;
        for (const [, stamp = '0'] of stamps) delays.push(Number(now - BigInt(stamp)) / 1e6);
        text = (text + chunk).slice(-64);
      });
      answer.on('end', () =>
        resolve({
          delays,
          isComplete: delays.length === 200 && text.endsWith('[DONE]\n\n'),
          merged,
        }),
      );
      answer.on('error', () => resolve({ delays, isComplete: false, merged }));
    });
    request.on('error', () => resolve({ delays, isComplete: false, merged }));
  });
}
