/**
 * Aggregators: services that relay calls of many vendors on an account of the operator's there, as data.
 * Promises: the order is the order of preference; a base URL that replaces the usual one is judged by the egress rules, since the
 * operator's key is sent there. Must never: hold a key; `setting` names it in PLATFORM_SETTINGS. Pure.
 * Called by `env.ts` (parses OVERFLOW_AGGREGATORS), the road, the sweep and the jobs.
 */
import { err, ok, type Result } from '../../base/result';
import type { EgressPolicy } from '../egress/allowance';
import { parseTarget } from '../egress/target-url';

/** How an aggregator spells a run: `api_path` posts {api, path, query, body}, `provider_endpoint` {provider, endpoint, input}. */
export type EnvelopeDialect = 'api_path' | 'provider_endpoint';

/** A member of the envelope that says what a run cost, and what one of its units is, micro-USD. */
export interface CostField {
  /** A path of `base/json-path.ts`. */
  readonly at: string;
  readonly unitMicros: number;
}

/** One aggregator. */
export interface Aggregator {
  readonly name: string;
  readonly dialect: EnvelopeDialect;
  /** Without a slash at its end. */
  readonly baseUrl: string;
  /** Names its key in PLATFORM_SETTINGS. */
  readonly setting: string;
  /** The first that holds an amount counts. */
  readonly costs: readonly CostField[];
}

const cent = 10_000;
const dollar = 1_000_000;

/** The aggregators that Weir speaks to, the preferred one first. Sources: docs.orthogonal.com (API reference), docs.monid.ai (Run, Runs). */
export const usualAggregators: readonly Aggregator[] = [
  {
    name: 'orthogonal',
    dialect: 'api_path',
    baseUrl: 'https://api.orthogonal.com/v1',
    setting: 'OVERFLOW_KEY_ORTHOGONAL',
    costs: [
      { at: 'priceCents', unitMicros: cent },
      { at: 'price', unitMicros: dollar },
    ],
  },
  {
    name: 'monid',
    dialect: 'provider_endpoint',
    baseUrl: 'https://api.monid.ai/v1',
    setting: 'OVERFLOW_KEY_MONID',
    costs: [{ at: 'cost.value', unitMicros: dollar }],
  },
];

/** The aggregator of that name among these. */
export const aggregatorNamed = (
  aggregators: readonly Aggregator[],
  name: string,
): Aggregator | null => aggregators.find((each) => each.name === name) ?? null;

/** The provider whose capacity object keeps an aggregator's marks and readings. */
export const overflowProvider = (aggregator: string): string => `overflow:${aggregator}`;

/** Name and value of the header that carries the operator's key. */
export const authHeader = (key: string): readonly [name: string, value: string] => [
  'authorization',
  `Bearer ${key}`,
];

/**
 * The aggregators with the base URLs that `text` replaces: JSON, `{"monid": {"base_url": "https://…"}}`. The error says what is wrong with
 * which name, never a value.
 */
export function aggregatorsWith(
  text: string,
  policy: EgressPolicy,
): Result<readonly Aggregator[], string> {
  const given = overridesIn(text);
  if (!given.ok) return given;
  const unknown = [...given.value.keys()].find(
    (name) => aggregatorNamed(usualAggregators, name) === null,
  );
  if (unknown !== undefined) return err('names an aggregator that is not known');
  const made: Aggregator[] = [];
  for (const usual of usualAggregators) {
    const raw = given.value.get(usual.name);
    const baseUrl = raw === undefined ? usual.baseUrl : judgedBase(raw, policy);
    if (baseUrl === null) return err(`${usual.name}: base_url is no https URL that may be called`);
    made.push({ ...usual, baseUrl });
  }
  return ok(made);
}

function judgedBase(raw: string, policy: EgressPolicy): string | null {
  const target = parseTarget(raw, policy);
  if (!target.ok || /[?{}%\\]|\/\.{1,2}(?:\/|$)/.test(target.value.rest)) return null;
  return `${target.value.scheme}://${target.value.authority}${target.value.rest.replace(/\/$/, '')}`;
}

function overridesIn(text: string): Result<ReadonlyMap<string, string>, string> {
  const wanted = 'wants a JSON object of {"name": {"base_url": "…"}}';
  const found = new Map<string, string>();
  for (const [name, value] of Object.entries(objectIn(text) ?? { '': null })) {
    const entries = typeof value === 'object' && value !== null ? Object.entries(value) : [];
    const [key, url] = entries[0] ?? [];
    if (entries.length !== 1 || key !== 'base_url' || typeof url !== 'string') return err(wanted);
    found.set(name, url);
  }
  return ok(found);
}

function objectIn(text: string): object | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}
