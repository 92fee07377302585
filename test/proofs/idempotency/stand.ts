/** What the tables of the idempotency proof ask of a call. Called by the tables beside this file. */
import {
  type CallOptions,
  costOf,
  isReplay,
  type MoneyTenant,
  type MoneyWorld,
  newCase,
  refusalOf,
} from '../../support/money-world.ts';
import { callMicros } from '../../support/money-world-catalog.ts';
import { same } from '../../support/proof.ts';
import type { RawAnswer } from '../../support/raw-client.ts';

/** A row; what it returns is shown. */
export type Named = readonly [
  name: string,
  run: (world: MoneyWorld, short: boolean) => Promise<string | void>,
];

/** What a replay may have of its own: the call's id and the word that it is one. */
const ownHeaders = ['x-weir-call-id', 'x-weir-idempotent-replay'];

/** Header pairs without those, in one order. Lines of one name are joined (RFC 9110 5.3); Set-Cookie never is. */
export function comparable({ lines }: RawAnswer): string[] {
  const values = new Map<string, string[]>();
  for (const line of lines) {
    const at = line.indexOf(':');
    const name = line.slice(0, at).toLowerCase();
    if (ownHeaders.includes(name)) continue;
    values.set(name, [...(values.get(name) ?? []), line.slice(at + 1).trim()]);
  }
  return [...values]
    .flatMap(([name, list]) =>
      name === 'set-cookie'
        ? list.map((one) => `${name}: ${one}`)
        : [`${name}: ${list.join(', ')}`],
    )
    .sort();
}

/** Throws unless `again` is the recorded `first`: status, headers, bytes, cost. */
export function sameAnswer(first: RawAnswer, again: RawAnswer): void {
  same([isReplay(first), isReplay(again)], [false, true], 'which of them is a replay');
  same(again.statusLine, first.statusLine, 'the status line');
  same(comparable(again), comparable(first), 'the headers');
  same(again.body.equals(first.body), true, 'the bytes are the same');
  same(costOf(again), costOf(first), 'the cost');
}

/** A fresh answer of the vendor at the usual price. */
export function fresh(answer: RawAnswer, micros: number | null = callMicros): RawAnswer {
  same([answer.status, refusalOf(answer), isReplay(answer)], [200, null, false], 'a first answer');
  same(costOf(answer), micros, 'what it cost');
  return answer;
}

/** A refusal with this status, code and members. */
export function refused(
  answer: RawAnswer,
  status: number,
  code: string,
  members: Readonly<Record<string, unknown>> = {},
): Readonly<Record<string, unknown>> {
  same([answer.status, refusalOf(answer)], [status, code], 'the refusal');
  const problem = JSON.parse(answer.body.toString()) as Record<string, unknown>;
  const said = Object.fromEntries(Object.keys(members).map((name) => [name, problem[name]]));
  same(said, members, 'what it says');
  return problem;
}

/** Throws unless so many requests of the case are at the vendor and so much is spent. */
export async function spent(
  { origin }: MoneyWorld,
  tenant: MoneyTenant,
  { caseId, hits, micros }: { caseId: string; hits: number; micros: number },
): Promise<void> {
  same(origin.arrivals(caseId), hits, 'requests at the vendor');
  const { held, settled } = await tenant.ended();
  same([held, settled], [0, micros], 'held, settled');
}

/** A key and a case with the same fresh name, and the call that carries both. */
export function keyed(options: CallOptions = {}): {
  readonly caseId: string;
  readonly key: string;
} & CallOptions {
  const caseId = newCase();
  return { caseId, key: caseId, ...options };
}
