/**
 * Fields that several resources share: names, ids, times, and their zod shapes. Called by the
 * resource files.
 */

import * as z from 'zod/mini';
import { _isoDateTime } from 'zod/v4/core';
import { nameCharsMax, slugCharsMax } from '../base/limits';
import type { Dated } from '../ports/store';

/** A lone surrogate has no UTF-8 form: what is stored or sent would not be what was answered. */
export const wellFormed = z.refine<string>(
  (value) => value.isWellFormed(),
  'must be well-formed Unicode',
);

/** Text of at least one character. */
export const text = (charsMax: number) =>
  z.string().check(z.minLength(1), z.maxLength(charsMax), wellFormed);

/** A whole number within bounds. */
export const whole = (min: number, max: number) => z.int().check(z.gte(min), z.lte(max));

/** A name that people read: no control characters, no white space at the ends. */
export const displayName = text(nameCharsMax).check(
  z.regex(/^[^\p{C}\s](?:[^\p{C}]*[^\p{C}\s])?$/u, 'must be printable text without outer spaces'),
);

/** A name that stands in a path or a reference. */
export const slug = text(slugCharsMax).check(
  z.regex(
    /^[a-z0-9](?:[a-z0-9._-]*[a-z0-9_-])?$/,
    'may hold lower-case letters, digits, dots, dashes and underscores, and starts with a letter or digit',
  ),
);

/** A provider's slug, or an aggregator as `overflow:<name>`. */
export const providerName = /^(?:overflow:)?[a-z0-9][a-z0-9_-]{0,127}$/;

/** An id that a body refers to; whether it exists is the handler's question. */
export const reference = z.string().check(z.maxLength(slugCharsMax));

/** Whether tenants below may use it. */
export const visibility = z._default(z.enum(['private', 'descendants']), 'private');

/** RFC 3339, as `z.iso.datetime` makes it; `z.iso` itself would bring dates, times and durations. */
export const datetime = (params?: Parameters<typeof z.iso.datetime>[0]) =>
  _isoDateTime(z.ZodMiniISODateTime, params);

/** RFC 3339 in UTC. */
export const time = datetime();

/** When a resource was made and last written, on the wire. */
export const dated = { created_at: time, updated_at: time };

/** Epoch milliseconds as RFC 3339. */
export const timeText = (ms: number): string => new Date(ms).toISOString();

/** The same of a time that may not be known, or not have come. */
export const timeOrNull = (ms: number | null): string | null => (ms === null ? null : timeText(ms));

/** The two times of a row, as {@link dated} has them. */
export const datedWire = (row: Dated): { created_at: string; updated_at: string } => ({
  created_at: timeText(row.createdAt),
  updated_at: timeText(row.updatedAt),
});
