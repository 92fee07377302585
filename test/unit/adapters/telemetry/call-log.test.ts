/**
 * BufferedCallLog: batches bounded in count and age, rows that a sink did not take, what is dropped
 * and counted.
 */
import { describe, expect, it } from 'vitest';
import { BufferedCallLog } from '../../../../src/adapters/telemetry/call-log';
import {
  callLapseMs,
  callLogBatchMax,
  callLogBufferCharsMax,
  callLogBufferMax,
  callLogFlushMs,
  callLogHurryMs,
  callLogWriteTimeoutMs,
  custodyArmMs,
  keeperLapseMs,
  keeperLifeMs,
  keeperRestMs,
  keeperTickMs,
} from '../../../../src/base/limits';
import type { CallRow, OpenCall } from '../../../../src/ports/evidence';
import { callRow as rowOf, startMs } from './rows';

/** Lets everything that can go on go on. */
const settled = async (): Promise<void> => {
  for (let i = 0; i < 50; i++) await Promise.resolve();
};

type Sink = 'takes' | 'fails' | 'hangs';

/**
 * A log with a scripted sink and a clock that moves by `pass`, which ends the waits that are due.
 */
function world() {
  const state = { sink: 'takes' as Sink, nowMs: startMs, pushed: 0 };
  const batches: string[][] = [];
  const taken: string[] = [];
  const counted: string[] = [];
  /** Times of the reports; a report takes what waits. */
  const reports: number[] = [];
  const tally = { isWaiting: false, lost: 0, isDue: true };
  const waits: { dueMs: number; end: () => void }[] = [];
  const log = new BufferedCallLog({
    sink: {
      write: (rows) => {
        const ids = rows.map((row) => row.id);
        batches.push(ids);
        if (state.sink === 'takes') taken.push(...ids);
        if (state.sink === 'fails') return Promise.reject(new Error('no'));
        return state.sink === 'hangs' ? new Promise(() => undefined) : Promise.resolve();
      },
    },
    tally: {
      add(rows) {
        counted.push(...rows.map((row) => row.id));
        tally.isWaiting ||= rows.length > 0;
      },
      failOpen(what, times = 1) {
        if (what === 'call_rows') tally.lost += times;
      },
      get isWaiting() {
        return tally.isWaiting;
      },
      async report(nowMs, isLast) {
        if (!tally.isWaiting || !(tally.isDue || isLast)) return;
        tally.isWaiting = false;
        reports.push(nowMs);
      },
    },
    nowMs: () => state.nowMs,
    wait: (ms) =>
      new Promise((end) => waits.push({ dueMs: state.nowMs + ms, end: () => end(null) })),
  });
  const background: Promise<unknown>[] = [];
  const push = (count = 1, parts: Partial<CallRow> = {}): void => {
    for (let i = 0; i < count; i++) {
      state.pushed += 1;
      const row = { ...rowOf(state.pushed, state.nowMs), ...parts };
      log.push(row, (work) => void background.push(work));
    }
  };
  const tick = async (ms: number): Promise<void> => {
    state.nowMs += ms;
    for (const wait of waits.splice(0)) {
      if (wait.dueMs <= state.nowMs) wait.end();
      else waits.push(wait);
    }
    await settled();
  };
  const pass = async (ms: number): Promise<void> => {
    for (let left = ms; left > 0; left -= keeperTickMs) await tick(Math.min(left, keeperTickMs));
  };
  /** Nothing that waits now will ever go on. */
  const loseContext = (): void => void waits.splice(0);
  return {
    log,
    state,
    batches,
    taken,
    counted,
    reports,
    tally,
    background,
    push,
    pass,
    loseContext,
  };
}

describe('a batch', () => {
  it('is written when its oldest row is callLogFlushMs old, on one waitUntil for all', async () => {
    const { batches, background, push, pass } = world();
    push(3);
    await pass(callLogFlushMs - keeperTickMs);
    expect(batches).toEqual([]);
    await pass(keeperTickMs);
    expect(batches).toEqual([['call_1', 'call_2', 'call_3']]);
    expect(background.length).toBe(1);
  });

  it('has at most callLogBatchMax rows, and a full one does not wait', async () => {
    const { batches, push } = world();
    push(callLogBatchMax);
    await settled();
    expect(batches.map((batch) => batch.length)).toEqual([callLogBatchMax]);
  });

  it('is never written twice when the sink took it', async () => {
    const { taken, push, pass } = world();
    push(2);
    await pass(callLogFlushMs);
    push(1);
    await pass(callLogFlushMs);
    expect(taken).toEqual(['call_1', 'call_2', 'call_3']);
  });

  it('whose leader died with its context is led by a later call', async () => {
    const { state, taken, push, pass, loseContext } = world();
    push();
    // Its wait never ends.
    loseContext();
    state.nowMs += 2 * callLogFlushMs + callLogWriteTimeoutMs;
    push();
    await pass(callLogFlushMs);
    expect([...taken].sort()).toEqual(['call_1', 'call_2']);
  });
});

