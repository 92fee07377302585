/**
 * The whole road in a hand-made world: what was asked of which port, which rows were written, what
 * the ledger was told. The clock moves 7 ms with every look at it.
 */
import { vi } from 'vitest';
import { err, ok, type Result } from '../../../src/base/result';
import type { Overflow } from '../../../src/call/branch-overflow';
import type { Surface } from '../../../src/call/call';
import { type CallServices, runCall } from '../../../src/call/run-call';
import type { Upstream } from '../../../src/domain/catalog/upstream';
import { prepareMask } from '../../../src/domain/credentials/masking';
import type { Refusal } from '../../../src/domain/refusal';
import type { AccessKey } from '../../../src/domain/tenancy/access';
import type { CatalogEntry } from '../../../src/ports/catalog';
import type { PreparedCredentials } from '../../../src/ports/credentials';
import type { CallRow, OpenCall } from '../../../src/ports/evidence';
import type { ReplayBodies } from '../../../src/ports/replay-bodies';
import { backgroundOf, key, noCredentials, startMs, tenant, token, upstream } from './calls';
import { capacityPorts, type NotedCapacity, noOverflow } from './capacity-ports';
import { catalogPorts } from './catalog-ports';
import { NotedDesk, NotedTasks } from './desk';

export interface World {
  readonly surface?: Surface;
  /** `bug`: asking who calls throws. */
  readonly identity?: Result<'known', Refusal> | 'bug';
  readonly key?: Partial<AccessKey>;
  readonly found?: readonly Upstream[];
  readonly egress?: Refusal;
  readonly credentials?: Refusal;
  readonly masks?: boolean;
  /** The stages wait for a store. */
  readonly isCold?: boolean;
  /** The row under every catalog id; its platform account has a setting. */
  readonly entry?: CatalogEntry;
  /** The caller's own upstreams at the host of that row's provider. */
  readonly own?: readonly Upstream[];
  readonly desk?: NotedDesk;
  readonly tasks?: NotedTasks;
  readonly capacity?: NotedCapacity;
  readonly replayBodies?: ReplayBodies;
  /** How the operator's account is gone around; nothing overflows without it. */
  readonly overflow?: Overflow;
  /** Members that the credentials bind into the body. */
  readonly bound?: PreparedCredentials['json'];
  readonly send?: CallServices['send'];
  /** Takes no time unless something happens in it. */
  readonly sleep?: CallServices['sleep'];
}

export const asking = (init: RequestInit = {}, path = '/call/api/v1/x'): Request =>
  new Request(`https://gw.test${path}`, { headers: { 'x-weir-key': token }, ...init });

/** Runs one call. */
export function play(world: World = {}, request = asking()) {
  const asked: string[] = [];
  const rows: CallRow[] = [];
  const watched = new Set<OpenCall>();
  const reports: unknown[] = [];
  let nowMs = startMs - 7;
  const note = <T>(port: string, value: T): T => {
    asked.push(port);
    return value;
  };
  const masks = world.masks ? [prepareMask('sk-vendor-0123456789')] : [];
  const view = { ...tenant(ok(world.found ?? [upstream()])) };
  const named = view.named;
  view.named = (name) => note('look-up', named(name));
  if (world.entry !== undefined) view.at = () => note('own upstreams', ok(world.own ?? []));
  const desk = world.desk ?? new NotedDesk();
  const services: CallServices = {
    ...capacityPorts(world.capacity),
    ...catalogPorts(world.entry ?? null).ports,
    hasSetting: () => true,
    ...(world.sleep === undefined ? {} : { sleep: world.sleep }),
    overflow: world.overflow ?? noOverflow,
    config: {
      identify: () => {
        const known = ok({ key: key(world.key), tenant: view });
        if (world.identity === 'bug') throw new TypeError('bug');
        const who = world.identity?.ok === false ? world.identity : known;
        return note('identify', world.isCold ? Promise.resolve(who) : who);
      },
      forget: () => undefined,
    },
    credentials: {
      prepare: () =>
        note(
          'credentials',
          world.credentials
            ? err(world.credentials)
            : ok({ ...noCredentials, masks, json: world.bound ?? [] }),
        ),
    },
    egress: { check: () => note('egress', world.egress ? err(world.egress) : ok(undefined)) },
    egressPolicy: { allow: { pairs: new Set() }, gatewayHosts: [], httpsOnly: true },
    clientIpHeaders: new Set(),
    callLog: {
      push: (row) => note('log', void rows.push(row)),
      watch: (call) => void watched.add(call),
      unwatch: (call) => void watched.delete(call),
    },
    tasks: world.tasks ?? new NotedTasks(),
    desk: {
      place: (at, op) => note('place', desk.place(at, op)),
      end: (at, op) => note(op[0], desk.end(at, op)),
      endNow: (at, ops) => note('record', desk.endNow(at, ops)),
    },
    replayBodies: world.replayBodies ?? null,
    sign: async () => new Uint8Array(32),
    send: (target, init) =>
      note('send', (world.send ?? (async () => new Response('ok')))(target, init)),
    nowMs: () => {
      nowMs += 7;
      return nowMs;
    },
    report: (event, facts) => void reports.push([event, facts]),
  };
  const background = backgroundOf();
  const answer = runCall(world.surface ?? 'call', request, services, background);
  return { answer, asked, rows, reports, background, watched, desk };
}

/** What the keeper of the call log does with a call that stays open. */
export async function woken(watched: ReadonlySet<OpenCall>): Promise<void> {
  await vi.waitUntil(() => watched.size === 1);
  for (const call of watched) call.wake();
}

/** An upstream that says nothing until it is let go. */
export const silent: CallServices['send'] = (_target, init) =>
  new Promise((_, reject) => {
    if (init.signal?.aborted) reject(new Error('off'));
    init.signal?.addEventListener('abort', () => reject(new Error('off')));
  });
