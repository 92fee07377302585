/**
 * Paths against every reading that a server may have of them: escapes undone once, slashes merged, parameters of segments taken off, in any
 * order. What is forbidden is forbidden in each of them, and what passes climbs in none.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { firstDenial } from '../../src/domain/catalog/deny';
import type { DenyRule } from '../../src/domain/catalog/upstream';
import { covers, pathFault } from '../../src/domain/relay/path';

// ── the servers, written apart from the code under test ──

/** The text as bytes, one character each. */
const binary = (text: string): string =>
  String.fromCharCode(...new TextEncoder().encode(text.toWellFormed()));

const decode = (path: string): string => {
  let read = '';
  for (let at = 0; at < path.length; at += 1) {
    const hex = path.slice(at + 1, at + 3);
    const isEscape = path[at] === '%' && /^[0-9a-f]{2}$/i.test(hex);
    read += isEscape ? String.fromCharCode(Number.parseInt(hex, 16)) : (path[at] ?? '');
    at += isEscape ? 2 : 0;
  }
  return read;
};
const merge = (path: string): string => path.split(/\/+/).join('/');
const strip = (path: string): string =>
  path
    .split('/')
    .map((segment) => segment.split(';')[0])
    .join('/');

/** What the servers make of a path; escapes are undone at most once. */
function readBy(path: string, isDecoded = false, seen = new Set<string>()): Set<string> {
  const mark = `${isDecoded} ${path}`;
  if (seen.has(mark)) return new Set();
  seen.add(mark);
  const next = [
    [merge(path), isDecoded],
    [strip(path), isDecoded],
    ...(isDecoded ? [] : [[decode(path), true]]),
  ] as [string, boolean][];
  return new Set([path, ...next.flatMap(([to, done]) => [...readBy(to, done, seen)])]);
}

const piece = fc.constantFrom(
  ...['a', 'b', 'é', '/', '/', '/', '//', ';', ';', '%3b', '%3B', '%2f', '%2F', '%61', '%62'],
  ...['.', '..', '%2e', '%2E', '\\', '%5c', '%5C', '%', '%zz', '%25', '%252e', '%252f', '%c3%a9'],
  ...['%c0%ae', '%ff', '=1', ' ', '{', '+'],
);
const path = fc.array(piece, { maxLength: 8 }).map((pieces) => `/${pieces.join('')}`);
const rulePath = fc
  .array(fc.constantFrom('/a', '/b', '/%61', '/é', '/ab', '/%C3%A9', '/a%2Fb'), {
    minLength: 1,
    maxLength: 3,
  })
  .map((segments) => segments.join(''));

/** What may stand between two segments without parting them for somebody. */
const padding = fc.array(
  fc.constantFrom(';', '%3b', 'a', '=1', '%2f', '%2F', '/', '%61', ';', '%c3%a9'),
  { maxLength: 3 },
);
/** The forbidden path as somebody writes it who wants to slip past. */
const disguised = (forbidden: string): fc.Arbitrary<string> =>
  fc
    .array(fc.tuple(padding, fc.constantFrom('/', '/', '//', '%2f')), {
      minLength: 4,
      maxLength: 4,
    })
    .map((gaps) => {
      const segments = forbidden.split('/').slice(1);
      const texts = segments.map((segment, at) => {
        const [pad = [], slash = '/'] = gaps[at] ?? [];
        const spelled = segment === 'a' ? '%61' : segment;
        const params = pad.length === 0 ? '' : `;${pad.join('')}`;
        return `${at === 0 ? '/' : slash}${at % 2 === 0 ? segment : spelled}${params}`;
      });
      return texts.join('');
    });

const attempt = rulePath.chain((forbidden) =>
  fc.tuple(fc.constant(forbidden), fc.oneof(path, disguised(forbidden), disguised(forbidden))),
);

const any = { host: null, method: null, principalId: null, projectId: null };
const call = { host: 'api.t', method: 'GET', principalId: 'prn_1', projectId: null };

describe('a path', () => {
  it('that passes climbs for no server, whatever it undoes first', () => {
    fc.assert(
      fc.property(path, (text) => {
        if (pathFault(text) !== null) return;
        for (const read of readBy(binary(text))) {
          expect(read).not.toContain('\\');
          expect(read.split('/').filter((segment) => /^\.\.?$/.test(segment))).toEqual([]);
        }
      }),
      { numRuns: 2_000 },
    );
  });

  it('is forbidden by a rule exactly when a server reads in it what the rule forbids', () => {
    fc.assert(
      fc.property(attempt, ([forbidden, text]) => {
        const rule: DenyRule = { id: 'den_1', ...any, path: forbidden };
        const prefix = decode(binary(forbidden));
        const isForbidden = [...readBy(binary(text))].some((read) => covers(prefix, read));
        const denial = firstDenial([rule], { ...call, path: text });
        expect(denial).toBe(isForbidden ? rule : null);
      }),
      { numRuns: 2_000 },
    );
  });
});
