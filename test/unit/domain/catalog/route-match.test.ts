/**
 * Which route guards a call (decisions section 5, digest B2): method, then the longest path, then
 * the higher priority; what lies behind a route's path belongs to it only when it says so.
 */
import { describe, expect, it } from 'vitest';
import { matchRoute, routeOrder } from '../../../../src/domain/catalog/route-match';
import type { Route } from '../../../../src/domain/catalog/upstream';
import { route } from '../../call/calls';

const chosen = (routes: readonly Route[], path: string, method = 'GET'): string | null =>
  matchRoute([...routes].sort(routeOrder), method, path)?.id ?? null;

describe('of several routes that cover a call', () => {
  const short = route({ id: 'rte_short', path: '/v1', priority: 9 });
  const long = route({ id: 'rte_long', path: '/v1/models', priority: 0 });
  const other = route({ id: 'rte_other', path: '/v1/models', priority: 5, methods: ['POST'] });

  it('the longest path wins, whatever the priorities, and a segment is not cut', () => {
    expect(chosen([short, long], '/v1/models/x')).toBe('rte_long');
    expect(chosen([short, long], '/v1/models2')).toBe('rte_short');
    expect(chosen([short, long], '/v10')).toBeNull();
  });

  it('one of another method does not count, however long or high', () => {
    expect(chosen([short, long, other], '/v1/models', 'GET')).toBe('rte_long');
    expect(chosen([short, long, other], '/v1/models', 'POST')).toBe('rte_other');
    expect(chosen([short, long, other], '/v1/models', 'HEAD')).toBeNull();
  });

  it('the higher number wins among equal paths, in whatever order they are stored', () => {
    const high = route({ id: 'rte_high', path: '/v1/models', priority: 1 });
    const low = route({ id: 'rte_low', path: '/v1/models', priority: -1 });
    for (const routes of [
      [high, long, low],
      [low, long, high],
    ])
      expect(chosen(routes, '/v1/models')).toBe('rte_high');
  });
});

describe('a route that takes no suffix', () => {
  const exact = route({ id: 'rte_exact', path: '/v1/models', suffixMode: 'disabled' });

  it.each(['/v1/models', '/v1/models/'])('is its own path: %s', (path) => {
    expect(chosen([exact], path)).toBe('rte_exact');
  });

  it.each(['/v1/models/x', '/v1/models//x', '/v1/models//', '/v1', '/v1/modelsx', ''])(
    'is nothing else: %s',
    (path) => {
      expect(chosen([exact], path)).toBeNull();
    },
  );

  it('leaves what lies behind it to a shorter one that takes suffixes', () => {
    const rest = route({ id: 'rte_rest', path: '/v1' });
    expect(chosen([exact, rest], '/v1/models/x')).toBe('rte_rest');
    expect(chosen([exact, rest], '/v1/models')).toBe('rte_exact');
  });

  it('at the root is the root alone', () => {
    const root = route({ id: 'rte_root', path: '/', suffixMode: 'disabled' });
    expect(['', '/', '/x'].map((path) => chosen([root], path))).toEqual([
      'rte_root',
      'rte_root',
      null,
    ]);
  });
});
