/**
 * The denominator of every bar: a pass-through that injects one credential and does nothing else.
 * Promises: what a person would write in five minutes: global fetch, a header copy, one `set`. Never tuned; never made worse.
 */
interface BareBindings {
  readonly ORIGIN: string;
  readonly SSE_ORIGIN: string;
  readonly CREDENTIAL: string;
}

export default {
  fetch(request: Request, bindings: BareBindings): Promise<Response> {
    const url = new URL(request.url);
    const authority = url.pathname === '/v1/sse' ? bindings.SSE_ORIGIN : bindings.ORIGIN;
    const headers = new Headers(request.headers);
    headers.set('authorization', bindings.CREDENTIAL);
    const target = `http://${authority}${url.pathname}${url.search}`;
    return fetch(target, {
      method: request.method,
      headers,
      body: request.body,
      redirect: 'manual',
    });
  },
};
