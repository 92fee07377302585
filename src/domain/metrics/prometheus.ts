/**
 * The totals as Prometheus reads them (text format 0.0.4).
 * Promises: buckets are cumulative and end in `+Inf`; one HELP and TYPE a metric; a metric that nothing was counted for shows no sample,
 * but for those without labels, which are 0. Pure. Called by the `/metrics` route.
 */
import { bucketLabels } from './count-call';
import { type Counts, type Family, type FamilyId, families, seriesParts } from './series';

type Sample = readonly [values: readonly string[], count: number];

/** The whole page. */
export function prometheusText(counts: Counts): string {
  const samples = new Map<FamilyId, Sample[]>();
  for (const [series, count] of Object.entries(counts)) {
    const parts = seriesParts(series);
    if (parts === null) continue;
    const of = samples.get(parts.id) ?? [];
    of.push([parts.values, count]);
    samples.set(parts.id, of);
  }
  const lines: string[] = [];
  for (const [id, family] of Object.entries(families) as [FamilyId, Family][]) {
    const own = samples.get(id) ?? [];
    if (id === 'duration') lines.push(...histogram(family, own, samples.get('latency') ?? []));
    else if (id !== 'latency') lines.push(...counter(family, own));
  }
  return `${lines.join('\n')}\n`;
}

const head = ({ name, help }: Family, type: string): readonly string[] => [
  `# HELP ${name} ${help}`,
  `# TYPE ${name} ${type}`,
];

function counter(family: Family, samples: readonly Sample[]): readonly string[] {
  const known: readonly Sample[] =
    samples.length === 0 && family.labels.length === 0 ? [[[], 0]] : samples;
  const lines = known.map(
    ([values, count]) => `${family.name}${labelled(family.labels, values)} ${count}`,
  );
  return [...head(family, 'counter'), ...lines.sort()];
}

function histogram(
  family: Family,
  buckets: readonly Sample[],
  sums: readonly Sample[],
): readonly string[] {
  const lines: string[] = [];
  const tiers = [...new Set(buckets.map(([[tier = '']]) => tier))].sort();
  for (const tier of tiers) {
    let total = 0;
    for (const le of bucketLabels) {
      const own = buckets.find(([values]) => values[0] === tier && values[1] === le);
      total += own?.[1] ?? 0;
      lines.push(`${family.name}_bucket${labelled(family.labels, [tier, le])} ${total}`);
    }
    const sumMs = sums.find(([values]) => values[0] === tier)?.[1] ?? 0;
    lines.push(`${family.name}_sum${labelled(['tier'], [tier])} ${sumMs / 1_000}`);
    lines.push(`${family.name}_count${labelled(['tier'], [tier])} ${total}`);
  }
  return [...head(family, 'histogram'), ...lines];
}

/** `{tier="4",le="0.1"}`; values have no character that would have to be escaped. */
const labelled = (names: readonly string[], values: readonly string[]): string =>
  names.length === 0 ? '' : `{${names.map((name, at) => `${name}="${values[at]}"`).join(',')}}`;
