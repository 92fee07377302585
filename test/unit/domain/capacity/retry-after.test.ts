/** How long an answer says to wait, spelling by spelling. */
import { describe, expect, it } from 'vitest';
import { capacityVendorHoldMsMax } from '../../../../src/base/limits-capacity';
import { httpDateMs, waitOf } from '../../../../src/domain/capacity/retry-after';

const nowMs = Date.UTC(1994, 10, 6, 8, 49, 35);
const waiting = (headers: Record<string, string>) => {
  const all = new Headers(headers);
  return waitOf((name) => all.get(name), nowMs);
};

describe('waitOf', () => {
  it.each([
    ['Sun, 06 Nov 1994 08:49:37 GMT', 2_000],
    ['Sunday, 06-Nov-94 08:49:37 GMT', 2_000],
    ['Sun Nov  6 08:49:37 1994', 2_000],
    ['120', 120_000],
    ['0', 0],
    ['00120', 120_000],
    [' 7 ', 7_000],
    ['Sun, 06 Nov 1994 08:49:00 GMT', 0],
    ['Mon, 06 Nov 2034 08:49:37 GMT', capacityVendorHoldMsMax],
    ['999999999999999999999999', capacityVendorHoldMsMax],
    ['-3', null],
    ['1.5', null],
    ['soon', null],
    ['', null],
    ['+5', null],
    ['1e3', null],
    ['0x10', null],
    ['5s', null],
    ['2, 5', null],
    ['1994-11-06T08:49:37Z', null],
    ['Sun, 06 Nov 1994 08:49:37', null],
    ['Sun, 06 Nov 1994 08:49:37 +0000', null],
    ['Sun, 6 Nov 1994 08:49:37 GMT', null],
    ['sun, 06 nov 1994 08:49:37 gmt', null],
    ['Sun, 31 Feb 1994 08:49:37 GMT', null],
    ['Sun, 00 Nov 1994 08:49:37 GMT', null],
    ['Sun, 06 Nov 1994 24:00:00 GMT', null],
    ['Sun, 06 Nov 1994 08:60:00 GMT', null],
    ['Sun, 06 Nve 1994 08:49:37 GMT', null],
    ['Sun, 06 anF 1994 08:49:37 GMT', null],
    ['Sun, 06 Nov 1994 08:49:37 GMT, Sun, 06 Nov 1994 08:49:37 GMT', null],
  ])('C077: Retry-After %j is %j', (text, expected) => {
    expect(waiting({ 'retry-after': text })).toBe(expected);
  });

  it('C077: two lines are as if absent', () => {
    const headers = new Headers([
      ['retry-after', '2'],
      ['retry-after', '5'],
    ]);
    expect(waitOf((name) => headers.get(name), nowMs)).toBeNull();
  });

  it.each([
    [{ 'x-ratelimit-reset': '30' }, 30_000],
    [{ 'ratelimit-reset': '30' }, 30_000],
    [{ 'x-ratelimit-reset': String(nowMs / 1000 + 30) }, 30_000],
    [{ 'x-ratelimit-reset': String(nowMs + 30_000) }, 30_000],
    [{ 'x-ratelimit-reset': String(nowMs / 1000 - 30) }, 0],
    [{ 'x-ratelimit-reset': '31536000' }, capacityVendorHoldMsMax],
    [{ 'x-ratelimit-reset': '1, 1419704' }, null],
    [{ 'x-ratelimit-reset': '1.5' }, null],
    [{ 'x-ratelimit-reset': '-1' }, null],
    [{ 'x-ratelimit-reset': '6m0s' }, null],
    [{ 'x-ratelimit-reset': 'soon', 'ratelimit-reset': '9' }, 9_000],
    [{ 'retry-after': '5', 'x-ratelimit-reset': '30' }, 5_000],
    [{ 'retry-after': 'soon', 'x-ratelimit-reset': '30' }, 30_000],
    [{}, null],
  ])('%j is %j', (headers, expected) => {
    expect(waiting(headers)).toBe(expected);
  });
});

describe('httpDateMs', () => {
  it.each([
    ['Friday, 06-Nov-44 08:49:37 GMT', 2044],
    ['Friday, 06-Nov-45 08:49:37 GMT', 1945],
    ['Friday, 06-Nov-93 08:49:37 GMT', 1993],
    ['Friday, 06-Nov-00 08:49:37 GMT', 2000],
  ])('%s: at most 50 years ahead, else of the century before', (text, year) => {
    expect(new Date(httpDateMs(text, nowMs) ?? 0).getUTCFullYear()).toBe(year);
  });

  it('takes a leap second and a leap day', () => {
    expect(httpDateMs('Sat, 31 Dec 2016 23:59:60 GMT', nowMs)).toBe(Date.UTC(2017, 0, 1));
    expect(httpDateMs('Thu, 29 Feb 2024 00:00:00 GMT', nowMs)).toBe(Date.UTC(2024, 1, 29));
    expect(httpDateMs('Wed, 29 Feb 2023 00:00:00 GMT', nowMs)).toBeNull();
  });
});
