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
import { accountSetting } from './domain/capacity/accounts';
import { primaryAccount } from './domain/capacity/signal';
import {
  type EgressAllowance,
  gatewayHostFault,
  parseEgressAllow,
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

const bytes = (text: string): Uint8Array => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));

/** `version:base64` pairs, comma separated, oldest first; at least 32 bytes each. */
const versioned = (versionShape: RegExp, exactBytes: number | null) =>
  z.pipe(
    z.string(),
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
          secret = new Uint8Array(bytes(encoded));
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

const list = z.pipe(
  z._default(z.string(), ''),
  z.transform((text: string) =>
    text
      .toLowerCase()
      .split(/[\s,]+/)
      .filter(Boolean),
  ),
);
const seconds = (min: number, max: number, fallback: number) =>
  z._default(z.coerce.number().check(z.int(), z.gte(min), z.lte(max)), fallback);

const schema = z
  .object({
    WEIR_ENV: z._default(z.enum(['development', 'production']), 'production'),
    OPERATOR_KEY: z.pipe(
      z.string(),
      z.transform((text: string) =>
        text
          .split(',')
          .map((k) => k.trim())
          .filter(Boolean),
      ),
    ),
    KEY_CHECK_SECRETS: versioned(/^[0-9A-Za-z]$/, null),
    MASTER_KEYS: versioned(/^[1-9][0-9]{0,5}$/, 32),
    PLATFORM_SETTINGS: z._default(z.string(), '{}'),
    PLATFORM_ACCOUNTS: z._default(z.string(), '{}'),
    GATEWAY_HOSTS: list,
    CLIENT_IP_HEADERS: list,
    ANONYMOUS_PROVIDERS: list,
    PROVIDER_RATE_ENFORCE: list,
    OVERFLOW_MODE: z._default(z.enum(['off', 'shadow', 'on']), 'off'),
    OVERFLOW_DAILY_BUDGET_USD: z._default(
      z.coerce.number().check(z.gte(0), z.lte(overflowBudgetUsdMax)),
      20,
    ),
    OVERFLOW_AGGREGATORS: z._default(z.string(), '{}'),
    EGRESS_RESOLVER: z.url({ protocol: /^https?$/ }),
    EGRESS_ALLOW: z._default(z.string(), ''),
    CONFIG_TTL_S: seconds(1, 60, 10),
    CALL_RETENTION_DAYS: seconds(1, 400, 30),
  })
  .check(
    z.superRefine((vars, ctx) => {
      const keys = vars.OPERATOR_KEY;
      const usable = keys.length >= 1 && keys.length <= 2 && keys.every((k) => k.length >= 32);
      if (!usable)
        ctx.addIssue({
          code: 'custom',
          path: ['OPERATOR_KEY'],
          message: 'wants one key, or two during rotation, of 32 characters or more',
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
      if (vars.WEIR_ENV === 'production' && !vars.EGRESS_RESOLVER.startsWith('https:'))
        ctx.addIssue({ code: 'custom', path: ['EGRESS_RESOLVER'], message: 'must be https' });
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
  const strange = gatewayHostFault(vars.GATEWAY_HOSTS);
  if (strange !== null)
    throw new EnvError(`GATEWAY_HOSTS: "${strange}" is not a host or host:port`);
  const aggregators = aggregatorsWith(vars.OVERFLOW_AGGREGATORS, {
    allow: allow.value,
    gatewayHosts: vars.GATEWAY_HOSTS,
    httpsOnly: true,
  });
  if (!aggregators.ok) throw new EnvError(`OVERFLOW_AGGREGATORS: ${aggregators.error}`);
  const settings = platformSettings(vars.PLATFORM_SETTINGS);
  const accounts = platformAccounts(vars.PLATFORM_ACCOUNTS, settings);
  return {
    development: vars.WEIR_ENV === 'development',
    operatorKeys: vars.OPERATOR_KEY,
    keyCheckSecrets: vars.KEY_CHECK_SECRETS,
    masterKeys: vars.MASTER_KEYS.map((k) => ({ version: Number(k.version), secret: k.secret })),
    platformSettings: new Map([...settings, ...accounts.settings]),
    platformAccounts: accounts.labels,
    gatewayHosts: vars.GATEWAY_HOSTS,
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

function platformSettings(text: string): ReadonlyMap<string, string> {
  try {
    return new Map(
      Object.entries(
        z.record(z.string(), z.string().check(z.minLength(1))).parse(JSON.parse(text)),
      ),
    );
  } catch {
    throw new EnvError('PLATFORM_SETTINGS: wants a JSON object of strings');
  }
}

const accountsShape = z.record(
  z.string(),
  z.record(z.string(), z.record(z.string(), z.string().check(z.minLength(1)))),
);
const labelShape = /^[a-z0-9][a-z0-9_-]{0,31}$/;

interface FurtherAccounts {
  readonly settings: ReadonlyMap<string, string>;
  readonly labels: ReadonlyMap<string, readonly string[]>;
}

/**
 * `{"provider": {"label": {"SETTING": "value"}}}`: further accounts beside the primary, whose own values are in PLATFORM_SETTINGS.
 * An account that the road could not use is a start error (digest A12); it names the account, never a value.
 */
function platformAccounts(text: string, primary: ReadonlyMap<string, string>): FurtherAccounts {
  let document: z.infer<typeof accountsShape>;
  try {
    document = accountsShape.parse(JSON.parse(text));
  } catch {
    throw new EnvError('PLATFORM_ACCOUNTS: wants {"provider": {"label": {"SETTING": "value"}}}');
  }
  const settings = new Map<string, string>();
  for (const [provider, accounts] of Object.entries(document)) {
    const labels = Object.keys(accounts);
    const refuse = (label: string, what: string): never => {
      throw new EnvError(`PLATFORM_ACCOUNTS: ${provider}/${label} ${what}`);
    };
    if (labels.length > accountsMax) refuse('*', `has more than ${accountsMax} accounts`);
    for (const [label, values] of Object.entries(accounts)) {
      if (!labelShape.test(label) || label === primaryAccount) refuse(label, 'is no usable label');
      if (Object.keys(values).length === 0) refuse(label, 'names no setting');
      for (const [setting, value] of Object.entries(values)) {
        if (!primary.has(setting)) refuse(label, `has ${setting}, which the primary account lacks`);
        const others = labels.filter((one) => one !== label).map((one) => accounts[one]?.[setting]);
        if (value === primary.get(setting) || others.includes(value))
          refuse(label, `has the same ${setting} as another account`);
        settings.set(accountSetting({ provider, label, setting }), value);
      }
    }
  }
  const labels = Object.entries(document).map(
    ([provider, accounts]) => [provider, Object.keys(accounts)] as const,
  );
  return { settings, labels: new Map(labels) };
}
