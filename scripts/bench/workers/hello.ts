/** The floor of the runtime: a 1 KB answer from memory, no upstream at all. */
const body = JSON.stringify({ pad: 'p'.repeat(1014) });

export default {
  fetch: (): Response => new Response(body, { headers: { 'content-type': 'application/json' } }),
};
