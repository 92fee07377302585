import { describe, expect, it } from 'vitest';
import {
  type BindingBody,
  bindingBody,
  bindingWire,
  judgeBindings,
  secretNames,
} from '../../../src/control-plane/bindings';

const known = {
  secretIds: new Map([['vendor', 'sec_1']]),
  settings: new Set(['shared_key']),
};
const binding = (fields: Partial<BindingBody> = {}): BindingBody => ({
  location: 'header',
  name: 'X-Api-Key',
  secret: 'cred://vendor',
  ...fields,
});
/** A binding without its default secret. */
const bare = (fields: Partial<BindingBody>): BindingBody => {
  const { secret, ...rest } = binding();
  return { ...rest, ...fields };
};
const issues = (...bodies: BindingBody[]) => {
  const judged = judgeBindings(bodies, known);
  return judged.ok ? [] : judged.error.map((issue) => issue.path);
};

describe('a binding', () => {
  it.each([
    ['a secret as it is', binding(), { injector: 'api_key', format: null }],
    ['bearer', binding({ injector: 'bearer' }), { injector: 'bearer' }],
    ['basic in a header', binding({ injector: 'basic' }), { injector: 'basic' }],
    [
      'a format',
      binding({ injector: 'custom', format: 'key {secret}' }),
      { format: 'key {secret}' },
    ],
    ['a placeholder twice', binding({ injector: 'custom', format: '{secret}:{secret}' }), {}],
    [
      'a field of a secret',
      binding({ secret_field: 'token' }),
      { source: { kind: 'secret', secretId: 'sec_1', field: 'token' } },
    ],
    [
      'a constant',
      bare({ value: '2023-06-01' }),
      { injector: 'custom', format: '2023-06-01', source: { kind: 'constant' } },
    ],
    ['a constant with braces', bare({ value: '{"a":1}' }), { format: '{"a":1}' }],
    [
      'a constant as a format',
      bare({ injector: 'custom', format: '2023-06-01' }),
      { source: { kind: 'constant' } },
    ],
    [
      'a platform setting',
      bare({ platform_setting: 'shared_key' }),
      { source: { kind: 'platform_setting', setting: 'shared_key' } },
    ],
    ['a cookie', binding({ name: 'Cookie' }), { name: 'cookie' }],
    [
      'a query name in its own case',
      binding({ location: 'query', name: 'apiKey' }),
      { name: 'apiKey' },
    ],
    ['a JSON field', binding({ location: 'json', name: 'api_key' }), { location: 'json' }],
  ])('may be %s', (_, body, expected) => {
    const judged = judgeBindings([body], known);
    expect(judged).toMatchObject({ ok: true, value: [expected] });
  });

  it.each([
    ['two sources', binding({ value: 'x' }), 'secret'],
    ['a secret and a setting', binding({ platform_setting: 'shared_key' }), 'secret'],
    ['no source', bare({}), 'secret'],
    [
      'a placeholder without a source',
      bare({ injector: 'custom', format: 'a {secret}' }),
      'secret',
    ],
    ['an unknown secret', binding({ secret: 'cred://other' }), 'secret'],
    ['an unknown setting', bare({ platform_setting: 'other' }), 'platform_setting'],
    [
      'a secret that its format never uses',
      binding({ injector: 'custom', format: 'constant' }),
      'format',
    ],
    ['another placeholder', binding({ injector: 'custom', format: '{secret} {user}' }), 'format'],
    ['an open brace', binding({ injector: 'custom', format: '{secret} {' }), 'format'],
    ['a format for api_key', binding({ format: '{secret}' }), 'format'],
    ['a format for bearer', binding({ injector: 'bearer', format: '{secret}' }), 'format'],
    ['custom without a format', binding({ injector: 'custom' }), 'format'],
    [
      'a control character in a format',
      binding({ injector: 'custom', format: '{secret}\r\nx: y' }),
      'format',
    ],
    ['a control character in a constant', bare({ value: 'a\nb' }), 'value'],
    ['a value with a placeholder', bare({ value: '{secret}' }), 'value'],
    ['a value with an injector', bare({ value: 'x', injector: 'bearer' }), 'injector'],
    ['a field without a secret', bare({ value: 'x', secret_field: 'token' }), 'secret_field'],
    ['basic in a query', binding({ location: 'query', injector: 'basic' }), 'injector'],
    ['basic in JSON', binding({ location: 'json', name: 'a', injector: 'basic' }), 'injector'],
    ['a nested JSON field', binding({ location: 'json', name: 'auth.key' }), 'name'],
    ['a JSON pointer', binding({ location: 'json', name: '/auth' }), 'name'],
    [
      'a control character in a query name',
      binding({ location: 'query', name: 'a\u0000' }),
      'name',
    ],
    ['a header name with a space', binding({ name: 'X Key' }), 'name'],
    ['a header name with a colon', binding({ name: 'X-Key:' }), 'name'],
  ])('may not be %s', (_, body, path) => {
    expect(issues(body)).toEqual([`bindings.0.${path}`]);
  });

  it.each([
    'Host',
    'Content-Length',
    'transfer-encoding',
    'Connection',
    'Keep-Alive',
    'TE',
    'Trailer',
    'Upgrade',
    'Proxy-Authorization',
    'Proxy-Connection',
    'X-Weir-Key',
    'x-weir-anything',
  ])('may not be the header %s', (name) => {
    expect(issues(binding({ name }))).toEqual(['bindings.0.name']);
  });

  it('has a target of its own, header names in any case', () => {
    expect(issues(binding(), binding({ name: 'x-api-KEY' }))).toEqual(['bindings.1.name']);
    expect(issues(binding(), binding({ location: 'query' }))).toEqual([]);
    const query = (name: string) => binding({ location: 'query', name });
    expect(issues(query('key'), query('KEY'))).toEqual([]);
    expect(issues(query('key'), query('key'))).toEqual(['bindings.1.name']);
  });

  it('is shown in a form that can be sent back', () => {
    const bodies = [
      binding({ injector: 'custom', format: 'k {secret}' }),
      binding({ name: 'x-2', secret_field: 'token' }),
      bare({ name: 'x-3', value: 'constant' }),
      bare({ name: 'x-4', platform_setting: 'shared_key' }),
    ];
    const first = judgeBindings(bodies, known);
    if (!first.ok) throw new Error('refused');
    const names = new Map([['sec_1', 'vendor']]);
    const shown = first.value.map((b) => bindingBody.parse(bindingWire(b, names)));
    expect(judgeBindings(shown, known)).toEqual(first);
  });

  it('shows a secret that is out of sight as null', () => {
    const judged = judgeBindings([binding()], known);
    if (!judged.ok) throw new Error('refused');
    expect(judged.value.map((b) => bindingWire(b, new Map()))).toMatchObject([{ secret: null }]);
  });

  it('names the secrets to look up', () => {
    expect(secretNames([binding(), bare({ value: 'x' })])).toEqual(['vendor']);
  });
});
