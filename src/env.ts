/**
 * The environment: bindings, vars and secrets, validated once per isolate.
 * Promises: fails closed; an unusable value is a start error that names the variable, never its value. Called by `wiring.ts` only.
 */
import * as z from 'zod/mini';
import type { MetricsHub } from '../durable-objects/metrics-hub';
import type { OrgLedger } from '../durable-objects/org-ledger';
import type { OverflowBudget } from '../durable-objects/overflow-budget';
import type { ProviderCapacity } from '../durable-objects/provider-capacity';
import type { CheckSecrets } from './adapters/vault/token-check';
import { accountsMax, overflowBudgetUsdMax } from './base/limits-capacity';
import { bytesOfBase64 } from './base/text-codings';
import { accountSetting } from './domain/capacity/accounts';
import { primaryAccount } from './domain/capacity/signal';
import {
  type EgressAllowance,
  parseEgressAllow,
  parseGatewayHosts,
} from './domain/egress/allowance';
import { type Aggregator, aggregatorsWith } from './domain/overflow/aggregators';
import type { OverflowMode } from './domain/overflow/child';

/** What wrangler gives us. Object bindings are added by the classes that need them. */
export interface Bindings {
  readonly DB: D1Database;
  /** One object per ledger tenant. */
  readonly LEDGER: DurableObjectNamespace<OrgLedger>;
  /** One object per provider, and per aggregator as `overflow:<name>`. */
  readonly CAPACITY: DurableObjectNamespace<ProviderCapacity>;
  /** The shards of what `/metrics` shows. */
  readonly METRICS: DurableObjectNamespace<MetricsHub>;
  /** One object per aggregator. */
  readonly OVERFLOW_BUDGET: DurableObjectNamespace<OverflowBudget>;
  /** Optional: settlements that an object does not take wait in this queue instead of in the isolate. */
  readonly SETTLEMENTS?: Queue<unknown>;
  /** Optional: the call log goes through this queue instead of straight into D1. */
  readonly CALL_QUEUE?: Queue<unknown>;
  /** Recorded answers above 256 KiB; without it such an answer is not kept, and a repeat of its key is refused as unknown. */
  readonly RECORDS?: R2Bucket;
  readonly [name: string]: unknown;
}

/** `version:base64` pairs, comma separated, oldest first; at least 32 bytes each. */
const versioned = (versionShape: RegExp, exactBytes: number | null) =>
  z.pipe(
    needed,
    z.transform((text: string, ctx) => {
      const refuse = (message: string) => ctx.issues.push({ code: 'custom', message, input: '' });
      const out: { version: string; secret: Uint8Array }[] = [];
      for (const part of text
        .split(',')
        .map((p) => p.trim())
        .filter(Boolean)) {
        const [version = '', encoded = ''] = [
          part.slice(0, part.indexOf(':')),
          part.slice(part.indexOf(':') + 1),
        ];
        let secret = new Uint8Array();
        try {
          secret = bytesOfBase64(encoded);
        } catch {
          refuse('is not base64');
        }
        const sized = exactBytes === null ? secret.length >= 32 : secret.length === exactBytes;
        if (!versionShape.test(version) || !sized) refuse('wants version:base64 pairs of 32 bytes');
        if (out.some((o) => o.version === version)) refuse('names a version twice');
        out.push({ version, secret });
      }
      if (out.length === 0) refuse('is empty');
      return out;
    }),
  );

const needed = z.string('is missing');

/** A list, lower-case, of words that fit `shape`: one that could never apply would be a protection that is not there. */
const list = (shape: RegExp, wants: string) =>
  z.pipe(
    z._default(z.string(wants), ''),
    z.transform((text: string, ctx) => {
      const words = text
        .toLowerCase()
        .split(/[\s,]+/)
        .filter(Boolean);
      if (!words.every((word) => shape.test(word)))
        ctx.issues.push({ code: 'custom', message: wants, input: '' });
      return words;
    }),
  );