describe('a keeper', () => {
  it('that has not ticked for keeperLapseMs is followed by another', async () => {
    const { state, background, push, loseContext } = world();
    push();
    loseContext();
    state.nowMs += keeperLapseMs - 1;
    push();
    expect(background.length).toBe(1);
    state.nowMs += 1;
    push();
    expect(background.length).toBe(2);
  });

  it.each(['cancelled', 'timed_out'] as const)(
    'is never a call that ended as %s, whose upstream ends with its context: that one waits callLogHurryMs at most for its row',
    async (outcome) => {
      const { log, state, background, pass } = world();
      state.sink = 'hangs';
      log.push({ ...rowOf(1, state.nowMs), outcome }, (work) => void background.push(work));
      let isOver = false;
      void background[0]?.then(() => {
        isOver = true;
      });
      await pass(callLogHurryMs - keeperTickMs);
      expect(isOver).toBe(false);
      await pass(keeperTickMs);
      expect(isOver).toBe(true);
    },
  );
});

describe('the counts of calls', () => {
  it('are reported with the rows, before the keeper ends', async () => {
    const { counted, reports, background, push, pass } = world();
    push(3);
    await pass(callLogFlushMs);
    expect([counted.length, reports]).toEqual([3, [startMs + callLogFlushMs]]);
    await pass(keeperTickMs);
    await Promise.all(background);
  });

  it('are reported under a load that fills batch after batch, so that no flush is ever due', async () => {
    const { reports, push, pass } = world();
    for (let tick = 0; tick < 10; tick += 1) {
      push(callLogBatchMax);
      await pass(keeperTickMs);
    }
    expect(reports.length).toBeGreaterThan(0);
  });

  it('that may not be reported yet keep the keeper, until they may', async () => {
    const { tally, reports, background, push, pass } = world();
    tally.isDue = false;
    push();
    await pass(3 * callLogFlushMs);
    expect(reports).toEqual([]);
    tally.isDue = true;
    await pass(callLogFlushMs);
    expect(reports.length).toBe(1);
    await Promise.all(background);
  });

  it('are reported at the end of the keeper’s life, whether they may or not', async () => {
    const { tally, reports, background, push, pass } = world();
    tally.isDue = false;
    push();
    await pass(keeperLifeMs);
    expect(reports.length).toBe(1);
    await Promise.all(background);
  });

  it.each(['fails', 'hangs'] as const)(
    'have each call once, however often a sink that %s gets its row',
    async (sink) => {
      const { state, counted, batches, push, pass } = world();
      state.sink = sink;
      push(3);
      await pass(4 * callLogWriteTimeoutMs);
      push(2);
      await pass(4 * callLogWriteTimeoutMs);
      state.sink = 'takes';
      push(1);
      await pass(4 * callLogWriteTimeoutMs);
      expect(batches.flat().length).toBeGreaterThan(6);
      expect([...counted].sort()).toEqual([1, 2, 3, 4, 5, 6].map((n) => `call_${n}`));
    },
  );

  it('have the calls whose rows are dropped, which are counted as lost', async () => {
    const { log, state, counted, tally, push, pass } = world();
    state.sink = 'fails';
    push(callLogBufferMax + 100);
    await pass(2 * callLogFlushMs);
    push(callLogBufferMax);
    await pass(2 * callLogFlushMs);
    state.sink = 'takes';
    await pass(4 * callLogFlushMs);
    expect([counted.length, new Set(counted).size]).toEqual([state.pushed, state.pushed]);
    expect([tally.lost, log.dropped > 0]).toEqual([log.dropped, true]);
  });
});

