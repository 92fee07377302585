/**
 * Deny rules: guardrails for every role, owners included (digest A7).
 * Promises: all given parts of a rule must match; a path is judged as sent and as an origin may read it, so no spelling slips past. Pure.
 * Called by stage 04.
 */
import { covers, mergedPath, readings } from '../relay/path';
import type { DenyRule } from './upstream';

/** What a call is, for the rules. `path` is the whole path that will be sent, without query. */
export interface DeniableCall {
  readonly host: string;
  readonly path: string;
  readonly method: string;
  readonly principalId: string;
  readonly projectId: string | null;
}

/** The first rule that forbids the call, or `null`. */
export function firstDenial(rules: readonly DenyRule[], call: DeniableCall): DenyRule | null {
  if (rules.length === 0) return null;
  let read: readonly string[] | null = null;
  for (const rule of rules) {
    if (rule.host !== null && !hostMatches(rule.host, call.host)) continue;
    if (rule.method !== null && rule.method !== call.method) continue;
    if (rule.principalId !== null && rule.principalId !== call.principalId) continue;
    if (rule.projectId !== null && rule.projectId !== call.projectId) continue;
    if (rule.path !== null && !covers(rule.path, call.path)) {
      read ??= readings(call.path);
      const prefix = mergedPath(rule.path);
      if (!read.some((path) => covers(prefix, path))) continue;
    }
    return rule;
  }
  return null;
}

/** Exact, or any depth below `*.example.com`. */
function hostMatches(pattern: string, host: string): boolean {
  return pattern.startsWith('*.') ? host.endsWith(pattern.slice(1)) : pattern === host;
}
