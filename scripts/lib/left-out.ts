/**
 * Parts of drizzle and hono that the bundle leaves out: a class keeps all its methods, so no bundler can see that nobody calls them.
 * Of drizzle they are the relational query API, every form that takes a callback or names a subquery (`(t) => …`, `with`, `as`),
 * `$count`, and the enums of Postgres; of hono other frameworks' apps, form bodies and HTML. Nothing here uses any of them.
 * Promises: whoever does use one gets an error that says so, never a silent wrong answer; a package that looks different stops the build.
 * Called by build.ts.
 */
import { readFile } from 'node:fs/promises';
import type { Plugin } from 'esbuild';

const unused = [
  'drizzle-orm/relations',
  'drizzle-orm/selection-proxy',
  'drizzle-orm/sqlite-core/columns/all',
  'drizzle-orm/sqlite-core/query-builders/count',
  'drizzle-orm/sqlite-core/query-builders/query',
  'drizzle-orm/sqlite-core/query-builders/query-builder',
  'hono/dist/utils/body',
  'hono/dist/utils/html',
  'hono/dist/utils/mount',
];
const unusedFile = new RegExp(`/(?:${unused.join('|')})\\.js$`);
const dialect = /drizzle-orm\/sqlite-core\/dialect\.js$/;
const pgEnums = /drizzle-orm\/pg-core\/columns\/enum\.js$/;

export const leftOut: Plugin = {
  name: 'weir:left-out',
  setup(build) {
    build.onLoad({ filter: unusedFile }, async ({ path }) => {
      const [, list] = /^export \{([^}]+)\}/m.exec(await readFile(path, 'utf8')) ?? [];
      if (list === undefined) throw new Error(`${path} exports nothing`);
      const names = list.split(',').map((name) => name.trim());
      return { contents: names.map(thrower).join('\n'), loader: 'js' };
    });
    build.onLoad({ filter: dialect }, async ({ path }) => ({
      contents: withoutMethod(await readFile(path, 'utf8'), 'buildRelationalQuery'),
      loader: 'js',
    }));
    // Asked of every part of a statement.
    build.onLoad({ filter: pgEnums }, () => ({
      contents: 'export const isPgEnum = () => false;',
      loader: 'js',
    }));
  },
};

/** A function or a class, in place of any value. */
const thrower = (name: string): string =>
  `export function ${name}() { throw new Error('scripts/lib/left-out.ts: ${name}') }`;

/** A class's source without one method: what would call it finds none, and throws. */
function withoutMethod(source: string, name: string): string {
  const parts = source.split(new RegExp(`^  ${name}\\([^]*?^  }$\\n`, 'm'));
  if (parts.length !== 2) throw new Error(`drizzle has ${parts.length - 1} methods ${name}`);
  return parts.join('');
}
