/**
 * Recorded-like answers of vendors, one a line in test/fixtures/capacity/*.jsonl, and what is to be
 * said of each. Pure: whoever reads the files gives their text. Called by the unit tests and the
 * classify proof.
 */

/** One answer. `want`: null is no signal; `waitMs` is null where it is left out. */
export interface Fixture {
  readonly name: string;
  readonly provider: string;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
  readonly request: string;
  readonly want: { readonly kind: string; readonly waitMs?: number } | null;
}

/** 2030-01-01 21:00 UTC: three hours before the next UTC midnight. */
export const fixturesNowMs = Date.UTC(2030, 0, 1, 21);

/** The answers of one file. */
export const fixturesOf = (text: string): readonly Fixture[] =>
  text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Fixture);

/** As `classify` takes it. */
export function answerOf({ provider, status, headers, body, request }: Fixture): {
  readonly provider: string;
  readonly status: number;
  readonly header: (name: string) => string | null;
  readonly bodyHead: string | null;
  readonly requestText: string;
  readonly nowMs: number;
} {
  const all = new Headers(headers);
  return {
    provider,
    status,
    header: (name) => all.get(name),
    bodyHead: body,
    requestText: request,
    nowMs: fixturesNowMs,
  };
}

/** What the fixture wants, as `classify` says it. */
export const wanted = ({ want }: Fixture): { kind: string; waitMs: number | null } | null =>
  want === null ? null : { kind: want.kind, waitMs: want.waitMs ?? null };

// ── the contract of accounts and rows ──

/** What a provider's file of the catalog says here. */
export interface AccountOwner {
  readonly provider: string;
  readonly accounts?: readonly unknown[];
}

/**
 * Why the table does not know its vendors: a platform account without row or acknowledged gap, a
 * gap that a row has closed, one without a reason. Empty: the contract holds.
 */
export function contractFaults(
  owners: readonly AccountOwner[],
  rows: readonly { readonly provider: string }[],
  gaps: Readonly<Record<string, string>>,
): readonly string[] {
  const known = new Set(rows.map(({ provider }) => provider));
  const missing = owners
    .filter(({ accounts }) => accounts !== undefined && accounts.length > 0)
    .filter(({ provider }) => !known.has(provider) && !Object.hasOwn(gaps, provider))
    .map(({ provider }) => `${provider} has an account, and neither a row nor a gap`);
  const stale = Object.entries(gaps).flatMap(([provider, reason]) => [
    ...(known.has(provider) ? [`${provider} is a gap, and has a row`] : []),
    ...(reason.trim() === '' ? [`${provider} is a gap without a reason`] : []),
  ]);
  return [...missing, ...stale];
}
