/**
 * Header rules of an upstream, from the wire and back. Promises: names are tokens (RFC 9110 section
 * 5.1), lower-case and not ours to give away; values are printable ASCII, so no rule can break a
 * message. Pure. Called by upstreams and bindings.
 */
import * as z from 'zod/mini';
import { fieldNameCharsMax, fieldValueCharsMax, headerEditsMax } from '../base/limits';
import { err, ok, type Result } from '../base/result';
import type { HeaderEdits, HeaderRules } from '../domain/catalog/upstream';
import type { FieldIssue } from '../domain/refusal';
import { mentionsOwnCookie } from '../domain/relay/cookies';
import { isUntouchable } from '../domain/relay/header-policy';
import { text } from './fields';

const headerName = text(fieldNameCharsMax);
const headerValue = z.string().check(z.maxLength(fieldValueCharsMax));
const values = z._default(z.record(headerName, headerValue), {});
const names = z._default(z.array(headerName), []);
const edits = z._default(z.strictObject({ remove: names, set: values, add: values }), {
  remove: [],
  set: {},
  add: {},
});

/** Header rules of both directions. */
export const headerRulesBody = z.strictObject({ request: edits, response: edits });
type RulesBody = z.output<typeof headerRulesBody>;
type EditsBody = RulesBody['request'];

/** Why a header may not be bound or edited, or `null`. */
export function headerNameFault(name: string): string | null {
  if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name)) return 'is not a header name';
  return isUntouchable(name.toLowerCase()) ? 'belongs to the gateway and may not be touched' : null;
}

/** Why a text may not be what a rule writes, or `null`: rules run after our cookies have been taken out. */
function ruleValueFault(value: string): string | null {
  if (mentionsOwnCookie(value)) return 'names a cookie of the gateway';
  return headerValueFault(value);
}

/** Why a text may not be a header value, or `null`. */
export const headerValueFault = (value: string): string | null =>
  /^[\x20-\x7e]*$/.test(value) ? null : 'may hold printable ASCII characters only';

/** Judges rules; rules without any edit are `null`. */
export function judgeHeaderRules(
  body: RulesBody | null,
): Result<HeaderRules | null, readonly FieldIssue[]> {
  if (body === null) return ok(null);
  const issues = [
    ...editIssues('header_rules.request', body.request),
    ...editIssues('header_rules.response', body.response),
  ];
  if (issues.length > 0) return err(issues);
  const rules = { request: toEdits(body.request), response: toEdits(body.response) };
  const empty = [rules.request, rules.response].every(
    (e) => e.remove.length + e.set.length + e.add.length === 0,
  );
  return ok(empty ? null : rules);
}

/** Rules as they are shown. */
export function headerRulesWire(rules: HeaderRules | null): RulesBody | null {
  if (rules === null) return null;
  return { request: toBody(rules.request), response: toBody(rules.response) };
}

function editIssues(at: string, body: EditsBody): FieldIssue[] {
  const issues = body.remove.flatMap((name, i) => nameIssue(`${at}.remove.${i}`, name));
  if (body.remove.length > headerEditsMax) issues.push(tooMany(`${at}.remove`));
  for (const kind of ['set', 'add'] as const) {
    const entries = Object.entries(body[kind]);
    if (entries.length > headerEditsMax) issues.push(tooMany(`${at}.${kind}`));
    const seen = new Set<string>();
    for (const [name, value] of entries) {
      const path = `${at}.${kind}.${name}`;
      issues.push(...nameIssue(path, name));
      const fault = ruleValueFault(value);
      if (fault !== null) issues.push({ path, message: fault });
      if (seen.has(name.toLowerCase())) issues.push({ path, message: 'names a header twice' });
      seen.add(name.toLowerCase());
    }
  }
  return issues;
}

const tooMany = (path: string): FieldIssue => ({
  path,
  message: `may have at most ${headerEditsMax} entries`,
});

function nameIssue(path: string, name: string): FieldIssue[] {
  const message = headerNameFault(name);
  return message === null ? [] : [{ path, message }];
}

const pairs = (record: Readonly<Record<string, string>>) =>
  Object.entries(record).map(([name, value]) => [name.toLowerCase(), value] as const);

const toEdits = (body: EditsBody): HeaderEdits => ({
  remove: body.remove.map((name) => name.toLowerCase()),
  set: pairs(body.set),
  add: pairs(body.add),
});

const toBody = (e: HeaderEdits): EditsBody => ({
  remove: [...e.remove],
  set: Object.fromEntries(e.set),
  add: Object.fromEntries(e.add),
});
