/**
 * One endpoint as catalog files spell it. Promises: gives exactly a {@link CatalogEndpoint} without what its file adds; contradictions
 * inside the row are issues that point at their field. Called by schema.ts.
 */
import * as z from 'zod';
import { isPlural, parsePath } from '../../../src/base/json-path.ts';
import { taskDeadlineMsMax, taskTermsCharsMax } from '../../../src/base/limits-money.ts';
import type { Parameter, PlatformRule, ValueRule } from '../../../src/domain/catalog/endpoint.ts';
import { placeholderNames } from '../../../src/domain/catalog/placeholders.ts';
import { pathFault } from '../../../src/domain/relay/path.ts';
import { rateSchema } from './balance-schema.ts';
import { costSchema, priceIssues, settlementSchema, usualSettlement } from './price-schema.ts';

const text = z.string().min(1).max(512);
const slug = z.string().regex(/^[a-z0-9][a-z0-9_-]*$/, 'wants lower-case letters, digits, - and _');
const dotted = z
  .string()
  .regex(/^[a-z0-9][a-z0-9_-]*(?:\.[a-z0-9][a-z0-9_-]*)*$/, 'wants dotted lower-case words');
const bound = z.number().nullable().default(null);
const size = z.int().min(0).nullable().default(null);

/** How callers are allowed in. */
export const grantMethod = z.enum(['api_key', 'oauth_user', 'oauth_app', 'service_account']);

const head = {
  in: z.enum(['path', 'query', 'body']),
  name: text,
  required: z.boolean().default(false),
  description: text.nullable().default(null),
};

const parameterShape = z.discriminatedUnion('type', [
  z.strictObject({ ...head, type: z.enum(['any', 'boolean', 'object']) }),
  z.strictObject({
    ...head,
    type: z.literal('string'),
    enum: z.array(z.string()).min(1).nullable().default(null),
    max_chars: size,
  }),
  z.strictObject({
    ...head,
    type: z.enum(['integer', 'number']),
    enum: z.array(z.number()).min(1).nullable().default(null),
    min: bound,
    max: bound,
  }),
  z.strictObject({
    ...head,
    type: z.literal('array'),
    min_items: z.int().min(0).default(0),
    max_items: size,
    item_enum: z.array(z.string()).min(1).nullable().default(null),
    item_fields: z
      .strictObject({ need: z.enum(['all', 'any']), names: z.array(text).min(1) })
      .nullable()
      .default(null),
  }),
]);

function ruleOf(row: z.output<typeof parameterShape>): ValueRule {
  switch (row.type) {
    case 'string':
      return { type: row.type, enum: row.enum, charsMax: row.max_chars };
    case 'integer':
    case 'number':
      return { type: row.type, enum: row.enum, min: row.min, max: row.max };
    case 'array': {
      const { min_items: itemsMin, max_items: itemsMax } = row;
      return {
        type: row.type,
        itemsMin,
        itemsMax,
        itemEnum: row.item_enum,
        itemFields: row.item_fields,
      };
    }
    default:
      return { type: row.type };
  }
}

const parameter = parameterShape.transform((row): Parameter => {
  const { in: place, name, description } = row;
  // What fills a path cannot be left out.
  const required = row.required || place === 'path';
  return { in: place, name, required, rule: ruleOf(row), description };
});

/** A query name, or members of the body from the top down with dots between. */
const place = { in: z.enum(['query', 'body']), at: text };
const scalar = z.union([z.string(), z.number(), z.boolean()]);

const platformRule = z
  .discriminatedUnion('rule', [
    z.strictObject({
      ...place,
      rule: z.literal('count'),
      min: z.int().min(0),
      max: z.int().min(0),
    }),
    z.strictObject({
      ...place,
      rule: z.literal('selector'),
      equals: scalar,
      may_be_absent: z.boolean().default(false),
      unless: z.strictObject({ at: text, equals: scalar }).optional(),
    }),
    z.strictObject({ ...place, rule: z.literal('refused') }),
  ])
  .transform((row): PlatformRule => {
    const stepsOf = (at: string) => (row.in === 'query' ? [at] : at.split('.'));
    const where = { in: row.in, at: stepsOf(row.at) } as const;
    if (row.rule === 'refused') return { ...where, kind: 'refused' };
    if (row.rule === 'count') return { ...where, kind: 'count', min: row.min, max: row.max };
    const { equals, may_be_absent: mayBeAbsent, unless } = row;
    const selector = { ...where, kind: 'selector', equals, mayBeAbsent } as const;
    if (unless === undefined) return selector;
    return { ...selector, unless: { at: stepsOf(unless.at), equals: unless.equals } };
  });

