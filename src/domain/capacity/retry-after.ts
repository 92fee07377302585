/**
 * Retry-After: how long an answer says to wait. Promises: RFC 9110 10.2.3 and 5.6.7 exactly; what is
 * malformed, or came on two lines (a comma joins them), is as if it were absent; the past is no
 * wait; never more than `capacityVendorHoldMsMax`. Must never: give a text to `Date.parse`, which
 * reads `-3` as a year. Pure; the clock is an argument. Called by `classify.ts` and
 * by the re-send.
 */
import { capacityVendorHoldMsMax } from '../../base/limits-capacity';

/** A header of an answer, by its lower-case name; two lines of it come joined by a comma. */
export type HeaderOf = (name: string) => string | null;

/** Numbers, asked for behind Retry-After: the usual name and the one of the IETF draft. */
const resetHeaders = ['x-ratelimit-reset', 'ratelimit-reset'];
/** A number above it is a time, not a wait, seconds (digest A12). */
const yearSeconds = 365 * 86_400;
/** A number above it is a time in milliseconds (OpenRouter's way). */
const epochMsMin = 100_000_000_000;

/** Milliseconds to wait from `nowMs` on; null: the answer does not say. */
export function waitOf(header: HeaderOf, nowMs: number): number | null {
  const said = retryAfterMs(header('retry-after'), nowMs);
  if (said !== null) return bounded(said);
  for (const name of resetHeaders) {
    const text = header(name);
    if (text !== null && digits.test(text)) return bounded(resetMs(Number(text), nowMs));
  }
  return null;
}

const digits = /^[0-9]+$/;

const bounded = (waitMs: number): number => Math.min(Math.max(0, waitMs), capacityVendorHoldMsMax);

function retryAfterMs(text: string | null, nowMs: number): number | null {
  if (text === null) return null;
  if (digits.test(text)) return Number(text) * 1000;
  const atMs = httpDateMs(text, nowMs);
  return atMs === null ? null : atMs - nowMs;
}

function resetMs(number: number, nowMs: number): number {
  if (number > epochMsMin) return number - nowMs;
  return number > yearSeconds ? number * 1000 - nowMs : number * 1000;
}

// ── HTTP-date, RFC 9110 5.6.7 ──

const clock = '(\\d\\d):(\\d\\d):(\\d\\d)';
const imfFixdate = new RegExp(
  `^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), (\\d\\d) (\\w{3}) (\\d{4}) ${clock} GMT$`,
);
const rfc850Date = new RegExp(
  `^(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day, (\\d\\d)-(\\w{3})-(\\d\\d) ${clock} GMT$`,
);
const asctimeDate = new RegExp(
  `^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) (\\w{3}) (\\d\\d| \\d) ${clock} (\\d{4})$`,
);
const months = 'JanFebMarAprMayJunJulAugSepOctNovDec';

/** Epoch milliseconds of a date in any of the three forms; null when it is none. */
export function httpDateMs(text: string, nowMs: number): number | null {
  const imf = imfFixdate.exec(text);
  if (imf !== null) return timeOf(imf[3], imf[2], imf[1], imf.slice(4));
  const old = rfc850Date.exec(text);
  if (old !== null) return timeOf(fullYear(Number(old[3]), nowMs), old[2], old[1], old.slice(4));
  const asctime = asctimeDate.exec(text);
  if (asctime === null) return null;
  return timeOf(asctime[6], asctime[1], asctime[2], asctime.slice(3, 6));
}

/** A year of two digits is at most 50 years ahead, else of the century before. */
function fullYear(twoDigits: number, nowMs: number): number {
  const thisYear = new Date(nowMs).getUTCFullYear();
  const year = thisYear - (thisYear % 100) + twoDigits;
  if (year > thisYear + 50) return year - 100;
  return year <= thisYear - 50 ? year + 100 : year;
}

function timeOf(
  year: string | number | undefined,
  monthName: string | undefined,
  day: string | undefined,
  [hour, minute, second]: readonly string[],
): number | null {
  const at = months.indexOf(monthName ?? '-');
  const [h, m, s] = [Number(hour), Number(minute), Number(second)];
  if (at % 3 !== 0 || h > 23 || m > 59 || s > 60) return null;
  const date = Number(day);
  const midnightMs = Date.UTC(Number(year), at / 3, date);
  if (date < 1 || new Date(midnightMs).getUTCDate() !== date) return null;
  return midnightMs + ((h * 60 + m) * 60 + s) * 1000;
}
