/**
 * Tags of a call on the wire: an object of dimension and value. Pure. Called by the ledger's
 * resource files.
 */
import * as z from 'zod/mini';
import type { Tags } from '../domain/ledger/operations';

/** `{"team":"a"}`, or null where a thing has no tags. */
export const tagsAnswer = z.nullable(z.record(z.string(), z.string()));

/** Tags as the ledger keeps them, dimension and value one after the other, as an object. */
export function tagsWire(tags: Tags | null): z.output<typeof tagsAnswer> {
  if (tags === null) return null;
  const pairs: [string, string][] = [];
  for (let at = 0; at + 1 < tags.length; at += 2) pairs.push([tags[at] ?? '', tags[at + 1] ?? '']);
  return Object.fromEntries(pairs);
}
