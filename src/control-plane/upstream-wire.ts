/** An upstream on the wire: what is sent, what is shown. Called by `upstreams.ts`. */
import * as z from 'zod/mini';
import {
  aliasCharsMax,
  bindingsMax,
  firstByteTimeoutDefaultMs,
  firstByteTimeoutMaxMs,
  idleTimeoutDefaultMs,
  idleTimeoutMaxMs,
  tagsMax,
} from '../base/limits';
import type { UpstreamRecord } from '../ports/store';
import { bindingAnswer, bindingBody, bindingWire } from './bindings';
import { dated, datedWire, reference, slug, visibility, whole } from './fields';
import { headerRulesBody, headerRulesWire } from './header-rules';
import { endpointsBody } from './pool';

/** Body of an upstream. */
export const upstreamBody = z.strictObject({
  name: slug,
  project_id: z._default(z.nullable(reference), null),
  alias: z.optional(
    z
      .string()
      .check(
        z.maxLength(aliasCharsMax),
        z.describe('Only for pools that it cannot be derived from.'),
      ),
  ),
  scheme: z._default(z.enum(['https', 'http']), 'https'),
  endpoints: endpointsBody,
  base_path: z._default(z.string(), ''),
  bindings: z._default(z.array(bindingBody).check(z.maxLength(bindingsMax)), []),
  header_rules: z._default(z.nullable(headerRulesBody), null),
  first_byte_timeout_ms: z._default(whole(1, firstByteTimeoutMaxMs), firstByteTimeoutDefaultMs),
  idle_timeout_ms: z._default(whole(1, idleTimeoutMaxMs), idleTimeoutDefaultMs),
  visibility,
  enabled: z._default(z.boolean(), true),
  track_body: z._default(z.boolean(), false),
  tags: z._default(z.array(slug).check(z.maxLength(tagsMax)), []),
});
/** What {@link upstreamBody} gives. */
export type UpstreamBody = z.output<typeof upstreamBody>;

/** An upstream on the wire. */
export const upstreamAnswer = z.object({
  id: z.string(),
  tenant_id: z.string(),
  name: z.string(),
  project_id: z.nullable(z.string()),
  alias: z.string(),
  scheme: z.enum(['https', 'http']),
  endpoints: z.array(z.object({ host: z.string(), port: z.int() })),
  base_path: z.string(),
  bindings: z.array(bindingAnswer),
  header_rules: z.nullable(headerRulesBody),
  first_byte_timeout_ms: z.int(),
  idle_timeout_ms: z.int(),
  visibility: z.enum(['private', 'descendants']),
  enabled: z.boolean(),
  track_body: z.boolean(),
  needs_target_host: z.boolean(),
  tags: z.array(z.string()),
  ...dated,
});
/** What {@link upstreamAnswer} holds. */
export type UpstreamAnswer = z.output<typeof upstreamAnswer>;

/** A row as it is shown; `names` are the visible secrets' names by id. */
export const upstreamWire = (
  row: UpstreamRecord,
  names: ReadonlyMap<string, string>,
): UpstreamAnswer => ({
  id: row.id,
  tenant_id: row.tenantId,
  name: row.name,
  project_id: row.projectId,
  alias: row.alias,
  scheme: row.scheme,
  endpoints: [...row.endpoints],
  base_path: row.basePath,
  bindings: row.bindings.map((binding) => bindingWire(binding, names)),
  header_rules: headerRulesWire(row.headerRules),
  first_byte_timeout_ms: row.firstByteTimeoutMs,
  idle_timeout_ms: row.idleTimeoutMs,
  visibility: row.visibility,
  enabled: row.enabled,
  track_body: row.trackBody,
  needs_target_host: row.needsTargetHost,
  tags: [...row.tags],
  ...datedWire(row),
});
