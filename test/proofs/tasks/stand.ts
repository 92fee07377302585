/**
 * The stand of the tasks proof: a vendor `lab` that takes jobs and tells how they go, two isolates on one ledger namespace, leases and
 * poll times of milliseconds. Called by ../tasks.ts and rows.ts.
 */
import type { D1Like } from '../../../scripts/lib/migrations.ts';
import { schedules } from '../../../src/jobs/schedules.ts';
import {
  type CallOptions,
  type MoneyTenant,
  type MoneyWorld,
  newCase,
  startMoneyWorld,
} from '../../support/money-world.ts';
import type { VendorCall } from '../../support/priced-origin.ts';
import { headerOf, type RawAnswer } from '../../support/raw-client.ts';
import { reply } from '../../support/recording-origin.ts';
import { until } from '../../support/until.ts';

/** Milliseconds; in production 120 s, 40 s, and polls from 30 s on. */
export const limits = {
  ledgerLeaseMs: 1_500,
  holdRenewMs: 500,
  ledgerAlarmJitterMs: 20,
  taskPollFirstMs: 50,
  taskPollStepMs: 10,
  taskPollPauseMsMax: 100,
  taskPollWaitMs: 1_500,
  taskPollLeaseMs: 3_000,
} as const;

/** Base path of the vendor. */
const base = '/v1';

/** Held for a task. */
export const heldMicros = 60;

const task = `task: { id: id, poll: look-at, state: status, succeeded: [succeeded], failed: [failed, canceled] }`;
const reported = `reported: { in: body, at: charge, per_million_micros: 1000000 }`;

const submit = (name: string, settlement: string): string => `
  - name: ${name}
    capability: lab.task
    summary: takes a job
    method: POST
    path: /submit
    platform_auth: account
    settlement: { basis: terminal${settlement} }
    ${task}
    cost: { kind: per_success, prices: [{ price_micros: ${heldMicros} }] }`;

const rows = `${submit('submit', `, ${reported}`)}${submit('submit-flat', '')}${submit('submit-short', '')}
  - name: look-at
    capability: lab.state
    summary: tells how a job goes
    method: GET
    path: '/tasks/{id}'
    platform_auth: account
    task_id: id
    parameters: [{ in: path, name: id, type: string, required: true, description: the job }]
    cost: { kind: free }
  - name: stop
    capability: lab.stop
    summary: stops a job
    method: POST
    path: '/tasks/{id}/stop'
    platform_auth: account
    task_id: id
    parameters: [{ in: path, name: id, type: string, required: true, description: the job }]
    cost: { kind: free }`;

/** What the vendor says of a job. */
export type JobState = Readonly<Record<string, unknown>> | 'silent' | 'broken';

export interface SubmitOptions extends CallOptions {
  /** Catalog id. */
  readonly id?: string;
  /** What the submission is answered with, beside the job's id. */
  readonly says?: Readonly<Record<string, unknown>> | string;
}

/** Catalog files say at least a minute. */
const shortDeadlineMs = 2_000;

async function shorten(db: D1Like): Promise<void> {
  await db
    .prepare(
      "update catalog_endpoints set document = json_set(document, '$.task.deadlineMs', ?) where id = 'lab.submit-short'",
    )
    .bind(shortDeadlineMs)
    .all();
}

let jobs = 0;

export class Stand {
  readonly world: MoneyWorld;
  /** By job id. */
  readonly #states = new Map<string, JobState>();
  readonly #submissions = new Map<string, string>();

  private constructor(world: MoneyWorld) {
    this.world = world;
  }

  static async start(): Promise<Stand> {
    const world = await startMoneyWorld({ isolates: 2, limits, catalog: rows });
    await shorten(await world.gateway.db());
    const stand = new Stand(world);
    world.origin.plan((call) => stand.#answer(call));
    return stand;
  }

  #answer(call: VendorCall): void {
    const target = call.request.target.replace(base, '');
    if (target === '/submit') {
      const body = this.#submissions.get(call.caseId) ?? '{}';
      call.complete(reply('200 OK', ['Content-Type: application/json'], body));
      return;
    }
    const [, , id = ''] = target.split('/');
    const state = this.#states.get(decodeURIComponent(id));
    if (state === 'silent') return;
    const [status, said] = state === 'broken' ? ['500 Oops', { error: 'down' }] : ['200 OK', state];
    call.complete(reply(status, ['Content-Type: application/json'], JSON.stringify(said ?? {})));
  }

  /** A name for a job that no other has. */
  newJob(): string {
    jobs += 1;
    return `job-${jobs}`;
  }

  /** What the vendor says of a job from now on. */
  job(id: string, state: JobState): void {
    this.#states.set(id, state);
  }

  /** Submits a job; the vendor says that it runs, until told otherwise. */
  async submit(
    tenant: MoneyTenant,
    job: string,
    { id = 'lab.submit', says = {}, ...options }: SubmitOptions = {},
  ): Promise<RawAnswer> {
    const caseId = options.caseId ?? newCase();
    if (!this.#states.has(job)) this.job(job, { id: job, status: 'running' });
    this.prepared(caseId, job, says);
    return tenant.call(id, { ...options, caseId });
  }

  /** What the submission of a case is answered with. */
  prepared(caseId: string, job: string, says: SubmitOptions['says'] = {}): void {
    const body = typeof says === 'string' ? says : JSON.stringify({ id: job, ...says });
    this.#submissions.set(caseId, body);
  }

  poll(tenant: MoneyTenant, job: string, options: CallOptions = {}): Promise<RawAnswer> {
    const query = `?id=${encodeURIComponent(job)}`;
    return tenant.call('lab.look-at', { method: 'GET', query, ...options });
  }

  /** Requests for a job's state that arrived at the vendor. */
  asked(job: string): number {
    const at = `${base}/tasks/${encodeURIComponent(job)}`;
    return this.world.origin.calls.filter(({ request }) => request.target === at).length;
  }

  /** Fires the Cron of the tasks. */
  fire(isolate = 0): Promise<void> {
    return this.world.gateway.cron(schedules[0], Date.now(), isolate);
  }

  /** Fires it until `done` says so. */
  async fireUntil(what: string, done: () => Promise<boolean>): Promise<void> {
    await until(what, async () => {
      await this.fire();
      return (await done()) ? true : undefined;
    });
  }
}

/** A task as the management API shows it. */
export interface TaskWire {
  readonly id: string;
  readonly task_id: string;
  readonly state: string;
  readonly held_micros: number;
}

export const tasksOf = async (tenant: MoneyTenant): Promise<readonly TaskWire[]> =>
  (await tenant.api('GET', '/ledger/tasks')).data;

/** `X-Weir-Async`. */
export const asyncOf = (answer: RawAnswer): string | null => headerOf(answer.lines, 'x-weir-async');
