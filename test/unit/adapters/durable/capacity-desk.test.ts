/**
 * The capacity desk on a scripted object and a virtual clock, and on the real object: what it asks, when, and what it believes.
 */
import { env } from 'cloudflare:test';
import { describe, expect, it } from 'vitest';
import type { ProviderCapacity } from '../../../../durable-objects/provider-capacity';
import {
  type CapacityObject,
  type CapacityQuestion,
  DurableCapacityDesk,
} from '../../../../src/adapters/durable/capacity-desk';
import {
  capacityStubs,
  DurableCapacityObjects,
} from '../../../../src/adapters/durable/capacity-objects';
import { platformTime } from '../../../../src/adapters/time';
import {
  capacityAnswerWaitMs,
  capacityAskAgainMs,
  capacityOksMax,
  capacityTellWaitMs,
  capacityViewMsMax,
  capacityViewRefreshMs,
  capacityViewsMax,
  probeIntervalMs,
  spacerJitterMs,
} from '../../../../src/base/limits-capacity';
import { Breaker } from '../../../../src/domain/capacity/breaker';
import type { SlotOp } from '../../../../src/domain/capacity/operations';
import { Slots } from '../../../../src/domain/capacity/slots';
import { settled, VirtualClock } from '../../../support/virtual-clock';

type Behaviour = 'answers' | 'hangs' | 'throws' | 'overloaded' | 'loses_answer';

/** A desk, its objects behind a wire of 10 ms each way, and what they saw. */
class World {
  readonly clock = new VirtualClock();
  readonly breaker = new Breaker('acme', []);
  readonly #slots = new Slots();
  readonly seen: string[] = [];
  readonly unanswered: CapacityQuestion[] = [];
  /** What the object does with each of the next calls; then it answers. */
  script: Behaviour[] = [];
  readonly background: Promise<unknown>[] = [];
  readonly desk = new DurableCapacityDesk({
    objectOf: () => this.#object,
    time: this.clock,
    unanswered: (question) => void this.unanswered.push(question),
  });
  #serial = 0;

  readonly carry = (work: Promise<unknown>): void => void this.background.push(work);

  get context() {
    return { nowMs: this.clock.nowMs(), background: this.carry };
  }

  standing(provider = 'acme') {
    return this.desk.standing(provider, this.context);
  }

  strike(kind: 'balance' | 'quota' = 'quota'): void {
    const op = { id: this.#id(), account: 'primary', endpointId: 'acme.find', kind } as const;
    this.desk.strike('acme', { ...op, resetsInMs: null }, this.carry);
  }

  ok(more: Partial<Parameters<DurableCapacityDesk['ok']>[1]> = {}): void {
    const op = { id: this.#id(), account: 'primary', endpointId: 'acme.find' };
    this.desk.ok('acme', { ...op, spendsBalance: true, probe: null, ...more }, this.carry);
  }

  probe(lockId: string, id = this.#id()) {
    return this.desk.probe('acme', { id, lockId }, this.context);
  }

  /** The view is there, and everything that was under way has ended. */
  async warm(): Promise<void> {
    this.standing();
    await this.clock.pass(50);
    this.seen.length = 0;
  }

  async locked(): Promise<string> {
    this.strike();
    await this.clock.pass(16_000);
    this.strike();
    await this.clock.pass(50);
    this.seen.length = 0;
    return this.standing()?.view.locks[0]?.id ?? 'none';
  }

  #id(): string {
    this.#serial += 1;
    return `c${this.#serial}`;
  }

  get #object(): CapacityObject {
    const { breaker, clock } = this;
    const now = () => clock.nowMs();
    const slots = this.#slots;
    return {
      view: () => this.#call('view', () => breaker.view(now())),
      strike: (op) =>
        this.#call(`strike ${op.agoMs} ${op.lastOkAgoMs}`, () => {
          breaker.strike(op, now());
          return breaker.view(now());
        }),
      ok: (op) =>
        this.#call(`ok ${op.agoMs} ${op.probe === null ? '-' : 'probe'}`, () => {
          breaker.ok(op, now());
          return breaker.view(now());
        }),
      probe: (op) =>
        this.#call('probe', () => ({
          granted: breaker.probe(op, now()),
          view: breaker.view(now()),
        })),
      giveBackProbe: (op) =>
        this.#call('give_back_probe', () => {
          breaker.giveBackProbe(op, now());
          return breaker.view(now());
        }),
      take: (op) => this.#call('take', () => slots.take(op, now())),
      giveBack: (id) => this.#call('give_back', () => slots.giveBack(id)),
      mark: (op) =>
        this.#call('mark', () => {
          breaker.mark(op, now());
          return breaker.view(now());
        }),
    };
  }

  async #call<T>(name: string, work: () => T): Promise<T> {
    const behaviour = this.script.shift() ?? 'answers';
    await this.clock.wait(10);
    this.seen.push(name);
    if (behaviour === 'hangs') return Promise.withResolvers<T>().promise;
    if (behaviour === 'throws') throw new Error('gone');
    if (behaviour === 'overloaded') throw Object.assign(new Error('busy'), { overloaded: true });
    const answer = work();
    await this.clock.wait(10);
    if (behaviour === 'loses_answer') throw new Error('lost');
    return answer;
  }
}

