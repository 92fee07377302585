/**
 * What the rows of the metered-sse proof stand on: two worlds, the priced operations, and what is
 * asked of the books. Called by ../metered-sse.ts and contents.ts.
 */
import type { MoneyTenant, MoneyWorld } from '../../support/money-world.ts';
import { same } from '../../support/proof.ts';

/** Charged when a stream does not tell its usage, micro-USD. */
export const fallbackMicros = 10;

/** Operations with the usage of two well-known dialects; both hold 300. */
export const catalog = `
  - name: chat
    capability: lab.chat
    summary: chat
    method: POST
    path: /chat
    platform_auth: account
    settlement: { fallback_micros: ${fallbackMicros}, failed: [error] }
    cost:
      kind: usage
      meters:
        - { name: input, paths: [usage.prompt_tokens], required: true, reserve: [{ kind: fixed, units: 100 }] }
        - { name: output, paths: [usage.completion_tokens], required: true, reserve: [{ kind: fixed, units: 100 }] }
      prices: [{ per_million_micros: { input: 1000000, output: 2000000 } }]
      ends: [{ kind: data, text: '[DONE]' }]
  - name: messages
    capability: lab.messages
    summary: messages
    method: POST
    path: /messages
    platform_auth: account
    settlement: { fallback_micros: ${fallbackMicros} }
    cost:
      kind: usage
      meters:
        - { name: input, paths: [message.usage.input_tokens], required: true, reserve: [{ kind: fixed, units: 100 }] }
        - { name: output, paths: [usage.output_tokens, message.usage.output_tokens], required: true, reserve: [{ kind: fixed, units: 100 }] }
      prices: [{ per_million_micros: { input: 1000000, output: 2000000 } }]
      ends: [{ kind: event, name: message_stop }]
`;

/** Every hold of the tenant was settled once, with this charge. */
export async function settledAlike(
  tenant: MoneyTenant,
  calls: number,
  micros: number,
): Promise<void> {
  const { settled } = await tenant.ended();
  const ends = (await tenant.entries()).filter(({ kind }) =>
    ['settle', 'release', 'expire', 'late_settle'].includes(kind),
  );
  same(
    ends
      .filter((end) => end.kind !== 'settle' || end.micros !== micros)
      .map((e) => [e.kind, e.micros]),
    [],
    'other ends',
  );
  same([ends.length, settled], [calls, calls * micros], 'settlements and their sum');
  same(new Set(ends.map(({ id }) => id)).size, calls, 'holds');
}

/** One world as it is deployed, and one with a short lease. */
export interface Worlds {
  readonly world: MoneyWorld;
  readonly leased: MoneyWorld;
}
/** A row. */
export type Named = readonly [name: string, run: (worlds: Worlds) => Promise<unknown>];
