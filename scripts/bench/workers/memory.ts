/**
 * The denominator of a refused call: a worker that gives one answer from memory, status, headers and bytes as they were handed to it.
 * `POST /` hands it the answer. Promises: what a person would write in five minutes. Never tuned; never made worse.
 */
interface Kept {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: string;
}

let kept: Kept = { status: 404, headers: {}, body: '' };

export default {
  async fetch(request: Request): Promise<Response> {
    if (request.method === 'POST') {
      kept = await request.json<Kept>();
      return new Response(null, { status: 204 });
    }
    return new Response(kept.body, { status: kept.status, headers: kept.headers });
  },
};