describe('a sink that fails', () => {
  it('loses nothing up to the bound; order is kept', async () => {
    const { log, state, batches, push, pass } = world();
    state.sink = 'fails';
    push(2);
    await pass(callLogFlushMs);
    state.sink = 'takes';
    push();
    await pass(callLogFlushMs);
    expect(batches.at(-1)).toEqual(['call_1', 'call_2', 'call_3']);
    expect(log.dropped).toBe(0);
  });

  it('beyond callLogBufferMax drops the oldest, and counts them', async () => {
    const { log, state, taken, push, pass } = world();
    state.sink = 'fails';
    for (let i = 0; i < callLogBufferMax / callLogBatchMax + 2; i++) {
      push(callLogBatchMax);
      await pass(2 * callLogFlushMs);
    }
    state.sink = 'takes';
    push();
    await pass(2 * callLogFlushMs);
    expect(log.dropped).toBeGreaterThanOrEqual(2 * callLogBatchMax);
    expect(log.dropped).toBeLessThanOrEqual(3 * callLogBatchMax);
    expect(new Set(taken).size).toBe(taken.length);
    expect(taken.length + log.dropped).toBe(state.pushed);
    const newest = Number(taken.at(-1)?.slice('call_'.length));
    expect([taken.includes('call_1'), newest]).toEqual([false, state.pushed]);
  });

  it('beyond callLogBufferCharsMax of texts drops the oldest, however few they are', async () => {
    const { log, state, taken, push, pass } = world();
    const large = { path: 'p'.repeat(16_000), evidence: 'e'.repeat(8_000) };
    const fit = Math.floor(callLogBufferCharsMax / 24_000);
    for (const round of [1, 2]) {
      state.sink = 'fails';
      push(fit, large);
      await pass(2 * callLogFlushMs);
      expect(log.dropped).toBe(7 * (round - 1));
      push(7, large);
      await pass(2 * callLogFlushMs);
      expect(log.dropped).toBe(7 * round);
      state.sink = 'takes';
      await pass(4 * callLogFlushMs);
      expect(taken.length + log.dropped).toBe(state.pushed);
    }
    push(fit, large);
    await pass(2 * callLogFlushMs);
    expect(log.dropped).toBe(14);
  });

  it('is not asked again with every call', async () => {
    const { state, batches, push, pass } = world();
    state.sink = 'fails';
    push(callLogBatchMax);
    await pass(callLogFlushMs);
    const before = batches.length;
    for (let i = 0; i < 100; i++) {
      push();
      await settled();
    }
    expect(batches.length - before).toBeLessThanOrEqual(2);
  });
});

describe('a sink that hangs', () => {
  it('gets its rows again later: none is lost and uncounted', async () => {
    const { log, state, taken, push, pass } = world();
    state.sink = 'hangs';
    push(3);
    await pass(callLogFlushMs);
    state.sink = 'takes';
    for (let i = 0; i < 30; i++) {
      push();
      await pass(callLogFlushMs);
    }
    const first = taken.filter((id) => ['call_1', 'call_2', 'call_3'].includes(id));
    expect(first.length + log.dropped).toBe(3);
  });

  it('never holds more than callLogBufferMax rows, those in flight included', async () => {
    const { log, state, batches, push } = world();
    state.sink = 'hangs';
    for (let i = 0; i < 4; i++) {
      push(callLogBufferMax / 2);
      await settled();
    }
    // What was handed over and neither ended nor was counted as dropped is still held.
    expect(new Set(batches.flat()).size - log.dropped).toBeLessThanOrEqual(callLogBufferMax);
  });
});

/** A call that notes what the keeper does with it; `alive` arms itself when it is woken. */
function openCall(options: { alive: boolean; armed?: boolean }) {
  const call = {
    startedAtMs: startMs,
    armed: options.armed ?? false,
    woken: 0,
    slot: 0,
    lapsed: 0,
    wake() {
      call.woken += 1;
      call.armed ||= options.alive;
    },
    lapse() {
      call.lapsed += 1;
    },
  };
  return call satisfies OpenCall;
}

describe('the list of open calls', () => {
  it('keeps whoever is left, in whatever order they leave', async () => {
    const here = world();
    const calls = Array.from({ length: 5 }, () => openCall({ alive: true }));
    for (const call of calls) here.log.watch(call, (work) => void here.background.push(work));
    for (const at of [1, 4, 0]) here.log.unwatch(calls[at] as OpenCall);
    // Leaving twice, as an ended call may, takes nobody else's place.
    here.log.unwatch(calls[1] as OpenCall);
    await here.pass(custodyArmMs + keeperTickMs);
    expect(calls.map((call) => call.woken)).toEqual([0, 0, 1, 1, 0]);
  });
});

