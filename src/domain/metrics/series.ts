/**
 * Series: what is counted, under which labels, and the counts of many calls together.
 * Promises: labels are bounded: words of our own tables, at most `metricsNamesMax` names of vendors and aggregators, else `other`; adding
 * is all that ever happens to a count. Must never: take a tenant, a path, a host or a text of a caller into a label. Pure.
 * Called by the isolates' tally, by `durable-objects/metrics-hub.ts` and by whoever prints the totals.
 */
import { metricsNamesMax, metricsSeriesMax } from '../../base/limits-capacity';

/** One metric. `isNamed`: its first label is the name of a vendor or an aggregator. */
export interface Family {
  readonly name: string;
  readonly help: string;
  readonly labels: readonly string[];
  readonly isNamed?: true;
}

/** Every counter; `duration` and `latency` together are the histogram. Milliseconds, bytes, micro-USD. */
export const families = {
  calls: {
    name: 'weir_calls_total',
    help: 'Finished calls.',
    labels: ['surface', 'outcome', 'blame', 'tier', 'status_class'],
  },
  duration: {
    name: 'weir_call_duration_seconds',
    help: 'From the request to the end of the call.',
    labels: ['tier', 'le'],
  },
  latency: { name: 'weir_call_duration_seconds_sum', help: '', labels: ['tier'] },
  cost: {
    name: 'weir_cost_micro_usd_total',
    help: 'What callers were charged, micro-USD.',
    labels: ['provider'],
    isNamed: true,
  },
  refusals: {
    name: 'weir_refusals_total',
    help: 'Calls that Weir refused, by problem code.',
    labels: ['code'],
  },
  answers: {
    name: 'weir_vendor_answers_total',
    help: 'Answers of vendors of the catalog: with what was asked for, without it, or no success.',
    labels: ['provider', 'outcome'],
    isNamed: true,
  },
  signals: {
    name: 'weir_capacity_signals_total',
    help: 'Answers that said something of the capacity of an account of ours.',
    labels: ['provider', 'kind'],
    isNamed: true,
  },
  overflow: {
    name: 'weir_overflow_total',
    help: 'Child calls that went to an aggregator.',
    labels: ['aggregator', 'outcome'],
    isNamed: true,
  },
  sent: {
    name: 'weir_request_bytes_total',
    help: 'Declared lengths of request bodies.',
    labels: [],
  },
  received: {
    name: 'weir_response_bytes_total',
    help: 'Bytes of answers that were counted: those of upstreams with track_body, and of metered streams.',
    labels: [],
  },
  fail_open: {
    name: 'weir_fail_open_total',
    help: 'Protections that did not answer, so that calls went on without them.',
    labels: ['what'],
  },
} as const satisfies Record<string, Family>;

/** The name of a family in code. */
export type FamilyId = keyof typeof families;

/** Counts as they travel: a series is `<family>|<label values joined by commas>`. */
export type Counts = Readonly<Record<string, number>>;

/** What may stand in a label; anything else is `other`. */
const labelShape = /^[a-z0-9+][a-z0-9_.:-]{0,79}$/i;

/** A value as a label: `none` when there is none. */
export const label = (value: string | null): string =>
  value === null ? 'none' : labelShape.test(value) ? value : 'other';

/** Family and label values of a series; null: it is none of ours. */
export function seriesParts(
  series: string,
): { readonly id: FamilyId; readonly values: readonly string[] } | null {
  const at = series.indexOf('|');
  const id = series.slice(0, at);
  if (!isFamily(id)) return null;
  const text = series.slice(at + 1);
  const values = text === '' ? [] : text.split(',');
  const fits = values.length === families[id].labels.length && values.every((v) => label(v) === v);
  return fits ? { id, values } : null;
}

const isFamily = (id: string): id is FamilyId => Object.hasOwn(families, id);

/** Counts of many calls. */
export class Totals {
  readonly #counts = new Map<string, number>();
  readonly #names = new Set<string>();

  get isEmpty(): boolean {
    return this.#counts.size === 0;
  }

  /** Adds to one series of our own making. */
  add(series: string, by: number): void {
    const before = this.#counts.get(series);
    if (before !== undefined) this.#counts.set(series, before + by);
    else this.#start(series, by);
  }

  /** Adds what somebody else counted; what is no count is left out. */
  merge(counts: Counts): void {
    for (const [series, by] of Object.entries(counts)) {
      if (Number.isSafeInteger(by) && by > 0 && seriesParts(series) !== null) this.add(series, by);
    }
  }

  list(): Counts {
    return Object.fromEntries(this.#counts);
  }

  /** Gives what was counted, and begins anew. */
  take(): Counts {
    const counts = this.list();
    this.#counts.clear();
    this.#names.clear();
    return counts;
  }

  #start(series: string, by: number): void {
    if (this.#counts.size >= metricsSeriesMax) return;
    const bounded = this.#bounded(series);
    this.#counts.set(bounded, (this.#counts.get(bounded) ?? 0) + by);
  }

  /** The series, or that of `other` when its name is one too many. */
  #bounded(series: string): string {
    const parts = seriesParts(series);
    if (parts === null) return series;
    const family: Family = families[parts.id];
    const [name = '', ...rest] = parts.values;
    if (family.isNamed !== true || name === 'other' || this.#names.has(name)) return series;
    if (this.#names.size < metricsNamesMax) {
      this.#names.add(name);
      return series;
    }
    return `${parts.id}|${['other', ...rest].join(',')}`;
  }
}
