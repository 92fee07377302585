/** Deny rules: no spelling of a forbidden path slips past. */
import { describe, expect, it } from 'vitest';
import { firstDenial } from '../../../../src/domain/catalog/deny';
import type { DenyRule } from '../../../../src/domain/catalog/upstream';

const any = { host: null, path: null, method: null, principalId: null, projectId: null };
const who = { host: 'api.t', method: 'GET', principalId: 'prn_1', projectId: null };
const rule = (path: string): DenyRule => ({ id: 'den_1', ...any, path });
const isDenied = (rulePath: string, path: string): boolean =>
  firstDenial([rule(rulePath)], { ...who, path }) !== null;

describe('a forbidden path', () => {
  it.each([
    ['/admin', '/admin'],
    ['/admin', '/admin/x'],
    ['/admin', '/%61dmin'],
    ['/admin', '//admin'],
    ['/admin', '/%61dmin/%ff'],
    ['/x%2Fy', '/x/y'],
    ['/%7Bme%7D', '/{me}'],
    ['/caf%C3%A9', '/caf%c3%a9'],
    ['/caf%C3%A9', '/café'],
    ['/caf%C3%A9', '/caf%c3%a9/%ff'],
    ['/caf%C3%A9', '/caf%c3%a9/%zz'],
    ['/caf%C3%A9', '/café/%ff/%C3%A9'],
    ['/caf%E9', '/caf%e9/%C3%A9'],
    ['/admin/keys', '/admin;v=1/keys'],
    ['/admin/keys', '/admin%3Bv=1/keys'],
    ['/admin/keys', '/admin;v%2F1/keys'],
    ['/admin/keys', '/admin;/;%2F/keys;%3B'],
  ])('%s holds for %s', (rulePath, path) => {
    expect(isDenied(rulePath, path)).toBe(true);
  });

  it.each([
    ['/admin', '/administrator'],
    ['/admin', '/x/admin'],
    ['/caf%C3%A9', '/cafe'],
    ['/caf%C3%A9', '/caf%E9'],
    ['/admin/keys', '/admin;/v/keys'],
  ])('%s says nothing of %s', (rulePath, path) => {
    expect(isDenied(rulePath, path)).toBe(false);
  });
});