/** What verifies a route: names and values of the query, placeholders among them, and a JSON body. */
const testRequest = z.strictObject({
  query: z.record(z.string().min(1), z.union([z.string(), z.number(), z.boolean()])).default({}),
  body: z.json().optional(),
});

const path = text.refine(
  (value) => singlePath(value),
  'is no JSON path of one value (docs/catalog.md)',
);
const states = z.array(text).min(1);

/** Life of a task whose row says nothing else (digest A15). */
const taskDeadlineS = 24 * 3_600;

/** How a submission names its task, and how the answers about it are read. `poll` is the name of another row of the file. */
const taskSchema = z
  .strictObject({
    id: path,
    poll: dotted,
    state: path,
    succeeded: states,
    failed: states,
    deadline_s: z
      .int()
      .min(60)
      .max(taskDeadlineMsMax / 1000)
      .default(taskDeadlineS),
  })
  .refine(
    ({ succeeded, failed }) => succeeded.every((state) => !failed.includes(state)),
    'has a state that is both succeeded and failed',
  );

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

const shape = z.strictObject({
  name: dotted,
  capability: dotted,
  summary: text,
  method: z.enum(methods),
  host: z.string().nullable().default(null),
  path: z
    .string()
    .regex(/^\/[^#\s\\]*$/, 'starts with / and has no #, \\ and space')
    // The attack: `/../x` is sent as `/x`, outside the base URL and past deny rules on it.
    .refine(
      (value) => pathFault(value.split('?')[0] ?? '') === null,
      'has a . or .. segment or a \\',
    ),
  grant_method: grantMethod.nullable().default(null),
  parameters: z.array(parameter).default([]),
  strict_query: z.boolean().default(false),
  body_allowlist: z.boolean().default(false),
  platform_request: z.array(platformRule).nullable().default(null),
  ceiling_param: z
    .strictObject({ name: text, unit: z.enum(['usd', 'usd_cents', 'micro_usd']) })
    .nullable()
    .default(null),
  on_client_disconnect: z.enum(['drain', 'cancel']).default('drain'),
  platform_auth: z.enum(['account', 'anonymous']).nullable().default(null),
  cost: costSchema,
  settlement: settlementSchema.default(usualSettlement),
  strip_reported_charge: z.boolean().default(false),
  task: taskSchema.nullable().default(null),
  task_id: text.nullable().default(null),
  rate: rateSchema.nullable().default(null),
  test_request: testRequest.nullable().default(null),
  price_note: text.nullable().default(null),
  tombstone: z
    .strictObject({
      status: z.enum(['retired', 'broken']),
      note: text,
      superseded_by: z.string().nullable().default(null),
    })
    .nullable()
    .default(null),
});

function singlePath(value: string): boolean {
  const parsed = parsePath(value);
  return parsed.ok && !isPlural(parsed.value);
}

type Row = z.output<typeof shape>;
/** Says what is wrong with one field. */
type Blame = (path: (string | number)[], message: string) => void;

/** Rules between fields, and the fields that each reads. */
const rules: readonly (readonly [(row: Row, blame: Blame) => void, readonly (keyof Row)[]])[] = [
  [checkPlaceholders, ['path', 'parameters']],
  [checkParameters, ['parameters']],
  [checkContracts, ['parameters', 'platform_request', 'ceiling_param']],
  [checkMoney, ['cost', 'settlement']],
  [checkTask, ['cost', 'settlement', 'task', 'path']],
  [checkTestRequest, ['test_request', 'path']],
];

/** One endpoint of a file. A field with a fault is as the file has it, not as a rule knows it: no rule is asked that reads it. */
export const endpointSchema = shape.superRefine((row, ctx) => {
  const blame: Blame = (path, message) => ctx.addIssue({ code: 'custom', path, message });
  const broken = new Set(ctx.issues.map(({ path }) => path?.[0]));
  for (const [rule, fields] of rules) {
    if (!fields.some((field) => broken.has(field))) rule(row, blame);
  }
});

/** One endpoint of a file, as it was read. */
export type EndpointRow = z.output<typeof endpointSchema>;

function checkPlaceholders(row: Row, blame: Blame): void {
  const [template = '', own] = row.path.split('?');
  const names = placeholderNames(template);
  const declared = row.parameters.filter((each) => each.in === 'path').map(({ name }) => name);
  for (const name of names)
    if (!declared.includes(name))
      blame(['path'], `has {${name}}, which no path parameter declares`);
  row.parameters.forEach(({ in: where, name }, i) => {
    if (where === 'path' && !names.includes(name))
      blame(['parameters', i, 'name'], 'is not in the path');
  });
  if (/[{}]/.test(template.replaceAll(/\{[A-Za-z0-9_.-]+\}/g, '')) || /[{}]/.test(own ?? ''))
    blame(['path'], 'has a brace that is no placeholder');
}

function checkParameters(row: Row, blame: Blame): void {
  const seen = new Set<string>();
  row.parameters.forEach((each, i) => {
    // Path parameters are given in the query.
    const key = `${each.in === 'body' ? 'body' : 'query'} ${each.name}`;
    if (seen.has(key)) blame(['parameters', i, 'name'], 'is declared twice');
    seen.add(key);
    const isNested = each.rule.type === 'array' || each.rule.type === 'object';
    if (each.in !== 'body' && isNested)
      blame(['parameters', i, 'type'], 'cannot be told in a query or a path');
  });
}

function checkContracts(row: Row, blame: Blame): void {
  const hasBody = row.parameters.some((each) => each.in === 'body');
  if (row.body_allowlist && !hasBody)
    blame(['body_allowlist'], 'needs body parameters, which are the list');
  if (row.strict_query && hasBody && !row.body_allowlist)
    blame(['strict_query'], 'refuses every body: add body_allowlist, or drop the body parameters');
  const isOurs = row.platform_auth === 'account';
  if (row.platform_request !== null && !isOurs)
    blame(['platform_request'], 'needs platform_auth: account');
  if (row.ceiling_param !== null && !isOurs)
    blame(['ceiling_param'], 'needs platform_auth: account');
  row.platform_request?.forEach((rule, i) => {
    if (rule.kind === 'count' && rule.min > rule.max)
      blame(['platform_request', i, 'min'], 'is above max');
  });
}

function checkMoney(row: Row, blame: Blame): void {
  for (const { path, message } of priceIssues(row.cost, row.settlement)) blame(path, message);
  const isAnonymous = row.platform_auth === 'anonymous';
  if (isAnonymous && row.method !== 'GET')
    blame(['method'], 'must be GET where platform_auth is anonymous');
  if (isAnonymous && row.cost.kind !== 'free')
    blame(['cost'], 'must be free where platform_auth is anonymous');
  if (row.strip_reported_charge && row.settlement.reported?.in !== 'body')
    blame(['strip_reported_charge'], 'needs settlement.reported in the body');
}

/** What costs only when it has come to something can wait for its end; a price of the submission alone cannot. */
const waitingCosts: ReadonlySet<string> = new Set(['per_success', 'per_result', 'usage']);

function checkTask(row: Row, blame: Blame): void {
  const isTerminal = row.settlement.basis === 'terminal';
  if (isTerminal !== (row.task !== null))
    blame(['task'], 'belongs to settlement.basis terminal, and the other way round');
  if (row.task !== null && row.platform_auth !== 'account')
    blame(['task'], 'needs platform_auth: account');
  if (row.task !== null && !waitingCosts.has(row.cost.kind))
    blame(['cost'], 'must be per_success, per_result or usage where there is a task');
  // What the ledger could not keep would be work for nothing; meters stand in the cost and in the price.
  const kept = JSON.stringify([row.task, row.cost, row.settlement]).length;
  if (row.task !== null && 2 * kept > taskTermsCharsMax)
    blame(['task'], 'has more states, meters and paths than a task can keep');
  if (row.task_id === null) return;
  if (!placeholderNames(row.path).includes(row.task_id))
    blame(['task_id'], 'is no placeholder of the path');
  if (row.cost.kind !== 'free') blame(['cost'], 'must be free where there is a task_id');
  if (row.task !== null) blame(['task_id'], 'cannot stand beside a task');
}

function checkTestRequest({ test_request: test, path, method }: Row, blame: Blame): void {
  if (test === null) return;
  const missing = placeholderNames(path).filter((name) => !Object.hasOwn(test.query, name));
  if (missing.length > 0) blame(['test_request', 'query'], `lacks ${missing.join(', ')}`);
  if (test.body !== undefined && method !== 'POST')
    blame(['test_request', 'body'], 'needs the method POST');
}

/** The slug of a provider. */
export const providerSlug = slug;