describe('open calls', () => {
  const keep = (call: OpenCall, { log, background }: ReturnType<typeof world>): void =>
    log.watch(call, (work) => void background.push(work));

  it('are woken when they are custodyArmMs old', async () => {
    const here = world();
    const call = openCall({ alive: true });
    keep(call, here);
    await here.pass(custodyArmMs + keeperTickMs);
    expect([call.woken, call.lapsed]).toEqual([1, 0]);
  });

  it('that do not arm when they are woken have no context left, and lapse, not before callLapseMs', async () => {
    const here = world();
    const call = openCall({ alive: false });
    keep(call, here);
    await here.pass(callLapseMs - keeperTickMs);
    expect([call.woken > 0, call.lapsed]).toEqual([true, 0]);
    await here.pass(custodyArmMs + 2 * keeperTickMs);
    expect(call.lapsed).toBeGreaterThan(0);
  });

  it('are woken before they may lapse, however late the keeper is', async () => {
    const here = world();
    const call = openCall({ alive: true });
    keep(call, here);
    // The keeper's context died, or the loop stood still, for longer than callLapseMs.
    here.loseContext();
    here.state.nowMs += 2 * callLapseMs + callLogWriteTimeoutMs;
    here.push();
    await here.pass(callLapseMs);
    expect([call.woken > 0, call.lapsed]).toEqual([true, 0]);
  });

  it('are woken while a write hangs', async () => {
    const here = world();
    here.state.sink = 'hangs';
    here.push();
    await here.pass(callLogFlushMs);
    const call = Object.assign(openCall({ alive: true }), { startedAtMs: here.state.nowMs });
    keep(call, here);
    await here.pass(custodyArmMs + 2 * keeperTickMs);
    expect(call.woken).toBe(1);
  });

  it('that are armed are left alone, and keep no keeper', async () => {
    const here = world();
    const call = openCall({ alive: true, armed: true });
    keep(call, here);
    await here.pass(callLapseMs + keeperTickMs);
    expect([call.woken, call.lapsed]).toEqual([0, 0]);
    await Promise.all(here.background);
  });

  it('that died just before the keeper’s end lapse, and their rows are written, though nobody else comes', async () => {
    for (let beforeMs = 0; beforeMs <= callLapseMs + 2 * keeperTickMs; beforeMs += keeperTickMs) {
      const here = world();
      here.push();
      for (let passedMs = 0; passedMs < keeperLifeMs - beforeMs; passedMs += keeperTickMs) {
        // Something to do at every tick: the keeper lives its whole life.
        here.tally.isWaiting = true;
        here.tally.isDue = false;
        await here.pass(keeperTickMs);
      }
      here.tally.isDue = true;
      const dead = Object.assign(openCall({ alive: false }), { startedAtMs: here.state.nowMs });
      dead.lapse = () => {
        dead.lapsed += 1;
        here.log.unwatch(dead);
        here.push();
      };
      keep(dead, here);
      await here.pass(callLapseMs + callLogFlushMs + custodyArmMs + 4 * keeperTickMs);
      expect([dead.lapsed, here.taken.length], `${beforeMs} ms before the end`).toEqual([1, 2]);
      await Promise.all(here.background);
    }
  });

  it('that died just before the keeper’s end lapse while a write hangs', async () => {
    const here = world();
    here.push();
    for (let passedMs = 0; passedMs < keeperLifeMs - keeperTickMs; passedMs += keeperTickMs) {
      here.tally.isWaiting = true;
      here.tally.isDue = false;
      await here.pass(keeperTickMs);
    }
    here.state.sink = 'hangs';
    here.push();
    const dead = Object.assign(openCall({ alive: false }), { startedAtMs: here.state.nowMs });
    dead.lapse = () => {
      dead.lapsed += 1;
      here.log.unwatch(dead);
    };
    keep(dead, here);
    await here.pass(callLapseMs + custodyArmMs + 3 * keeperTickMs);
    expect(dead.lapsed).toBe(1);
  });

  it('that ended are forgotten', async () => {
    const here = world();
    const call = openCall({ alive: false });
    keep(call, here);
    here.log.unwatch(call);
    await here.pass(callLapseMs + keeperTickMs);
    expect([call.woken, call.lapsed]).toEqual([0, 0]);
    await Promise.all(here.background);
  });

  it('have one keeper at a time, which ends before waitUntil would be cut', async () => {
    const { background, push, pass } = world();
    for (let passedMs = 0; passedMs < 3 * keeperLifeMs; passedMs += callLogFlushMs) {
      push();
      await pass(callLogFlushMs);
    }
    await Promise.all(background.slice(0, -1));
    expect(background.length).toBeGreaterThanOrEqual(3);
    // What the platform gives a waitUntil after its answer.
    expect(keeperLifeMs + keeperRestMs + callLogWriteTimeoutMs).toBeLessThan(30_000);
    expect(keeperRestMs).toBeGreaterThan(callLapseMs + custodyArmMs + 2 * keeperTickMs);
  });
});
