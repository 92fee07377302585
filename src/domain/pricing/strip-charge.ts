/**
 * Stripping: takes the vendor's own charge out of an answer before the caller sees it (digest A5).
 * Promises: only the member that the settlement reads is cut, with the comma and the space that
 * belong to it; every other byte stays (indentation, escapes, spellings of numbers). An answer that
 * is no UTF-8 JSON, or where the member is absent, is there twice, or is no member, is the same
 * bytes. Must never: print a document again. Pure. Called by stage 10 and the overflow branch, on
 * metered 2xx JSON only, after it was settled and before it is recorded.
 */
import { type JsonPath, type PathStep, pathOf } from '../../base/json-path';
import type { CatalogEndpoint } from '../catalog/endpoint';
import { arrayEntries, type MemberSpan, objectMembers, type ValueSpan } from './json-spans';
import type { Settlement } from './price';

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const encoder = new TextEncoder();

/** The answer as its caller gets it; `keeps`: the caller wants the vendor's charge to stay. */
export const shownAnswer = (
  bytes: Uint8Array,
  { stripReportedCharge, settlement }: Pick<CatalogEndpoint, 'stripReportedCharge' | 'settlement'>,
  keeps: boolean,
): Uint8Array => (stripReportedCharge && !keeps ? withoutReportedCharge(bytes, settlement) : bytes);

/** The answer without its reported charge; the very same array when nothing is cut. */
export function withoutReportedCharge(bytes: Uint8Array, settlement: Settlement): Uint8Array {
  if (settlement.reported?.in !== 'body') return bytes;
  const path = pathOf(settlement.reported.at);
  const target = path.at(-1);
  if (target?.kind !== 'member') return bytes;
  const text = jsonText(bytes);
  if (text === null) return bytes;
  const cuts = cutsOf(text, path.slice(0, -1), target.name);
  return cuts.length === 0 ? bytes : encoder.encode(withoutCuts(text, cuts));
}

/** The text, when it is one JSON document: from here on its shape needs no more checks. */
function jsonText(bytes: Uint8Array): string | null {
  try {
    const text = decoder.decode(bytes);
    JSON.parse(text);
    return text;
  } catch {
    return null;
  }
}

/** A span of the text to leave out, ends exclusive. */
interface Cut {
  readonly start: number;
  readonly end: number;
}

/** What to cut; nothing at all when a name on the way is there twice. */
function cutsOf(text: string, parents: JsonPath, name: string): readonly Cut[] {
  let spans: readonly ValueSpan[] = [{ start: 0, end: text.length }];
  for (const step of parents) {
    const next = selected(text, spans, step);
    if (next === null) return [];
    spans = next;
  }
  const cuts: Cut[] = [];
  for (const span of spans) {
    const members = objectMembers(text, span);
    const at = members.findIndex((member) => member.name === name);
    if (at < 0) continue;
    if (isRepeated(members, name)) return [];
    cuts.push(cutOf(members, at));
  }
  return cuts;
}

/** The values that one step selects; `null`: its name is there twice. */
function selected(
  text: string,
  spans: readonly ValueSpan[],
  step: PathStep,
): readonly ValueSpan[] | null {
  const next: ValueSpan[] = [];
  for (const span of spans) {
    if (step.kind === 'each') next.push(...arrayEntries(text, span));
    else if (step.kind === 'index') {
      const entry = arrayEntries(text, span)[step.index];
      if (entry !== undefined) next.push(entry);
    } else {
      const members = objectMembers(text, span);
      if (isRepeated(members, step.name)) return null;
      const member = members.find(({ name }) => name === step.name);
      if (member !== undefined) next.push(member);
    }
  }
  return next;
}

const isRepeated = (members: readonly MemberSpan[], name: string): boolean =>
  members.filter((member) => member.name === name).length > 1;

/** A member and its comma: up to the next member, or from the end of the one before. */
function cutOf(members: readonly MemberSpan[], at: number): Cut {
  const [before, member, after] = [members[at - 1], members[at], members[at + 1]];
  const { nameStart = 0, end = 0 } = member ?? {};
  if (after !== undefined) return { start: nameStart, end: after.nameStart };
  return { start: before === undefined ? nameStart : before.end, end };
}

function withoutCuts(text: string, cuts: readonly Cut[]): string {
  const pieces: string[] = [];
  let kept = 0;
  for (const { start, end } of cuts) {
    pieces.push(text.slice(kept, start));
    kept = end;
  }
  pieces.push(text.slice(kept));
  return pieces.join('');
}