/** RFC 9110 section 5.6.2, lower-case. */
const fieldName = /^[!#$%&'*+.^_`|~0-9a-z-]+$/;
const providerSlug = /^[a-z0-9][a-z0-9_-]*$/;
const rateBucket = /^[a-z0-9][a-z0-9_-]*(?:\.[a-z0-9][a-z0-9_-]*)*$/;

interface Bounds {
  readonly min: number;
  readonly max: number;
  readonly whole: boolean;
}

/** A plain decimal number. An empty text is none: `Number` would read it as 0. */
const amount = ({ min, max, whole }: Bounds, fallback: number) =>
  z._default(
    z.transform((given: unknown, ctx) => {
      const text = String(given);
      const value = /^[0-9]+(?:\.[0-9]+)?$/.test(text.trim()) ? Number(text) : Number.NaN;
      if (value >= min && value <= max && (!whole || Number.isInteger(value))) return value;
      const message = `wants a ${whole ? 'whole ' : ''}number from ${min} to ${max}`;
      ctx.issues.push({ code: 'custom', message, input: '' });
      return fallback;
    }),
    fallback,
  );

/** What an Authorization header can carry. */
const keyShape = /^[\x21-\x7e]{32,}$/;

const settingsWanted = 'wants a JSON object of strings, none of them empty';
const accountsWanted = 'wants {"provider": {"label": {"SETTING": "value"}}}';

const schema = z
  .object({
    WEIR_ENV: z._default(
      z.enum(['development', 'production'], 'wants production or development'),
      'production',
    ),
    OPERATOR_KEY: z.pipe(
      needed,
      z.transform((text: string) =>
        text
          .split(',')
          .map((k) => k.trim())
          .filter(Boolean),
      ),
    ),
    KEY_CHECK_SECRETS: versioned(/^[0-9A-Za-z]$/, null),
    MASTER_KEYS: versioned(/^[1-9][0-9]{0,5}$/, 32),
    GATEWAY_HOSTS: z._default(z.string('wants host names'), ''),
    CLIENT_IP_HEADERS: list(fieldName, 'wants header names'),
    ANONYMOUS_PROVIDERS: list(providerSlug, 'wants slugs of providers'),
    PROVIDER_RATE_ENFORCE: list(rateBucket, 'wants slugs of providers and catalog ids'),
    OVERFLOW_MODE: z._default(z.enum(['off', 'shadow', 'on'], 'wants off, shadow or on'), 'off'),
    OVERFLOW_DAILY_BUDGET_USD: amount({ min: 0, max: overflowBudgetUsdMax, whole: false }, 20),
    OVERFLOW_AGGREGATORS: z._default(z.string('wants a JSON object'), '{}'),
    EGRESS_RESOLVER: needed,
    EGRESS_ALLOW: z._default(z.string('wants host:port pairs'), ''),
    CONFIG_TTL_S: amount({ min: 1, max: 60, whole: true }, 10),
    CALL_RETENTION_DAYS: amount({ min: 1, max: 400, whole: true }, 30),
  })
  .check(
    z.superRefine((vars, ctx) => {
      const keys = vars.OPERATOR_KEY;
      const usable = keys.length >= 1 && keys.length <= 2 && keys.every((k) => keyShape.test(k));
      if (!usable)
        ctx.addIssue({
          code: 'custom',
          path: ['OPERATOR_KEY'],
          message:
            'wants one key, or two during rotation, of 32 or more ASCII characters without spaces',
        });
      const masters = vars.MASTER_KEYS.map(({ version }) => Number(version));
      // The last one seals; a rotation looks for lower versions: in another order it finds none and says that it has ended.
      if (masters.some((version, at) => version <= (masters[at - 1] ?? 0)))
        ctx.addIssue({
          code: 'custom',
          path: ['MASTER_KEYS'],
          message: 'wants versions that rise, the newest last',
        });
      if (vars.WEIR_ENV === 'production' && vars.EGRESS_ALLOW.trim() !== '')
        ctx.addIssue({
          code: 'custom',
          path: ['EGRESS_ALLOW'],
          message: 'is for development only',
        });
      const schemes = vars.WEIR_ENV === 'production' ? /^https:$/ : /^https?:$/;
      if (!schemes.test(URL.parse(vars.EGRESS_RESOLVER)?.protocol ?? ''))
        ctx.addIssue({ code: 'custom', path: ['EGRESS_RESOLVER'], message: 'wants an https URL' });
    }),
  );

/** The parsed environment. Times are milliseconds. */
export interface Env {
  readonly development: boolean;
  readonly operatorKeys: readonly string[];
  readonly keyCheckSecrets: CheckSecrets;
  readonly masterKeys: readonly { readonly version: number; readonly secret: Uint8Array }[];
  /** Values by name; those of further accounts under `accountSetting`. */
  readonly platformSettings: ReadonlyMap<string, string>;
  /** Labels of the further accounts of a provider, in order. */
  readonly platformAccounts: ReadonlyMap<string, readonly string[]>;
  readonly gatewayHosts: readonly string[];
  readonly clientIpHeaders: readonly string[];
  /** Slugs of catalog providers that may be called without any credential. */
  readonly anonymousProviders: readonly string[];
  /** Buckets (provider or catalog id) whose declared rate refuses when its window is full. */
  readonly rateEnforced: readonly string[];
  readonly overflow: OverflowEnv;
  readonly egressResolver: string;
  readonly egressAllow: EgressAllowance;
  readonly configTtlMs: number;
  readonly callRetentionMs: number;
}

/** How calls overflow to aggregators. */
export interface OverflowEnv {
  readonly mode: OverflowMode;
  /** Of one aggregator and UTC day, micro-USD. */
  readonly dailyBudgetMicros: number;
  readonly aggregators: readonly Aggregator[];
}

/** A start error: which variable, what is wrong with it; never the value. */
export class EnvError extends Error {
  override readonly name = 'EnvError';
}

/** Parses the environment or throws {@link EnvError}. */
export function parseEnv(bindings: Bindings): Env {
  const parsed = schema.safeParse(bindings);
  if (!parsed.success) {
    throw new EnvError(
      parsed.error.issues.map((i) => `${i.path.join('.')}: ${i.message}`).join('; '),
    );
  }
  const vars = parsed.data;
  const allow = parseEgressAllow(vars.EGRESS_ALLOW);
  if (!allow.ok) throw new EnvError(`EGRESS_ALLOW: ${allow.error}`);
  const gatewayHosts = parseGatewayHosts(vars.GATEWAY_HOSTS);
  if (!gatewayHosts.ok) throw new EnvError(`GATEWAY_HOSTS: ${gatewayHosts.error}`);
  const aggregators = aggregatorsWith(vars.OVERFLOW_AGGREGATORS, {
    allow: allow.value,
    gatewayHosts: gatewayHosts.value,
    httpsOnly: true,
  });
  if (!aggregators.ok) throw new EnvError(`OVERFLOW_AGGREGATORS: ${aggregators.error}`);
  const settings = platformSettings(partsOf(bindings, 'PLATFORM_SETTINGS'));
  const accounts = platformAccounts(partsOf(bindings, 'PLATFORM_ACCOUNTS'), settings);
  return {
    development: vars.WEIR_ENV === 'development',
    operatorKeys: vars.OPERATOR_KEY,
    keyCheckSecrets: vars.KEY_CHECK_SECRETS,
    masterKeys: vars.MASTER_KEYS.map((k) => ({ version: Number(k.version), secret: k.secret })),
    platformSettings: new Map([...settings, ...accounts.settings]),
    platformAccounts: accounts.labels,
    gatewayHosts: gatewayHosts.value,
    clientIpHeaders: vars.CLIENT_IP_HEADERS,
    anonymousProviders: vars.ANONYMOUS_PROVIDERS,
    rateEnforced: vars.PROVIDER_RATE_ENFORCE,
    overflow: {
      mode: vars.OVERFLOW_MODE,
      dailyBudgetMicros: Math.round(1_000_000 * vars.OVERFLOW_DAILY_BUDGET_USD),
      aggregators: aggregators.value,
    },
    egressResolver: vars.EGRESS_RESOLVER,
    egressAllow: allow.value,
    configTtlMs: vars.CONFIG_TTL_S * 1000,
    callRetentionMs: vars.CALL_RETENTION_DAYS * 86_400_000,
  };
}

/** One of the secrets that make up a document. */
type Part = readonly [name: string, text: unknown];

/** `NAME` and whatever is called `NAME_…`: one secret of the platform has 5 KB, which some dozens of credentials fill. */
const partsOf = (bindings: Bindings, name: string): readonly Part[] =>
  Object.entries(bindings).filter(
    ([part, text]) => text !== undefined && (part === name || part.startsWith(`${name}_`)),
  );

/** The members of all parts; a name that two of them have is a start error: one would be passed over. */
function membersOf<T>(
  parts: readonly Part[],
  shape: z.ZodMiniType<T>,
  wants: string,
): ReadonlyMap<string, T> {
  const members = new Map<string, T>();
  for (const [part, text] of parts) {
    let given: Readonly<Record<string, T>>;
    try {
      given = z.record(z.string(), shape).parse(JSON.parse(z.string().parse(text)));
    } catch {
      throw new EnvError(`${part}: ${wants}`);
    }
    for (const [name, member] of Object.entries(given)) {
      // Not repeated: what stands where a name is wanted may be a value.
      if (members.has(name)) throw new EnvError(`${part}: has a name that another part has`);
      members.set(name, member);
    }
  }
  return members;
}

const filled = z.string().check(z.minLength(1));

const platformSettings = (parts: readonly Part[]): ReadonlyMap<string, string> =>
  membersOf(parts, filled, settingsWanted);

const accountsShape = z.record(z.string(), z.record(z.string(), filled));
const labelShape = /^[a-z0-9][a-z0-9_-]{0,31}$/;
/** As the catalog's `accounts` name them. */
const settingShape = /^[A-Z][A-Z0-9_]*$/;

function refuseAccount(where: string, what: string): never {
  throw new EnvError(`PLATFORM_ACCOUNTS: ${where} ${what}`);
}

interface FurtherAccounts {
  readonly settings: ReadonlyMap<string, string>;
  readonly labels: ReadonlyMap<string, readonly string[]>;
}

/**
 * `{"provider": {"label": {"SETTING": "value"}}}`: further accounts beside the primary, whose own values are in PLATFORM_SETTINGS.
 * An account that the road could not use is a start error (digest A12); it names the account, never a value.
 */
function platformAccounts(
  parts: readonly Part[],
  primary: ReadonlyMap<string, string>,
): FurtherAccounts {
  const document = membersOf(parts, accountsShape, accountsWanted);
  const settings = new Map<string, string>();
  for (const [provider, accounts] of document) {
    const labels = Object.keys(accounts);
    // What has no shape of a name may be a value in the wrong place: it is not repeated.
    if (!providerSlug.test(provider)) refuseAccount('a provider', 'has no usable slug');
    if (labels.length > accountsMax)
      refuseAccount(provider, `has more than ${accountsMax} accounts`);
    for (const [label, values] of Object.entries(accounts)) {
      if (!labelShape.test(label)) refuseAccount(provider, 'has an account with no usable label');
      const account = `${provider}/${label}`;
      if (label === primaryAccount) refuseAccount(account, 'has the label of the primary account');
      if (Object.keys(values).length === 0) refuseAccount(account, 'names no setting');
      for (const [setting, value] of Object.entries(values)) {
        if (!settingShape.test(setting)) refuseAccount(account, 'has no usable name of a setting');
        if (!primary.has(setting))
          refuseAccount(account, `has ${setting}, which the primary account lacks`);
        const others = labels.filter((one) => one !== label).map((one) => accounts[one]?.[setting]);
        if (value === primary.get(setting) || others.includes(value))
          refuseAccount(account, `has the same ${setting} as another account`);
        settings.set(accountSetting({ provider, label, setting }), value);
      }
    }
  }
  const labels = [...document].map(
    ([provider, accounts]) => [provider, Object.keys(accounts)] as const,
  );
  return { settings, labels: new Map(labels) };
}
