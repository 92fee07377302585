/** Alias rules of digest B4: derivation, normal form, create and update. */
import { describe, expect, it } from 'vitest';
import {
  type AliasedPool,
  checkAlias,
  deriveAlias,
  nextAlias,
} from '../../../../src/domain/egress/alias';

const at = (port: number, ...hosts: string[]) => hosts.map((host) => ({ host, port }));
const derived = (alias: string) => ({ ok: true, value: { kind: 'derived', alias } });
const required = { ok: true, value: { kind: 'explicit_required' } };

describe('deriveAlias', () => {
  it.each([
    ['one host, standard port', 443, ['api.openai.com'], 'api.openai.com'],
    ['one host, other port', 8443, ['api.openai.com'], 'api.openai.com:8443'],
    ['port 80 is not standard for https', 80, ['api.openai.com'], 'api.openai.com:80'],
    ['case and root dot', 443, ['API.OpenAI.com.'], 'api.openai.com'],
    ['the same host twice', 443, ['api.t', 'API.T.'], 'api.t'],
    ['one host that is a public suffix', 443, ['pages.dev'], 'pages.dev'],
    ['C088: an unknown top level', 443, ['us.vendor.t', 'eu.vendor.t'], 'vendor.t'],
    ['C088: one host is the suffix itself', 443, ['a.b.vendor.com', 'vendor.com'], 'vendor.com'],
    [
      'C088: the suffix keeps its port',
      8443,
      ['us.vendor.com', 'eu.vendor.com'],
      'vendor.com:8443',
    ],
    ['the longest shared suffix', 443, ['a.eu.vendor.com', 'b.eu.vendor.com'], 'eu.vendor.com'],
    ['registrable below two labels of suffix', 443, ['a.foo.co.uk', 'b.foo.co.uk'], 'foo.co.uk'],
    [
      'registrable below a private suffix',
      443,
      ['a.me.pages.dev', 'b.me.pages.dev'],
      'me.pages.dev',
    ],
    ['three hosts', 443, ['a.v.com', 'b.v.com', 'c.d.v.com'], 'v.com'],
  ])('%s', (_, port, hosts, alias) =>
    expect(deriveAlias(at(port, ...hosts), 'https')).toEqual(derived(alias)),
  );

  it.each([
    ['C088: a bare public suffix', ['foo.co.uk', 'bar.co.uk']],
    ['C088: a bare private suffix', ['a.pages.dev', 'b.pages.dev']],
    ['a private suffix that is itself a host', ['pages.dev', 'b.pages.dev']],
    ['a suffix of a cloud region', ['a.s3.amazonaws.com', 'b.s3.amazonaws.com']],
    ['C088: nothing but a top level', ['us.foo.com', 'eu.bar.com']],
    ['nothing at all', ['a.t', 'b.com']],
    ['a shared tail that is no label boundary', ['avendor.com', 'bvendor.com']],
    ['an address', ['8.8.8.8']],
    ['an IPv6 address', ['2606:4700::1111']],
    ['several addresses', ['8.8.8.8', '[2606:4700::1111]']],
  ])('%s needs an explicit alias', (_, hosts) =>
    expect(deriveAlias(at(443, ...hosts), 'https')).toEqual(required),
  );

  it('port 80 is standard for http', () =>
    expect(deriveAlias(at(80, 'api.t'), 'http')).toEqual(derived('api.t')));

  it.each([
    ['an empty pool', [], 'endpoints'],
    ['two ports', [...at(443, 'a.v.t'), ...at(8443, 'b.v.t')], 'endpoints.1.port'],
    ['addresses beside names', at(443, 'a.v.t', '8.8.8.8'), 'endpoints'],
    ['a derived alias beyond the limit', at(8443, `${'a.'.repeat(125)}vt`), 'endpoints'],
  ])('%s is an issue', (_, endpoints, path) =>
    expect(deriveAlias(endpoints, 'https')).toMatchObject({ ok: false, error: { path } }),
  );
});

