import { describe, expect, it } from 'vitest';
import { type Grant, mayGiveKey, mayGiveRole, mayManage } from '../../../src/control-plane/grants';
import type { Actor } from '../../../src/control-plane/operation';
import {
  type AccessKey,
  type Permission,
  type Role,
  roles,
} from '../../../src/domain/tenancy/access';

const actor = (role: Role, fields: Partial<AccessKey> = {}): Actor => ({
  kind: 'key',
  key: {
    id: 'key_1',
    tenantId: 'ten_1',
    principalId: 'prn_1',
    role,
    permissions: null,
    upstreamAccess: null,
    projectAccess: null,
    callCap: null,
    expiresAtMs: null,
    revoked: false,
    ...fields,
  },
});
const grant = (role: Role, fields: Partial<Grant> = {}): Grant => ({
  role,
  permissions: null,
  upstreamAccess: null,
  projectAccess: null,
  callCap: null,
  expiresAtMs: null,
  ...fields,
});

describe('what an actor may give', () => {
  it.each([
    ['owner', ['owner', 'admin', 'member', 'viewer']],
    ['admin', ['admin', 'member', 'viewer']],
  ] as const)('%s manages %j', (role, managed) => {
    expect(roles.filter((other) => mayManage(actor(role), other).ok)).toEqual(managed);
    expect(roles.filter((other) => mayGiveRole(actor(role), other).ok)).toEqual(managed);
  });

  it('the operator gives everything', () => {
    expect(mayGiveKey({ kind: 'operator' }, grant('owner')).ok).toBe(true);
  });

  it('a narrowed key never gives more permissions than it has', () => {
    const held: Permission[] = ['access:write', 'config:read'];
    const narrowed = actor('owner', { permissions: held });
    expect(mayGiveKey(narrowed, grant('owner')).ok).toBe(false);
    expect(mayGiveKey(narrowed, grant('member')).ok).toBe(false);
    expect(mayGiveRole(narrowed, 'viewer').ok).toBe(false);
    expect(mayGiveKey(narrowed, grant('owner', { permissions: held })).ok).toBe(true);
    expect(mayGiveKey(narrowed, grant('owner', { permissions: ['secret:write'] })).ok).toBe(false);
    expect(mayGiveKey(narrowed, grant('viewer', { permissions: ['secret:write'] })).ok).toBe(true);
  });

  it('gives no key a longer life than its own, not even itself', () => {
    const ending = actor('owner', { expiresAtMs: 1_000 });
    expect(mayGiveKey(ending, grant('member', { expiresAtMs: 1_000 })).ok).toBe(true);
    expect(mayGiveKey(ending, grant('member', { expiresAtMs: 1_001 })).ok).toBe(false);
    expect(mayGiveKey(ending, grant('owner')).ok).toBe(false);
    expect(mayGiveKey(actor('owner'), grant('member', { expiresAtMs: 1_000 })).ok).toBe(true);
    expect(mayGiveKey({ kind: 'operator' }, grant('owner')).ok).toBe(true);
  });

  it("a key with a call cap gives no more calls than its own, an owner's key too", () => {
    const capped = actor('owner', { callCap: 5 });
    expect(mayGiveKey(capped, grant('member', { callCap: 5 })).ok).toBe(true);
    expect(mayGiveKey(capped, grant('member', { callCap: 6 })).ok).toBe(false);
    expect(mayGiveKey(capped, grant('member')).ok).toBe(false);
    expect(mayGiveKey(actor('owner'), grant('member', { callCap: 6 })).ok).toBe(true);
  });

  it('a key with an access list gives only within it', () => {
    const narrowed = actor('admin', {
      upstreamAccess: ['ups_1', 'ups_2'],
      projectAccess: ['prj_1'],
    });
    const within = { upstreamAccess: ['ups_1'], projectAccess: ['prj_1'] };
    expect(mayGiveKey(narrowed, grant('member', within)).ok).toBe(true);
    expect(mayGiveKey(narrowed, grant('member', { ...within, upstreamAccess: null })).ok).toBe(
      false,
    );
    expect(mayGiveKey(narrowed, grant('member', { ...within, upstreamAccess: ['ups_3'] })).ok).toBe(
      false,
    );
    expect(mayGiveKey(narrowed, grant('member', { ...within, projectAccess: null })).ok).toBe(
      false,
    );
  });
});