describe('the view', () => {
  it('is unknown at first and there with the next call', async () => {
    const world = new World();
    expect(world.standing()).toBeNull();
    expect(world.standing()).toBeNull();
    await world.clock.pass(20);
    expect(world.standing()).toMatchObject({ ageMs: 20, view: { locks: [] } });
    expect(world.seen).toEqual(['view']);
  });

  it('costs no object call while it is young, whatever is asked of it', async () => {
    const world = new World();
    await world.warm();
    for (let i = 0; i < 100; i += 1) {
      expect(world.standing()).not.toBeNull();
      world.ok();
      await world.clock.pass(290);
    }
    expect(world.seen).toEqual([]);
  });

  it('is read again behind a call, one question at a time', async () => {
    const world = new World();
    await world.warm();
    await world.clock.pass(capacityViewRefreshMs);
    for (let i = 0; i < 5; i += 1) expect(world.standing()).not.toBeNull();
    await world.clock.pass(20);
    expect(world.seen).toEqual(['view']);
    expect(world.standing()?.ageMs).toBe(20);
  });

  it('is not believed beyond its age, and everything is open and counted meanwhile', async () => {
    const world = new World();
    await world.warm();
    world.script = Array.from({ length: 100 }, () => 'hangs' as const);
    for (let ms = 0; ms < capacityViewMsMax; ms += 1_000) {
      world.standing();
      await world.clock.pass(1_000);
    }
    expect(world.standing()).toBeNull();
    const tries = Math.ceil((capacityViewMsMax - capacityViewRefreshMs) / capacityAskAgainMs);
    expect(world.unanswered.length).toBeGreaterThanOrEqual(tries - 1);
    expect(world.seen.length).toBeLessThanOrEqual(tries + 1);
  });

  it('an answer that was asked for earlier does not replace a later one', async () => {
    const world = new World();
    await world.warm();
    await world.clock.pass(capacityViewRefreshMs);
    const slow = world.clock.wait.bind(world.clock);
    let isFirst = true;
    world.clock.wait = async (ms) => {
      const delayMs = isFirst ? 500 : ms;
      isFirst = false;
      await slow(delayMs);
    };
    world.standing();
    await world.clock.pass(1);
    world.strike();
    await world.clock.pass(1_000);
    expect(world.seen).toEqual([expect.stringContaining('strike'), 'view']);
    expect(world.standing()?.ageMs).toBe(1_000);
  });

  it.each<[Behaviour[], string[], CapacityQuestion[]]>([
    [['throws'], ['view', 'view'], []],
    [['throws', 'throws'], ['view', 'view'], ['view']],
    [['overloaded'], ['view'], ['view']],
  ])('%j: asked %j, unanswered %j', async (script, seen, unanswered) => {
    const world = new World();
    world.script = script;
    world.standing();
    await world.clock.pass(100);
    expect([world.seen, world.unanswered]).toEqual([seen, unanswered]);
  });

  it('of so many providers and no more', async () => {
    const world = new World();
    for (let i = 0; i <= capacityViewsMax; i += 1) world.standing(`p${i}`);
    await world.clock.pass(100);
    world.seen.length = 0;
    expect(world.standing('p0')).toBeNull();
    expect(world.standing(`p${capacityViewsMax}`)).not.toBeNull();
  });
});

