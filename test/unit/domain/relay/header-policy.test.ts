/** Which headers stay on their hop, by name: every one of the list, and none that only looks like one. */
import { describe, expect, it } from 'vitest';
import { dropsFromAnswer, dropsFromRequest } from '../../../../src/domain/relay/header-policy';

const hopByHop = [
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
];
const edge = [
  'x-real-ip',
  'forwarded',
  'via',
  'true-client-ip',
  'cdn-loop',
  'ngrok-skip-browser-warning',
  'ngrok-x',
  'x-client-ip',
  'x-cluster-client-ip',
  'fastly-client-ip',
  'fly-client-ip',
  'cf-ray',
  'x-forwarded-for',
];
const ours = ['x-weir-key', 'x-weir-x'];
const theirs = [
  'authorization',
  'cookie',
  'client-ip',
  'cfx',
  'ngrok',
  'x-forwarded',
  'x-weird',
  'vias',
];

describe('of a request', () => {
  it.each([...hopByHop, ...edge, ...ours])('%s stays here', (name) => {
    expect(dropsFromRequest(name, new Set())).toBe(true);
  });

  it.each(theirs)('%s is relayed, unless the deployment names it', (name) => {
    expect(dropsFromRequest(name, new Set())).toBe(false);
    expect(dropsFromRequest(name, new Set([name]))).toBe(true);
  });
});

describe('of an answer', () => {
  it.each([...hopByHop, ...ours])('%s stays here', (name) => {
    expect(dropsFromAnswer(name)).toBe(true);
  });

  it.each([...edge, ...theirs])('%s is relayed', (name) => {
    expect(dropsFromAnswer(name)).toBe(false);
  });
});
