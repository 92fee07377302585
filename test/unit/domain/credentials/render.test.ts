/** What a rendered binding shows of its secret: every part of it that opens the door alone is named, so that it can be masked. */
import { describe, expect, it } from 'vitest';
import { err, ok } from '../../../../src/base/result';
import type { Binding } from '../../../../src/domain/catalog/upstream';
import { maskText, prepareMask } from '../../../../src/domain/credentials/masking';
import { render } from '../../../../src/domain/credentials/render';
import { binding } from '../../call/calls';

const key = 'sk_live_0123456789abcdef';

/** What an error that says `echo` becomes after a Basic credential of this pair was sent. */
function shown(pair: string, echo: string): string {
  const rendered = render(binding({ injector: 'basic' }), pair);
  if (!rendered.ok) throw new Error('does not fit');
  const masking = maskText(`bad key ${echo}`, rendered.value.secrets.map(prepareMask));
  return masking.kind === 'masked' ? masking.text : masking.kind;
}

describe('a field of a credential that is a JSON object', () => {
  const of = (source: Binding['source']) => binding({ injector: 'api_key', source });
  const setting = { kind: 'platform_setting', setting: 'VENDOR_KEY' } as const;

  it.each<[string, Binding['source']]>([
    ['of a secret', { kind: 'secret', secretId: 'sec_1', field: 'token' }],
    ['of a platform setting', { ...setting, field: 'token' }],
  ])('%s is what is sent, and what is masked', (_, source) => {
    const document = '{"id":"app-1","token":"tok-1234"}';
    expect(render(of(source), document)).toEqual(ok({ value: 'tok-1234', secrets: ['tok-1234'] }));
    for (const other of ['plain', '{"token":7}', '{"id":"app-1"}'])
      expect(render(of(source), other)).toEqual(err('injector'));
  });

  it('is not looked for where none is named', () => {
    for (const source of [setting, { ...setting, field: null }])
      expect(render(of(source), '{"a":1}')).toMatchObject({ value: { value: '{"a":1}' } });
  });
});

describe('a Basic credential', () => {
  it.each([
    ['with nothing as its password', `${key}:`],
    ['with a letter as its password', `${key}:X`],
    ['with a word as its password', `${key}:api_token`],
  ])('whose user name is the key, %s, is masked without its colon too', (_, pair) => {
    expect(shown(pair, key)).toBe('bad key ***');
    expect(shown(pair, btoa(key))).toBe('bad key ***');
    expect(shown(pair, pair)).toBe('bad key ***');
  });

  it('is masked by its password alone, and by the pair', () => {
    expect(shown(`octocat:${key}`, key)).toBe('bad key ***');
    expect(shown(`octocat:${key}`, btoa(`octocat:${key}`))).toBe('bad key ***');
  });

  it.each([
    ['a user name beside a longer password', `octocat:${key}`, 'octocat'],
    ['a half that any text has', 'admin:', 'admin'],
  ])('leaves %s as it is', (_, pair, echo) => {
    expect(shown(pair, echo)).toBe('unchanged');
  });
});

describe('a secret that was stored with a space around it', () => {
  it.each<[string, Partial<Binding>, string]>([
    ['behind it', { injector: 'api_key' }, `${key} `],
    ['in front of it', { injector: 'api_key' }, ` ${key}`],
    ['behind it, as a bearer', { injector: 'bearer' }, `${key}\t`],
    ['behind it, in a query', { location: 'query', injector: 'api_key' }, `${key}\n`],
    ['behind the password', { injector: 'basic' }, `octocat:${key} `],
  ])('is masked as the vendor reads it: %s', (_, parts, secret) => {
    const rendered = render(binding(parts), secret);
    const masks = rendered.ok ? rendered.value.secrets.map(prepareMask) : [];
    expect(maskText(`{"error":"(${key}) is no key"}`, masks)).toEqual({
      kind: 'masked',
      text: '{"error":"(***) is no key"}',
    });
  });

  it('is still sent as it was stored', () => {
    const rendered = render(binding({ location: 'query', injector: 'api_key' }), ` ${key} `);
    expect(rendered.ok && rendered.value.value).toBe(` ${key} `);
  });
});

describe('an Authorization that was stored with its scheme', () => {
  it.each([
    ['Bearer', `Bearer ${key}`, key],
    ['Basic', `Basic ${btoa(`${key}:`)}`, key],
    ['Basic, by its password', `basic  ${btoa(`octocat:${key}`)}`, key],
    ['Basic, as the pair', `Basic ${btoa(`octocat:${key}`)}`, `octocat:${key}`],
    ['Basic, as it was sent', `Basic ${btoa(`octocat:${key}`)}`, btoa(`octocat:${key}`)],
  ])('is masked as the vendor reads it: %s', (_, secret, echo) => {
    const rendered = render(binding({ injector: 'api_key' }), secret);
    const masks = rendered.ok ? rendered.value.secrets.map(prepareMask) : [];
    expect(maskText(`(${echo}) is no key`, masks)).toEqual({
      kind: 'masked',
      text: '(***) is no key',
    });
  });

  it('is a matter of that header only', () => {
    const rendered = render(binding({ name: 'x-words', injector: 'api_key' }), 'hello worldwide');
    expect(rendered.ok && rendered.value.secrets).toEqual(['hello worldwide']);
  });
});