describe('strikes and successes', () => {
  it('a strike is told off the path, and its answer is the view', async () => {
    const world = new World();
    await world.warm();
    await world.locked();
    expect(world.standing()?.view.locks).toMatchObject([{ key: 'acme.find' }]);
  });

  it('a strike whose answer is lost is told once more, older, and is one', async () => {
    const world = new World();
    world.script = ['loses_answer'];
    world.strike();
    await world.clock.pass(100);
    expect(world.seen).toEqual(['strike 0 null', 'strike 20 null']);
    expect(world.breaker.view(world.clock.nowMs()).strikes.length).toBe(1);
  });

  it('a strike says when this isolate last saw a 200 of that key', async () => {
    const world = new World();
    await world.warm();
    world.ok();
    await world.clock.pass(8_000);
    world.strike();
    await world.clock.pass(50);
    expect(world.seen).toEqual(['strike 0 8000']);
  });

  it('C076: a 200 of this isolate that nobody was told of is between two strikes', async () => {
    const world = new World();
    world.strike();
    await world.clock.pass(8_000);
    world.ok();
    await world.clock.pass(8_000);
    world.strike();
    await world.clock.pass(50);
    expect(world.standing()?.view.locks).toEqual([]);
  });

  it('one 200 is told when a strike is known, and the hundred after it are not', async () => {
    const world = new World();
    world.strike();
    await world.clock.pass(50);
    world.seen.length = 0;
    for (let i = 0; i < 100; i += 1) world.ok();
    await world.clock.pass(50);
    world.ok();
    await world.clock.pass(50);
    expect(world.seen).toEqual(['ok 0 -']);
    expect(world.standing()?.view.strikes).toEqual([]);
  });

  it('a 200 before the strike was known here is told when it is', async () => {
    const world = new World();
    await world.warm();
    const op = { account: 'primary', endpointId: 'acme.find', resetsInMs: null, agoMs: 0 };
    const strike = { ...op, id: 'elsewhere', kind: 'quota', lastOkAgoMs: null } as const;
    world.breaker.strike(strike, world.clock.nowMs());
    await world.clock.pass(1_000);
    world.ok();
    await world.clock.pass(capacityViewRefreshMs);
    world.standing();
    await world.clock.pass(100);
    expect(world.seen).toEqual(['view', `ok ${capacityViewRefreshMs + 20} -`]);
    expect(world.breaker.view(world.clock.nowMs()).strikes).toEqual([]);
  });

  it('a 200 that the object did not take is told with the next view', async () => {
    const world = new World();
    world.strike();
    await world.clock.pass(50);
    world.script = ['throws', 'throws'];
    world.ok();
    await world.clock.pass(capacityViewRefreshMs);
    world.seen.length = 0;
    world.standing();
    await world.clock.pass(100);
    expect(world.seen).toEqual(['view', expect.stringContaining('ok')]);
    expect(world.standing()?.view.strikes).toEqual([]);
  });

  it('a strike that came after the 200 stays, and the 200 is not told for ever', async () => {
    const world = new World();
    world.ok();
    await world.clock.pass(1_000);
    world.strike();
    await world.clock.pass(50);
    for (let i = 0; i < 5; i += 1) {
      await world.clock.pass(capacityViewRefreshMs);
      world.standing();
    }
    expect(world.seen.filter((name) => name.startsWith('ok'))).toEqual([]);
    expect(world.standing()?.view.strikes.length).toBe(1);
  });

  it.each<[string, boolean, number]>([
    ['a free 200 says nothing of a balance', false, 0],
    ['one that costs does', true, 1],
  ])('%s', async (_, spendsBalance, told) => {
    const world = new World();
    world.strike('balance');
    await world.clock.pass(50);
    world.seen.length = 0;
    world.ok({ spendsBalance });
    await world.clock.pass(50);
    expect(world.seen.length).toBe(told);
  });

  it('what nobody answers is given up in time and counted', async () => {
    const world = new World();
    world.script = ['hangs'];
    world.strike();
    await world.clock.pass(capacityTellWaitMs + 10);
    await Promise.all(world.background);
    expect(world.unanswered).toEqual(['strike']);
  });

  it('remembers a bounded number of keys', async () => {
    const world = new World();
    for (let i = 0; i <= capacityOksMax; i += 1)
      world.ok({ endpointId: `acme.${i}`, spendsBalance: false });
    const op = { id: 'x', account: 'primary', kind: 'quota', resetsInMs: null } as const;
    for (const i of [0, capacityOksMax])
      world.desk.strike('acme', { ...op, endpointId: `acme.${i}` }, world.carry);
    await world.clock.pass(50);
    expect(world.seen).toEqual(['strike 0 null', 'strike 0 0']);
  });

  it('a mark becomes the view', async () => {
    const world = new World();
    const mark = { id: 'm', key: 'v', reason: 'dry', forMs: 60_000 };
    world.desk.mark('acme', mark, world.carry);
    await world.clock.pass(50);
    expect(world.standing()?.view.marks).toMatchObject([{ key: 'v', reason: 'dry' }]);
  });
});

