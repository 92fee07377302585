/**
 * One rush: as many calls as wanted at once, held at the vendor, and what became of them. Called by
 * test/proofs/overspend.ts.
 */

import {
  type Books,
  type CallOptions,
  costOf,
  type MoneyTenant,
  type MoneyWorld,
  newCase,
  refusalOf,
  type TenantOptions,
} from '../../support/money-world.ts';
import { answers } from '../../support/priced-origin.ts';
import { holds, same } from '../../support/proof.ts';
import { headerOf, type RawAnswer, RawConnection } from '../../support/raw-client.ts';

export const isolateCount = 4;
/** Calls of one rush (issue 3). */
const rushSize = 200;

export interface Case {
  readonly name: string;
  readonly tenant: TenantOptions;
  /** The isolates have never heard of the tenant. */
  readonly isCold?: boolean;
  readonly endpoint: string;
  /** The same for all calls. */
  readonly call: CallOptions;
  /** Units of the vendor's answer. */
  readonly units: number;
  /** How many are let through. */
  readonly hits: number;
  /** Every other one. */
  readonly refusal: {
    readonly status: number;
    readonly code: string;
    readonly members: Readonly<Record<string, unknown>>;
  };
  /** The books while the barrier is closed, and after the end. */
  readonly during: Books;
  readonly after: Books;
}

export interface Found {
  readonly calls: number;
  readonly hits: number;
  /** How often the balance was read while the rush lasted. */
  readonly looks: number;
  readonly lowest: number;
}

/** Runs a case; throws at the first guarantee that does not hold. */
export async function rush(world: MoneyWorld, one: Case): Promise<Found> {
  const { origin } = world;
  const tenant = await world.tenant(one.tenant);
  if (one.isCold !== true) await warm(world, tenant);
  origin.clear();
  origin.plan(answers(one.units));
  origin.hold();
  const watch = watched(tenant);
  const connections = await sendAll(world, tenant, one);
  try {
    const refused = await firstAnswers(connections, rushSize - one.hits);
    await origin.until(() => origin.waiting() === one.hits);
    same(origin.calls.length, one.hits, 'requests at the vendor');
    for (const answer of refused) checkRefusal(answer, one);
    same(await tenant.books(), one.during, 'the books while the vendor works');
    origin.open();
    const answered = await lastAnswers(connections);
    same(answered.length, one.hits, 'answers of the vendor');
    for (const answer of answered) checkAnswer(answer, one);
    same(await tenant.ended(), one.after, 'the books after the end');
    same(origin.calls.length, one.hits, 'requests at the vendor, at the end');
    await checkEntries(tenant, one);
  } finally {
    origin.open();
    for (const connection of connections) connection.close();
  }
  const { looks, lowest } = await watch();
  holds(looks > 0, 'the balance was never read');
  holds(lowest >= 0, `the balance was ${lowest}`);
  return { calls: rushSize, hits: one.hits, looks, lowest };
}

/**
 * Every isolate has read the tenant and the catalog: a call that costs nothing, with a key of its
 * own, because a key's calls may be what is counted.
 */
async function warm({ isolates, origin }: MoneyWorld, tenant: MoneyTenant): Promise<void> {
  origin.plan(answers());
  const token = await tenant.anotherKey('same');
  for (const isolate of isolates.ports.keys()) {
    const { status } = await tenant.call('lab.free', { isolate, token });
    same(status, 200, `a free call through isolate ${isolate}`);
  }
}

/** Reads the balance until it is asked for what it saw. */
function watched(tenant: MoneyTenant): () => Promise<{ looks: number; lowest: number }> {
  const seen = { looks: 0, lowest: Number.POSITIVE_INFINITY };
  let over = false;
  const watching = (async () => {
    while (!over) {
      const { available } = await tenant.books();
      seen.looks += 1;
      seen.lowest = Math.min(seen.lowest, available);
    }
  })();
  watching.catch(() => undefined);
  return async () => {
    over = true;
    await watching;
    return seen;
  };
}

/** Opens all connections first, then writes all requests in one go. */
async function sendAll(
  { isolates }: MoneyWorld,
  tenant: MoneyTenant,
  one: Case,
): Promise<RawConnection[]> {
  const connections = await Promise.all(
    Array.from({ length: rushSize }, (_, i) =>
      RawConnection.open(isolates.ports[i % isolateCount] as number),
    ),
  );
  const requests = connections.map(() =>
    tenant.request(one.endpoint, { caseId: newCase(), ...one.call }),
  );
  connections.forEach((connection, i) => {
    connection.send(requests[i] as Buffer);
  });
  return connections;
}

/** The answers that came first; those that are held at the vendor have none yet. */
async function firstAnswers(
  connections: readonly RawConnection[],
  count: number,
): Promise<readonly RawAnswer[]> {
  const answers: RawAnswer[] = [];
  let failed: Error | null = null;
  await new Promise<void>((resolve) => {
    for (const connection of connections) {
      connection.answer('POST', answerWithinMs).then(
        (answer) => {
          answers.push(answer);
          if (answers.length === count) resolve();
        },
        (fault: Error) => {
          failed ??= fault;
          resolve();
        },
      );
    }
  });
  if (failed !== null) throw failed;
  return answers.slice(0, count);
}

/** How long 200 calls may take on a busy machine, milliseconds. */
const answerWithinMs = 60_000;

/** The answers of the vendor, when all connections have one. */
async function lastAnswers(connections: readonly RawConnection[]): Promise<readonly RawAnswer[]> {
  const all = await Promise.all(connections.map((one) => one.answer('POST', answerWithinMs)));
  return all.filter((answer) => headerOf(answer.lines, 'x-weir-error') === null);
}

function checkRefusal(answer: RawAnswer, { refusal }: Case): void {
  same([answer.status, refusalOf(answer)], [refusal.status, refusal.code], 'a refusal');
  const problem = JSON.parse(answer.body.toString()) as Record<string, unknown>;
  const members = Object.keys(refusal.members).map((name) => [name, problem[name]]);
  same(Object.fromEntries(members), refusal.members, 'what the refusal says');
}

function checkAnswer(answer: RawAnswer, one: Case): void {
  same(answer.status, 200, 'an answer of the vendor');
  same(costOf(answer), one.after.settled / one.hits, 'what it cost');
}

/** The log says the same: so many holds of money, each settled once. */
async function checkEntries(tenant: MoneyTenant, one: Case): Promise<void> {
  const entries = await tenant.entries();
  const ids = (kind: string, amount: 'micros' | 'held_micros'): (string | null)[] =>
    entries.filter((e) => e.kind === kind && (e[amount] ?? 0) > 0).map(({ id }) => id);
  const placed = ids('place', 'micros').sort();
  same(placed.length, one.hits, 'holds');
  same(ids('settle', 'held_micros').sort(), placed, 'settled holds');
  await tenant.audit();
}
