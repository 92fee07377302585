/** Filling a catalog path: what a value becomes, what is refused, what stays of the query. */
import { describe, expect, it } from 'vitest';
import {
  encodeSegment,
  fillPath,
  placeholderNames,
} from '../../../../src/domain/catalog/placeholders';

describe('a value in a path', () => {
  it.each([
    ['plain-._~09AZ', 'plain-._~09AZ'],
    ['a@b.example', 'a@b.example'],
    ['a%40b', 'a%40b'],
    ['sc-domain%3Aexample.com', 'sc-domain%3Aexample.com'],
    ['100%', '100%25'],
    ['%zz%4', '%25zz%254'],
    ['%2', '%252'],
    ['%%41', '%25%41'],
    ['a/b?c#d', 'a%2Fb%3Fc%23d'],
    ['https://x.example/', 'https%3A%2F%2Fx.example%2F'],
    [`:;,=+&$!'()*`, '%3A%3B%2C%3D%2B%26%24%21%27%28%29%2A'],
    ['a b', 'a%20b'],
    ['ü€😀', '%C3%BC%E2%82%AC%F0%9F%98%80'],
    ['\ud800', '%EF%BF%BD'],
    ['a\r\nb\0', 'a%0D%0Ab%00'],
  ])('%j becomes %j', (value, expected) => {
    expect(encodeSegment(value)).toBe(expected);
  });

  it('an escape is never escaped again, and what is encoded once stays as it is', () => {
    for (const value of ['a/b', '%2F', '50% off', 'ü@x'])
      expect(encodeSegment(encodeSegment(value))).toBe(encodeSegment(value));
  });
});

describe('a template', () => {
  it('takes its values out of the query and leaves every other pair its bytes and place', () => {
    const filled = fillPath('/models/{model}:run/{id}', 'a=%41&model=m%2D1&&b&id=x%20y&a=2');
    expect(filled).toEqual({
      ok: true,
      value: { path: '/models/m-1:run/x%20y', query: 'a=%41&&b&a=2' },
    });
  });

  it.each([
    ['site=sc-domain%253Aexample', 'sc-domain%3Aexample'],
    ['site=sc-domain%3Aexample', 'sc-domain%3Aexample'],
    ['site=a+b', 'a%20b'],
    ['%73ite=x', 'x'],
  ])('reads %j as an origin would', (query, segment) => {
    expect(fillPath('/sites/{site}', query)).toEqual({
      ok: true,
      value: { path: `/sites/${segment}`, query: null },
    });
  });

  it('without placeholders leaves path and query alone', () => {
    for (const query of [null, '', 'a=1#b'])
      expect(fillPath('/search', query)).toEqual({ ok: true, value: { path: '/search', query } });
  });

  it.each([
    [null, 'missing'],
    ['ID=1', 'missing'],
    ['id=', 'empty'],
    ['id', 'empty'],
    ['id=1&id=1', 'repeated'],
    ['id=1&%69d=2', 'repeated'],
    ['id=..', 'unsafe'],
    ['id=.', 'unsafe'],
    ['id=%252e%252E', 'unsafe'],
    ['id=a%2F..%2Fb', 'unsafe'],
    ['id=a%255Cb', 'unsafe'],
    ['id=a%5Cb', 'unsafe'],
  ])('with the query %j is refused: %s, and the fault has no value', (query, kind) => {
    const filled = fillPath('/things/{id}', query);
    expect(filled).toEqual({ ok: false, error: { kind, name: 'id' } });
  });

  it('that makes a dot segment with a harmless value is refused', () => {
    expect(fillPath('/x/{a}/y', 'a=%252F')).toMatchObject({ ok: true });
    expect(fillPath('/x/.{a}/y', 'a=%252F')).toEqual({
      ok: false,
      error: { kind: 'unsafe', name: 'a' },
    });
  });

  it('names each placeholder once', () => {
    expect(placeholderNames('/{a}/{b-c}/{a}')).toEqual(['a', 'b-c']);
  });

  it('fills a value that looks like a placeholder literally', () => {
    expect(fillPath('/{a}/{b}', 'a=%7Bb%7D&b=x')).toEqual({
      ok: true,
      value: { path: '/%7Bb%7D/x', query: null },
    });
  });
});