describe('checkAlias', () => {
  it.each([
    ['my-service', 'my-service'],
    ['My_Service.V1:8443', 'my_service.v1:8443'],
    ['api.t...', 'api.t'],
    ['a'.repeat(253), 'a'.repeat(253)],
  ])('%j normalises to %j', (text, alias) =>
    expect(checkAlias(text)).toEqual({ ok: true, value: alias }),
  );

  it.each([
    '',
    '.',
    '..',
    '...',
    'a b',
    'a/b',
    'a%2fb',
    'a?b',
    'a#b',
    'a\\b',
    'a@b',
    'ä',
    '\u212a',
    '[::1]',
    'a\n',
    'a'.repeat(254),
  ])('%j is refused, and the value is not repeated', (text) => {
    const checked = checkAlias(text);
    expect(checked).toMatchObject({ ok: false, error: { path: 'alias' } });
  });
});

describe('nextAlias on create', () => {
  it.each([
    ['derived without one', at(443, 'api.t'), undefined, 'api.t'],
    ['the exact derived one is tolerated', at(443, 'api.t'), 'API.t.', 'api.t'],
    ['addresses take the explicit one', at(443, '8.8.8.8'), 'My-Service', 'my-service'],
  ])('%s', (_, endpoints, explicit, alias) =>
    expect(nextAlias({ endpoints, scheme: 'https', explicit })).toEqual({ ok: true, value: alias }),
  );

  it.each([
    ['another alias for a host name', at(443, 'api.t'), 'other'],
    ['another alias for a derivable pool', at(443, 'a.v.t', 'b.v.t'), 'a.v.t'],
    ['no alias for addresses', at(443, '8.8.8.8'), undefined],
    ['no alias for a bare public suffix', at(443, 'foo.co.uk', 'bar.co.uk'), undefined],
    ['a malformed alias', at(443, '8.8.8.8'), 'a/b'],
  ])('%s is refused', (_, endpoints, explicit) =>
    expect(nextAlias({ endpoints, scheme: 'https', explicit })).toMatchObject({
      ok: false,
      error: { path: 'alias' },
    }),
  );
});

describe('nextAlias on update', () => {
  const named: AliasedPool = { alias: 'api.t', endpoints: at(443, 'api.t'), scheme: 'https' };
  const bare: AliasedPool = { alias: 'mine', endpoints: at(443, '8.8.8.8'), scheme: 'https' };
  it.each([
    ['derivable → derivable is recomputed', named, at(443, 'new.t'), undefined, 'new.t'],
    ['derivable → derivable, the old alias echoed', named, at(443, 'new.t'), 'api.t', 'new.t'],
    ['derivable → not derivable with an explicit one', named, at(443, '8.8.8.8'), 'mine', 'mine'],
    ['not → not keeps', bare, at(443, '9.9.9.9'), undefined, 'mine'],
    ['not → not may change', bare, at(443, '9.9.9.9'), 'Yours', 'yours'],
    ['not → derivable replaces the explicit one', bare, at(443, 'api.t'), undefined, 'api.t'],
    ['not → derivable, the old alias echoed', bare, at(443, 'api.t'), 'mine', 'api.t'],
    ['derivable, unchanged', named, at(443, 'api.t'), undefined, 'api.t'],
    ['not derivable, unchanged, is free', bare, at(443, '8.8.8.8'), 'yours', 'yours'],
    ['another port is another alias', named, at(8443, 'api.t'), undefined, 'api.t:8443'],
  ])('%s', (_, before, endpoints, explicit, alias) =>
    expect(nextAlias({ before, endpoints, scheme: 'https', explicit })).toEqual({
      ok: true,
      value: alias,
    }),
  );

  it.each([
    ['derivable → not derivable without one', named, at(443, '8.8.8.8'), undefined],
    ['derivable → derivable with a third one', named, at(443, 'new.t'), 'third'],
    ['not → derivable with a third one', bare, at(443, 'api.t'), 'third'],
    ['derivable, unchanged, overridden', named, at(443, 'api.t'), 'third'],
  ])('%s is refused', (_, before, endpoints, explicit) =>
    expect(nextAlias({ before, endpoints, scheme: 'https', explicit })).toMatchObject({
      ok: false,
      error: { path: 'alias' },
    }),
  );
});
