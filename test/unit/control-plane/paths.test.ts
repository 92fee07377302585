import { describe, expect, it } from 'vitest';
import { basePath, prefixPath } from '../../../src/control-plane/paths';

describe('a base path', () => {
  it.each([
    ['', ''],
    ['/', ''],
    ['/v1', '/v1'],
    ['/v1/', '/v1'],
    ['/a%2Fb', '/a%2Fb'],
    ["/a/b;c=1/~x/@y/!$&'()*+,", "/a/b;c=1/~x/@y/!$&'()*+,"],
    ['/v1.2/...', '/v1.2/...'],
  ])('%j is stored as %j', (text, stored) => {
    expect(basePath(text)).toEqual({ ok: true, value: stored });
  });

  it.each([
    'v1',
    '/v1?x=1',
    '/v1#x',
    '/a\\b',
    '/a%5Cb',
    '/a/../b',
    '/a/./b',
    '/..',
    '/a/%2e%2e/b',
    '/a/%2E./b',
    '/a%2f..%2fb',
    '/a//b',
    '/a//',
    '/a b',
    '/a\u0000',
    '/a\n',
    '/ü',
    '/{x}',
    '/%zz',
    `/${'a'.repeat(2000)}`,
  ])('%j is refused', (text) => {
    expect(basePath(text).ok).toBe(false);
  });
});

describe('a prefix path', () => {
  it.each([
    ['/', '/'],
    ['/v1/', '/v1'],
    ['/v1/models', '/v1/models'],
  ])('%j is stored as %j', (text, stored) => {
    expect(prefixPath(text)).toEqual({ ok: true, value: stored });
  });
  it.each(['', 'v1', '/a/../b'])('%j is refused', (text) => {
    expect(prefixPath(text).ok).toBe(false);
  });
  it('that does not start with a slash is not advised to be empty', () => {
    for (const text of ['', 'v1'])
      expect(prefixPath(text)).toEqual({ ok: false, error: 'must start with /' });
  });
});
