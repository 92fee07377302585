/** URLs that callers give, against the platform's parser and a library's reading of addresses: what passes has one meaning, and it is public. */
import fc from 'fast-check';
import ipaddr from 'ipaddr.js';
import { describe, expect, it } from 'vitest';
import { parseTarget, repairScheme } from '../../src/domain/egress/target-url';

const policy = { allow: { pairs: new Set<string>() }, gatewayHosts: ['gw.t'], httpsOnly: false };
const scheme = fc.constantFrom(
  ...[
    'https://',
    'https://',
    'https://',
    'http://',
    'HTTPS://',
    'https:/',
    'https:',
    'https:\\\\',
    'ftp://',
    '//',
    '',
  ],
);
const hostPiece = fc.constantFrom(
  ...['api', 'vendor', 'com', '.', '.', '127', '0x7f', '0177', '10', '8', '1', '256', '%2e', '%31'],
  ...[
    'localhost',
    'gw.t',
    '@',
    ':',
    '[',
    ']',
    '::1',
    '::ffff:127.0.0.1',
    '2606:4700::1',
    '64:ff9b::7f00:1',
  ],
  ...['\\', '-', '_', 'é', 'xn--', 'ⓐ', '。', '１', '\u00ad', '\u200d', 'ﬁ', 'K', '#', '?', '/'],
);
const host = fc.oneof(
  fc.array(hostPiece, { maxLength: 7 }).map((pieces) => pieces.join('')),
  fc
    .array(fc.constantFrom('0', '1', '8', '10', '127', '169', '192', '168', '254', '2130706433'), {
      minLength: 1,
      maxLength: 4,
    })
    .map((parts) => parts.join('.')),
  fc.ipV6().map((text) => `[${text}]`),
  fc.constantFrom('api.vendor.com', 'API.vendor.COM.', '8.8.8.8', 'bücher.de', 'gw.t', 'GW.T.'),
);
const port = fc.constantFrom('', '', ':443', ':80', ':8443', ':0', ':065', ':65536', ':', ':a');
const rest = fc.constantFrom(
  '',
  '/',
  '/a',
  '/a/../b',
  '?q',
  '#x',
  '/a#x',
  '\\x',
  '/%2e%2e/',
  '/a b',
);
const url = fc.tuple(scheme, host, port, rest).map((parts) => parts.join(''));

describe('a target URL', () => {
  it('that passes goes where the platform goes, to a public place that is not the gateway', () => {
    fc.assert(
      fc.property(url, (raw) => {
        const parsed = parseTarget(raw, policy);
        if (!parsed.ok) return;
        const { authority, host: ours, judged, port: number, scheme: by } = parsed.value;
        const theirs = new URL(raw);
        const sent = new URL(`${by}://${authority}/x`);
        expect(theirs.protocol).toBe(`${by}:`);
        expect([theirs.username, theirs.password]).toEqual(['', '']);
        expect(theirs.hostname.replace(/\.$/, '')).toBe(sent.hostname);
        expect(sent.hostname.replace(/^\[|\]$/g, '')).toBe(ours);
        expect(Number(theirs.port || (by === 'https' ? 443 : 80))).toBe(number);
        expect(ours).not.toBe('gw.t');
        const isAddress = ipaddr.isValid(ours);
        expect(judged.kind).toBe(isAddress ? 'address' : 'name');
        if (isAddress) expect(ipaddr.process(ours).range()).toBe('unicast');
        else
          expect(ours).toMatch(
            /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9-]*[a-z][a-z0-9-]*$/,
          );
      }),
      { numRuns: 3_000 },
    );
  });

  it('keeps its path and query byte for byte', () => {
    fc.assert(
      fc.property(rest, fc.string({ unit: 'grapheme-ascii' }), (first, more) => {
        const tail = (first + more).replace(/^[^/?#]+/, '');
        const parsed = parseTarget(`https://api.vendor.com${tail}`, policy);
        if (parsed.ok) expect(parsed.value.rest).toBe(tail);
        else expect(tail).toMatch(/[\s#]|^\\/);
      }),
      { numRuns: 1_000 },
    );
  });

  it('has its collapsed slash again, and nothing else repaired', () => {
    fc.assert(
      fc.property(url, (raw) => {
        const repaired = repairScheme(raw);
        if (repaired !== raw) expect(repaired.replace('://', ':/')).toBe(raw);
        expect(repairScheme(repaired)).toBe(repaired);
      }),
      { numRuns: 500 },
    );
  });
});
