/**
 * 07 guard: our own host, the address rules, the resolver, the credentials; nothing after a "no" is
 * asked.
 */
import { describe, expect, it } from 'vitest';
import { err, ok, type Result } from '../../../src/base/result';
import { type GuardPorts, guard } from '../../../src/call/07-guard';
import type { ResolvedCall } from '../../../src/call/call';
import type { Refusal } from '../../../src/domain/refusal';
import type { PreparedCredentials } from '../../../src/ports/credentials';
import { authorized, backgroundOf, noCredentials, startMs, upstream } from './calls';

interface Answers {
  readonly egress?: Result<void, Refusal>;
  readonly credentials?: Result<PreparedCredentials, Refusal>;
  readonly allow?: readonly string[];
  readonly later?: boolean;
}

function portsOf(answers: Answers): { ports: GuardPorts; asked: unknown[][] } {
  const asked: unknown[][] = [];
  const soon = <T>(value: T) => (answers.later ? Promise.resolve(value) : value);
  const ports: GuardPorts = {
    egress: {
      check: (...args) => {
        asked.push(['egress', ...args.slice(0, 4)]);
        return soon(answers.egress ?? ok(undefined));
      },
    },
    egressPolicy: {
      allow: { pairs: new Set(answers.allow) },
      gatewayHosts: ['self.t'],
      httpsOnly: true,
    },
    credentials: {
      prepare: (_upstream, _tenant, nowMs) => {
        asked.push(['credentials', nowMs]);
        return soon(answers.credentials ?? ok(noCredentials));
      },
    },
  };
  return { ports, asked };
}

const run = async (parts: Partial<ResolvedCall> = {}, answers: Answers = {}) => {
  const { ports, asked } = portsOf(answers);
  const call = authorized(parts);
  return { call, asked, result: await guard(call, ports, backgroundOf()) };
};
const at = (host: string, port = 443) => ({ endpoint: { host, port } });

describe('guard', () => {
  it.each([false, true])('a public host with its credentials passes (later: %s)', async (later) => {
    const { call, asked, result } = await run({}, { later });
    expect(result).toEqual(ok({ ...call, credentials: noCredentials }));
    const egress = ['egress', 'api.t', 443, 'name', startMs];
    expect(asked).toEqual([egress, ['credentials', startMs]]);
  });

  it.each([
    ['the host that the call came in on', at('gw.test')],
    ['the gateway’s own name', at('self.t')],
    ['a private address', at('10.0.0.1')],
    ['plain http', { upstream: upstream({ scheme: 'http' }), ...at('api.t', 80) }],
  ])('%s is refused before anything is asked', async (_, parts) => {
    const { asked, result } = await run(parts);
    const host = (parts as ResolvedCall).endpoint.host;
    expect(result).toEqual(err({ code: 'egress.blocked', host }));
    expect(asked).toEqual([]);
  });

  it('another port of the host that the call came in on is not a loop', async () => {
    expect((await run(at('gw.test', 8443))).result.ok).toBe(true);
  });

  it('an allowed pair is told to the resolver as allowed', async () => {
    const parts = { upstream: upstream({ scheme: 'http' }), ...at('127.0.0.1', 9000) };
    const { asked, result } = await run(parts, { allow: ['127.0.0.1:9000'] });
    expect([result.ok, asked[0]?.[3]]).toEqual([true, 'allowed']);
  });

  it.each<Refusal>([
    { code: 'egress.blocked', host: 'api.t' },
    { code: 'egress.unresolved', host: 'api.t' },
  ])('the resolver says %j: no credential is opened', async (refusal) => {
    const { asked, result } = await run({}, { egress: err(refusal) });
    expect(result).toEqual(err(refusal));
    expect(asked.map(([port]) => port)).toEqual(['egress']);
  });

  it.each<Refusal>([
    { code: 'secret.not_found' },
    { code: 'credential.unavailable', reason: 'injector' },
    { code: 'config.unavailable', retryAfterMs: 1_000 },
  ])('the credentials say %j', async (refusal) => {
    expect((await run({}, { credentials: err(refusal) })).result).toEqual(err(refusal));
  });
});
