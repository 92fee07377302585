/**
 * The environment: bindings, vars and secrets, validated once per isolate.
 * Promises: fails closed; an unusable value is a start error that names the variable, never its value. Called by `wiring.ts` only.
 */
import * as z from 'zod/mini';
import type { OrgLedger } from '../durable-objects/org-ledger';
import type { CheckSecrets } from './adapters/vault/token-check';
import { type EgressAllowance, parseEgressAllow } from './domain/egress/allowance';

/** What wrangler gives us. Object bindings are added by the classes that need them. */
export interface Bindings {
  readonly DB: D1Database;
  /** One object per ledger tenant. */
  readonly LEDGER: DurableObjectNamespace<OrgLedger>;
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
    GATEWAY_HOSTS: list,
    CLIENT_IP_HEADERS: list,
    ANONYMOUS_PROVIDERS: list,
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
  readonly platformSettings: ReadonlyMap<string, string>;
  readonly gatewayHosts: readonly string[];
  readonly clientIpHeaders: readonly string[];
  /** Slugs of catalog providers that may be called without any credential. */
  readonly anonymousProviders: readonly string[];
  readonly egressResolver: string;
  readonly egressAllow: EgressAllowance;
  readonly configTtlMs: number;
  readonly callRetentionMs: number;
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
  return {
    development: vars.WEIR_ENV === 'development',
    operatorKeys: vars.OPERATOR_KEY,
    keyCheckSecrets: vars.KEY_CHECK_SECRETS,
    masterKeys: vars.MASTER_KEYS.map((k) => ({ version: Number(k.version), secret: k.secret })),
    platformSettings: platformSettings(vars.PLATFORM_SETTINGS),
    gatewayHosts: vars.GATEWAY_HOSTS,
    clientIpHeaders: vars.CLIENT_IP_HEADERS,
    anonymousProviders: vars.ANONYMOUS_PROVIDERS,
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