describe('a probe', () => {
  it('is asked for once at a time; the others hear no at once', async () => {
    const world = new World();
    const lockId = await world.locked();
    await world.clock.pass(probeIntervalMs);
    const first = world.probe(lockId, 'first');
    expect(await world.probe(lockId)).toBeNull();
    await world.clock.pass(20);
    expect(await first).toEqual({ id: 'first', lockId });
    expect(world.seen.filter((name) => name === 'probe')).toEqual(['probe']);
  });

  it('is not asked for while the view knows that none is due', async () => {
    const world = new World();
    const lockId = await world.locked();
    expect(await world.probe(lockId)).toBeNull();
    await world.clock.pass(probeIntervalMs);
    const granted = world.probe(lockId);
    await world.clock.pass(20);
    expect(await granted).not.toBeNull();
    for (let i = 0; i < 10; i += 1) expect(await world.probe(lockId)).toBeNull();
    expect(world.seen.filter((name) => name === 'probe').length).toBe(1);
  });

  it('that was not sent is the next call’s at once', async () => {
    const world = new World();
    const lockId = await world.locked();
    await world.clock.pass(probeIntervalMs);
    const granted = world.probe(lockId, 'poor');
    await world.clock.pass(20);
    world.desk.giveBackProbe('acme', (await granted) ?? { id: '', lockId }, world.carry);
    await world.clock.pass(20);
    const next = world.probe(lockId, 'rich');
    await world.clock.pass(20);
    expect(await next).toEqual({ id: 'rich', lockId });
    expect(world.unanswered).toEqual([]);
  });

  it('its 200 is told at once, and the lock is gone from the view', async () => {
    const world = new World();
    const lockId = await world.locked();
    await world.clock.pass(probeIntervalMs);
    const granted = world.probe(lockId, 'me');
    await world.clock.pass(20);
    world.ok({ id: 'me', probe: await granted });
    await world.clock.pass(50);
    expect(world.seen.at(-1)).toBe('ok 0 probe');
    expect(world.standing()?.view.locks).toEqual([]);
  });

  it('without an answer is a no in time, counted, and asked for again only later', async () => {
    const world = new World();
    const lockId = await world.locked();
    await world.clock.pass(probeIntervalMs);
    world.script = ['hangs'];
    const first = world.probe(lockId);
    await world.clock.pass(capacityAnswerWaitMs);
    expect(await first).toBeNull();
    expect(world.unanswered).toEqual(['probe']);
    expect(await world.probe(lockId)).toBeNull();
    await world.clock.pass(capacityAskAgainMs);
    const again = world.probe(lockId);
    await world.clock.pass(20);
    expect(await again).not.toBeNull();
  });

  it('whose answer was lost is the same call’s when it asks again', async () => {
    const world = new World();
    const lockId = await world.locked();
    await world.clock.pass(probeIntervalMs);
    world.script = ['loses_answer'];
    const granted = world.probe(lockId, 'me');
    await world.clock.pass(50);
    expect(await granted).toEqual({ id: 'me', lockId });
  });

  it('of a lock that is gone is a no, and the view says so', async () => {
    const world = new World();
    const lockId = await world.locked();
    await world.clock.pass(probeIntervalMs);
    world.breaker.reset(null, world.clock.nowMs());
    const asked = world.probe(lockId);
    await world.clock.pass(20);
    expect(await asked).toBeNull();
    expect(world.standing()?.view.locks).toEqual([]);
  });
});

