/**
 * The real budget object, in workerd, against a model that is too simple to be wrong: a map of reservations. Promises: seeds are printed.
 * Called by test/proofs/overflow.ts.
 */
import { convertV4MiniflareOptions, Miniflare } from 'miniflare';
import { readWranglerConfig } from '../../../scripts/lib/wrangler-config.ts';
import type { CloseAnswer, ReserveAnswer } from '../../../src/domain/overflow/budget.ts';
import { drawer } from '../../support/drawer.ts';
import { holds, type Row, same } from '../../support/proof.ts';

/** The object as Node sees it. */
interface BudgetLike {
  reserve(id: string, estimateMicros: number, budgetMicros: number): Promise<ReserveAnswer>;
  reconcile(id: string, actualMicros: number): Promise<CloseAnswer>;
  giveBack(id: string): Promise<CloseAnswer>;
  view(day: string): Promise<{
    readonly spentMicros: number;
    readonly reservedMicros: number;
    readonly calls: number;
  }>;
}

const usd = 1_000_000;
const budgetMicros = 20 * usd;

/** Objects of the built bundle. */
export class Budgets {
  readonly #miniflare: Miniflare;
  #made = 0;

  private constructor(miniflare: Miniflare) {
    this.#miniflare = miniflare;
  }

  static async start(): Promise<Budgets> {
    const { compatibilityDate, compatibilityFlags } = readWranglerConfig();
    const miniflare = new Miniflare(
      convertV4MiniflareOptions({
        modules: true,
        scriptPath: 'dist/worker.js',
        compatibilityDate,
        compatibilityFlags: [...compatibilityFlags],
        durableObjects: { OVERFLOW_BUDGET: { className: 'OverflowBudget', useSQLite: true } },
        cf: false,
      } as Parameters<typeof convertV4MiniflareOptions>[0]),
    );
    await miniflare.ready;
    return new Budgets(miniflare);
  }

  /** A budget of its own. */
  async one(): Promise<BudgetLike> {
    const objects = await this.#miniflare.getDurableObjectNamespace('OVERFLOW_BUDGET');
    this.#made += 1;
    return objects.get(objects.idFromName(`aggregator-${this.#made}`)) as unknown as BudgetLike;
  }

  dispose(): Promise<void> {
    return this.#miniflare.dispose();
  }
}

/** A run that crosses midnight would be about two days. */
async function withinOneDay<T>(work: (day: string) => Promise<T>): Promise<T> {
  const day = (): string => new Date().toISOString().slice(0, 10);
  for (;;) {
    const before = day();
    const result = await work(before).catch((fault: unknown) => ({ fault }));
    if (day() !== before) continue;
    if (typeof result === 'object' && result !== null && 'fault' in result) throw result.fault;
    return result as T;
  }
}

const fiveRow = (budgets: Budgets): Row => ({
  name: 'C081: budget 20, estimate 8, five at once: two reserved, three refused before the network',
  run: () =>
    withinOneDay(async (day) => {
      const one = await budgets.one();
      const ids = ['a', 'b', 'c', 'd', 'e'];
      const answers = await Promise.all(ids.map((id) => one.reserve(id, 8 * usd, budgetMicros)));
      const reserved = ids.filter((_, i) => answers[i]?.outcome === 'reserved');
      same(reserved.length, 2, 'reserved');
      same((await one.view(day)).reservedMicros, 16 * usd, 'reserved micros');
      // The first is never told, the second was not charged.
      same(await one.giveBack(reserved[1] ?? ''), 'done', 'given back');
      same((await one.view(day)).reservedMicros, 8 * usd, 'what is not known stays');
      same((await one.reserve('f', 12 * usd, budgetMicros)).outcome, 'reserved', 'what is left');
      same((await one.reserve('g', 1, budgetMicros)).outcome, 'refused', 'no more');
    }),
});

type Reservation = { estimate: number; state: 'open' | 'reconciled' | 'returned' | 'refused' };

