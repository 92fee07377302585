/**
 * Declared rates and balance calls as catalog files spell them. Promises: gives exactly the domain's types; a balance URL is under the
 * egress rules and, as schema.ts checks, at one of the provider's base URLs. Called by schema.ts and endpoint-schema.ts.
 */
import * as z from 'zod';
import { parsePath } from '../../../src/base/json-path.ts';
import { rateLimitMax, rateWindowMsMax } from '../../../src/base/limits-capacity.ts';
import type { DeclaredRate } from '../../../src/domain/capacity/operations.ts';
import type { BalanceCall } from '../../../src/domain/catalog/balance.ts';
import type { EgressPolicy } from '../../../src/domain/egress/allowance.ts';
import { parseTarget, type TargetUrl } from '../../../src/domain/egress/target-url.ts';

/** `{ limit: 30, window_s: 60 }`: at most 30 sends in any minute. */
export const rateSchema = z
  .strictObject({
    limit: z.int().min(1).max(rateLimitMax),
    window_s: z
      .int()
      .min(1)
      .max(rateWindowMsMax / 1000),
  })
  .transform((row): DeclaredRate => ({ limit: row.limit, windowMs: row.window_s * 1000 }));

/** Name of an entry of PLATFORM_SETTINGS. */
export const settingName = z
  .string()
  .regex(/^[A-Z][A-Z0-9_]*$/, 'wants the name of a platform setting');

const path = z.string().refine((text) => parsePath(text).ok, 'is no JSON path (docs/catalog.md)');
const maybePath = path.nullable().default(null);
const word = z.string().regex(/^[a-z][a-z0-9_]{0,31}$/, 'must be a lower-case word');

const callShape = (url: z.ZodType<string>) =>
  z
    .strictObject({
      kind: z.literal('call'),
      method: z.enum(['GET', 'POST']).default('GET'),
      url,
      lookup: z.strictObject({ url, at: path }).nullable().default(null),
      setting: settingName.nullable().default(null),
      remaining: path,
      remaining_minus: maybePath,
      total: maybePath,
      resets_at: maybePath,
      unit: word,
      divide_by: z.number().positive().default(1),
      confidence: z.enum(['exact', 'estimated']),
      note: maybePath,
    })
    .superRefine((row, ctx) => {
      const hasId = row.url.includes('{id}');
      if (hasId === (row.lookup !== null)) return;
      const message = hasId ? 'has {id}, which needs a lookup' : 'lacks {id}, which lookup finds';
      ctx.addIssue({ code: 'custom', path: ['url'], message });
    });

/** `none`, or a request (docs/catalog.md). */
export const balanceSchema = (policy: EgressPolicy) => {
  const url = z
    .string()
    .refine((raw) => balanceTarget(raw, policy) !== null, 'is no exact https URL');
  return z
    .preprocess(
      kinded,
      z.discriminatedUnion('kind', [z.strictObject({ kind: z.literal('none') }), callShape(url)]),
    )
    .transform((row): BalanceCall => {
      if (row.kind === 'none') return row;
      const { remaining_minus, resets_at, divide_by, ...rest } = row;
      return {
        ...rest,
        remainingMinus: remaining_minus,
        resetsAt: resets_at,
        divideBy: divide_by,
      };
    });
};

/** Where a balance URL goes; `null` when it is none. */
export function balanceTarget(raw: string, policy: EgressPolicy): TargetUrl | null {
  const target = parseTarget(raw.replace('{id}', 'id'), policy);
  if (!target.ok || /[#{}\\]|\/\.{1,2}(?:[/?]|$)/.test(target.value.rest)) return null;
  return target.value;
}

/** The word `none` and a mapping without its kind become what the union tells apart. */
const kinded = (value: unknown): unknown => {
  if (value === 'none') return { kind: 'none' };
  return typeof value === 'object' && value !== null ? { ...value, kind: 'call' } : value;
};
