/**
 * Mutants: the ledger with one guard removed each. A proof that does not see one of them proves
 * nothing. Each is a text patch of one source file that must match exactly once.
 */
import type { Patch } from './ledger-bundle.ts';

export interface Mutant extends Patch {
  /** What the mutant does wrong. */
  readonly name: string;
}

const turn = 'durable-objects/ledger/turn.ts';
const core = 'durable-objects/ledger/core.ts';
const journal = 'durable-objects/ledger/journal.ts';
const ended = 'durable-objects/ledger/ended-store.ts';
const blocks = 'src/domain/ledger/blocks.ts';
const caps = 'src/domain/ledger/caps.ts';
const holds = 'src/domain/ledger/holds.ts';
const records = 'src/domain/ledger/records.ts';
const tasks = 'durable-objects/ledger/task-store.ts';
const tally = 'src/domain/ledger/tally.ts';
const transitions = 'src/domain/ledger/transitions.ts';

export const mutants: readonly Mutant[] = [
  {
    name: 'a hold stays open after its end',
    file: transitions,
    find: 'state.open.delete(id);\n  state.heldMicros -=',
    replace: 'state.heldMicros -=',
  },
  {
    name: 'a call is placed without enough money',
    file: caps,
    find: 'if (requiredMicros === 0 || availableMicros >= requiredMicros) return null;',
    replace: 'if (availableMicros > -1_000) return null;',
  },
  {
    name: 'the daily cap forgets open holds',
    file: caps,
    find: 'tally.settledTodayMicros + heldMicros + amountMicros',
    replace: 'tally.settledTodayMicros + amountMicros',
  },
  {
    name: 'a key gets one call more than its cap',
    file: caps,
    find: '(tally.callsToday.get(keyId) ?? 0) < cap',
    replace: '(tally.callsToday.get(keyId) ?? 0) <= cap',
  },
  {
    name: 'a further hold of a call counts as a call',
    file: transitions,
    find: 'op.length > 6 ? 0 : 1',
    replace: '1',
  },
  {
    name: 'a tag budget is asked for a call that it has counted',
    file: caps,
    find: 'callsMax !== null && !call.isAgain',
    replace: 'callsMax !== null',
  },
  {
    name: 'a tag budget forgets open holds',
    file: caps,
    find: 'settledMicros + heldMicros + call.amountMicros',
    replace: 'settledMicros + call.amountMicros',
  },
  {
    name: 'a blocked tag value passes',
    file: caps,
    find: 'rule.value === value && rule.blocked',
    replace: "rule.value === value && rule.value === ''",
  },
  {
    name: 'a day never ends',
    file: tally,
    find: 'if (day <= this.day) return;',
    replace: 'if (this.day > 0) return;',
  },
  {
    name: 'what is left goes back to another block',
    file: blocks,
    find: 'block.remainingMicros += micros - spent;',
    replace: '(this.blocks[0] ?? block).remainingMicros += micros - spent;',
  },
  {
    name: 'a top-up leaves the debt standing',
    file: blocks,
    find: 'this.availableMicros += micros;\n    this.payDebt();',
    replace: 'this.availableMicros += micros;',
  },
  {
    name: 'purchased money burns before promotional',
    file: blocks,
    find: 'blockKinds.indexOf(other.kind) > rank',
    replace: 'rank < 0',
  },
  {
    name: 'a late settlement books every time',
    file: holds,
    find: 'ended.lateMicros === null',
    replace: 'ended.chargeMicros >= 0',
  },
  {
    name: 'an estimate books after the release',
    file: holds,
    find: "completed && ended.ending !== 'settled'",
    replace: "ended.ending !== 'settled'",
  },
  {
    name: 'an ended hold is placed again',
    file: turn,
    find: 'state.open.get(holdId) ?? this.endedHold(holdId)',
    replace: 'state.open.get(holdId) ?? null',
  },
  {
    name: 'ended holds on disk are forgotten',
    file: turn,
    find: 'this.#memory.state.ended.get(id) ?? this.#memory.ended.find(id)',
    replace: 'this.#memory.state.ended.get(id) ?? null',
  },
  {
    name: 'only the newest ids are looked up',
    file: ended,
    find: 'id > this.#idMax',
    replace: 'id < this.#idMax',
  },
  {
    name: 'an id is used for two amounts',
    file: holds,
    find: 'known.amountMicros !== amountMicros',
    replace: 'known.amountMicros > 1_000',
  },
  {
    name: 'a top-up is booked twice',
    file: core,
    find: 'if (known !== undefined) {',
    replace: "sql.exec('DELETE FROM credit WHERE id = ?', id);\n      if (id === '') {",
  },
  {
    name: 'a hold expires before its lease ends',
    file: core,
    find: 'hold.leaseUntilMs > turn.nowMs || overdue',
    replace: 'overdue',
  },
  {
    name: 'a renewal is lost with the memory',
    file: turn,
    find: "this.do(['renew', id]);",
    replace: "applyOp(this.#memory.state, ['renew', id], this.nowMs);",
  },
  {
    name: 'no grace after a restart',
    file: core,
    find: 'this.#turn(nowMs, (turn) => turn.grace());',
    replace: 'this.#turn(nowMs, () => null);',
  },
  {
    name: 'every restart is grace again',
    file: transitions,
    find: 'hold.graced = true;',
    replace: 'hold.graced = false;',
  },
  {
    name: 'memory keeps what the disk refused',
    file: core,
    find: 'this.#memory = null;\n      this.#audit = null;',
    replace: 'this.#audit = null;',
  },
  {
    name: 'a claim outlives its failed call',
    file: core,
    find: 'places.every((op) => op[6] === null)',
    replace: 'places.length >= 0',
  },
  {
    name: 'a record is closed although the call that closes it failed',
    file: core,
    find: "if ((op[0] !== 'settle' && op[0] !== 'release') || !state.open.has(op[1])) return false;",
    replace: '',
  },
  {
    name: 'a row is replayed twice',
    file: journal,
    find: 'WHERE seq > ? ORDER BY seq',
    replace: 'WHERE seq >= ? ORDER BY seq',
  },
  {
    name: 'rows go before D1 has them',
    file: journal,
    find: 'next > this.#ackedSeq',
    replace: 'next < 0',
  },
  {
    name: 'another request replays the answer',
    file: records,
    find: 'row.fingerprint !== fingerprint',
    replace: "fingerprint === ''",
  },
  {
    name: 'a silent owner keeps the key for ever',
    file: records,
    find: "row.state === 'claimed' && row.dueMs <= nowMs",
    replace: "row.state === 'claimed' && row.dueMs < 0",
  },
  {
    name: 'a recorded answer is overwritten',
    file: records,
    find: "row.state === 'claimed' || row.state === 'unknown'",
    replace: "row.state !== 'resolved'",
  },
  {
    name: 'the hold of a task ends with its lease',
    file: tasks,
    find: '(this.#pending.get(holdId) ?? 0) > nowMs',
    replace: '(this.#pending.get(holdId) ?? 0) < 0',
  },
  {
    name: 'a task is never given up',
    file: tasks,
    find: '(this.#pending.get(holdId) ?? 0) > nowMs',
    replace: '(this.#pending.get(holdId) ?? 0) > 0',
  },
  {
    name: 'one task stands for two holds',
    file: turn,
    find: 'tasks.ofHold(task.holdId) ?? tasks.ofId(task.provider, task.taskId)',
    replace: 'tasks.ofHold(task.holdId)',
  },
  {
    name: 'a task runs on though its hold has ended',
    file: turn,
    find: "this.#memory.tasks.close(id, 'settled', this.nowMs);",
    replace: '',
  },
  {
    name: 'an old configuration replaces a new one',
    file: core,
    find: 'config.version <= version',
    replace: 'config.version < 0',
  },
];