describe('a place', () => {
  const slot = (id: string): SlotOp => ({
    id,
    candidates: [{ account: 'primary', bucket: 'acme' }],
    rate: { limit: 10, windowMs: 1_000 - spacerJitterMs },
    waitMsMax: 2_000,
    isEnforced: false,
    isSpaced: true,
  });

  it('comes from the object, once per call, and goes back', async () => {
    const world = new World();
    world.script = ['loses_answer'];
    const first = world.desk.take('acme', slot('a'));
    await world.clock.pass(50);
    expect(await first).toMatchObject({ waitMs: 0 });
    const second = world.desk.take('acme', slot('b'));
    await world.clock.pass(50);
    expect(await second).toMatchObject({ outcome: 'go', waitMs: 50 });
    world.desk.giveBack('acme', 'b', world.carry);
    await world.clock.pass(20);
    expect(world.seen).toEqual(['take', 'take', 'take', 'give_back']);
  });

  it('without an answer the call goes at once, and that is counted', async () => {
    const world = new World();
    world.script = ['hangs', 'throws', 'throws'];
    const taken = world.desk.take('acme', slot('a'));
    world.desk.giveBack('acme', 'a', world.carry);
    await world.clock.pass(capacityAnswerWaitMs);
    expect(await taken).toBeNull();
    expect(world.unanswered.toSorted()).toEqual(['give_back', 'take']);
  });
});

describe('on the real object', () => {
  const { CAPACITY } = env as unknown as {
    readonly CAPACITY: DurableObjectNamespace<ProviderCapacity>;
  };
  const stubOf = capacityStubs(CAPACITY);
  const unanswered: string[] = [];
  const isolate = () =>
    new DurableCapacityDesk({
      objectOf: stubOf,
      time: platformTime,
      unanswered: (question) => void unanswered.push(question),
    });

  it('what one isolate is told the other sees; the operator too', async () => {
    const work: Promise<unknown>[] = [];
    const background = (one: Promise<unknown>): void => void work.push(one);
    const [one, two] = [isolate(), isolate()];
    one.mark('real', { id: 'm', key: 'v', reason: 'dry', forMs: 60_000 }, background);
    const op = { account: 'primary', endpointId: 'real.find', resetsInMs: null } as const;
    one.strike('real', { ...op, id: 'a', kind: 'quota' }, background);
    await Promise.all(work);
    const context = { nowMs: Date.now(), background };
    expect(two.standing('real', context)).toBeNull();
    await Promise.all(work);
    await settled();
    const view = two.standing('real', { ...context, nowMs: Date.now() })?.view;
    expect(view).toMatchObject({ strikes: [{ key: 'real.find' }], marks: [{ key: 'v' }] });
    const objects = new DurableCapacityObjects({ stubOf, time: platformTime });
    const reading = { observedAtMs: Date.now(), state: 'exhausted', resetsAtMs: null } as const;
    expect(await objects.observe('real', reading)).toBe(true);
    expect(await objects.state('real')).toMatchObject({ strikes: [{ kind: 'quota' }], reading });
    expect(await objects.reset('real', null)).toBe(3);
    expect(unanswered).toEqual([]);
  });

  it('an object that is away is null for the operator', async () => {
    const away = () => {
      throw new Error('away');
    };
    const objects = new DurableCapacityObjects({ stubOf: away, time: platformTime });
    expect([await objects.state('x'), await objects.reset('x', null)]).toEqual([null, null]);
  });
});