/** The books that an object has to have. */
class Model {
  readonly all = new Map<string, Reservation>();
  spent = 0;
  calls = 0;

  reserved(): number {
    return [...this.all.values()].reduce(
      (sum, { estimate, state }) => sum + (state === 'open' ? estimate : 0),
      0,
    );
  }

  reserve(id: string, estimate: number): 'reserved' | 'refused' {
    const first = this.all.get(id);
    if (first !== undefined)
      return first.state === 'open' || first.state === 'reconciled' ? 'reserved' : 'refused';
    const fits = this.spent + this.reserved() + estimate <= budgetMicros;
    this.all.set(id, { estimate, state: fits ? 'open' : 'refused' });
    return fits ? 'reserved' : 'refused';
  }

  close(id: string, actual: number | null): CloseAnswer {
    const found = this.all.get(id);
    if (found === undefined) {
      if (actual === null) this.all.set(id, { estimate: 0, state: 'returned' });
      return 'unknown';
    }
    if (found.state !== 'open') return 'closed';
    found.state = actual === null ? 'returned' : 'reconciled';
    this.spent += actual ?? 0;
    this.calls += actual === null ? 0 : 1;
    return 'done';
  }
}

async function history(one: BudgetLike, seed: number, steps: number, day: string): Promise<number> {
  const draw = drawer(seed);
  const model = new Model();
  let over = 0;
  for (let step = 0; step < steps; step += 1) {
    const id = `r${Math.floor(draw() * steps * 0.6)}`;
    const what = draw();
    const micros = Math.floor(draw() * 6 * usd);
    const where = `seed ${seed}, step ${step}`;
    if (what < 0.6) {
      const before = model.spent + model.reserved();
      const { outcome } = await one.reserve(id, micros, budgetMicros);
      same(outcome, model.reserve(id, micros), where);
      const grown = model.spent + model.reserved() - before;
      holds(grown === 0 || before + grown <= budgetMicros, `${where}: above the budget`);
    } else if (what < 0.85) same(await one.reconcile(id, micros), model.close(id, micros), where);
    else same(await one.giveBack(id), model.close(id, null), where);
    if (model.spent > budgetMicros) over += 1;
  }
  const { spentMicros, reservedMicros, calls } = await one.view(day);
  same([spentMicros, reservedMicros, calls], [model.spent, model.reserved(), model.calls], 'books');
  return over;
}

const modelRow = (budgets: Budgets, count: number): Row => ({
  name: `${count} histories of reservations, ends, repeats and reordered messages agree with the model`,
  run: async () => {
    for (let seed = 1; seed <= count; seed += 1)
      await withinOneDay(async (day) => history(await budgets.one(), seed, 60, day));
    return `seeds 1 to ${count}`;
  },
});

const rushRow = (budgets: Budgets): Row => ({
  name: 'of 200 reservations at once, each sent twice, never more is reserved than the budget',
  run: () =>
    withinOneDay(async (day) => {
      const one = await budgets.one();
      const draw = drawer(7);
      const sizes = Array.from({ length: 200 }, () => 1 + Math.floor(draw() * usd));
      const answers = await Promise.all(
        [...sizes, ...sizes].map((micros, i) => one.reserve(`r${i % 200}`, micros, budgetMicros)),
      );
      const outcomes = answers.map(({ outcome }) => outcome);
      same(outcomes.slice(0, 200), outcomes.slice(200), 'repeats');
      const sum = sizes.reduce(
        (all, micros, i) => all + (outcomes[i] === 'reserved' ? micros : 0),
        0,
      );
      same((await one.view(day)).reservedMicros, sum, 'reserved');
      holds(sum <= budgetMicros && sum > budgetMicros - usd, `reserved ${sum}`);
      return `${outcomes.filter((outcome) => outcome === 'reserved').length / 2} reserved`;
    }),
});

export const budgetRows = (budgets: Budgets, short: boolean): readonly Row[] => [
  fiveRow(budgets),
  rushRow(budgets),
  modelRow(budgets, short ? 4 : 60),
];
