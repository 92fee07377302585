/** How long an answer says to wait, against the platform's own dates. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { capacityVendorHoldMsMax } from '../../src/base/limits-capacity';
import { httpDateMs, waitOf } from '../../src/domain/capacity/retry-after';

const nowMs = Date.UTC(2026, 10, 30, 12);
const pad = (number: number, width = 2): string => String(number).padStart(width, '0');
const [days, months] = [
  ['Sun', 'Mon', 'Tues', 'Wednes', 'Thurs', 'Fri', 'Satur'],
  ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'],
];

/** The three forms of RFC 9110 5.6.7. */
function printed(ms: number): { imf: string; rfc850: string; asctime: string } {
  const date = new Date(ms);
  const [day = '', month = ''] = [days[date.getUTCDay()], months[date.getUTCMonth()]];
  const [number, year] = [date.getUTCDate(), date.getUTCFullYear()];
  const clock = date.toISOString().slice(11, 19);
  return {
    imf: date.toUTCString(),
    rfc850: `${day}day, ${pad(number)}-${month}-${pad(year % 100)} ${clock} GMT`,
    asctime: `${day.slice(0, 3)} ${month} ${String(number).padStart(2, ' ')} ${clock} ${pad(year, 4)}`,
  };
}

const second = 1_000;
const moment = fc
  .integer({ min: Date.UTC(1977, 0, 2) / second, max: Date.UTC(2076, 0, 1) / second - 1 })
  .map((at) => at * second);
const of =
  (headers: Readonly<Record<string, string>>) =>
  (name: string): string | null =>
    headers[name] ?? null;

describe('an HTTP date', () => {
  it('is the same moment in each of its three forms', () => {
    fc.assert(
      fc.property(moment, (ms) => {
        const { imf, rfc850, asctime } = printed(ms);
        expect([imf, rfc850, asctime].map((text) => httpDateMs(text, nowMs))).toEqual([ms, ms, ms]);
      }),
      { numRuns: 2_000 },
    );
  });

  it('with one character changed is none, or is another date that is written right', () => {
    const change = fc.tuple(fc.nat(), fc.constantFrom(...'0159 :,-GMTSunJanFeb\t'));
    fc.assert(
      fc.property(moment, fc.nat(2), change, (ms, form, [pick, char]) => {
        const text = Object.values(printed(ms))[form] ?? '';
        const at = pick % text.length;
        const changed = text.slice(0, at) + char + text.slice(at + 1);
        const read = httpDateMs(changed, nowMs);
        if (read === null) return;
        // All but the name of the day, which is not needed, the zero of a day, and a leap second, which is the next.
        const again = Object.values(printed(read))[form] ?? '';
        const rest = (date: string): string =>
          date.replace(/^[A-Za-z]+,? /, '').replace(/^(\w{3}) {2}(\d)/, '$1 0$2');
        // Years before 100 have been long ago, whichever they are.
        if (!/:60(?: |$)| 00\d\d/.test(changed)) expect(rest(again)).toBe(rest(changed));
      }),
      { numRuns: 3_000 },
    );
  });
});

describe('a wait', () => {
  const number = fc.oneof(fc.nat(), fc.maxSafeNat(), fc.constantFrom(0, 31_536_000, 31_536_001));
  const text = fc.oneof(
    number.map(String),
    moment.map((ms) => new Date(ms).toUTCString()),
    fc.constantFrom('-1', '1.5', '1e3', ' 5', '5, 5', '', 'soon', '9'.repeat(400), '+5', '0x5'),
  );
  const name = fc.constantFrom('retry-after', 'x-ratelimit-reset', 'ratelimit-reset');

  it('is never negative, never above the bound, and absent where nothing can be read', () => {
    fc.assert(
      fc.property(fc.dictionary(name, text), (headers) => {
        const wait = waitOf(of(headers), nowMs);
        if (wait === null) return;
        expect(Number.isSafeInteger(wait)).toBe(true);
        expect(wait).toBeGreaterThanOrEqual(0);
        expect(wait).toBeLessThanOrEqual(capacityVendorHoldMsMax);
        expect(Object.values(headers).some((said) => /^[0-9]+$|GMT$/.test(said))).toBe(true);
      }),
      { numRuns: 2_000 },
    );
  });

  it('in seconds, as a date and as a moment of either unit is the same wait', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: capacityVendorHoldMsMax / second }), (seconds) => {
        const ms = nowMs + seconds * second;
        const said = [
          { 'retry-after': String(seconds) },
          { 'retry-after': new Date(ms).toUTCString() },
          { 'x-ratelimit-reset': String(ms) },
          { 'ratelimit-reset': String(ms / second) },
          { 'x-ratelimit-reset': String(Math.min(seconds, 31_536_000)) },
        ];
        for (const headers of said.slice(0, seconds > 31_536_000 ? 4 : 5))
          expect(waitOf(of(headers), nowMs)).toBe(seconds * second);
      }),
      { numRuns: 1_000 },
    );
  });
});
