/**
 * Parts of drizzle that the bundle leaves out: a class keeps all its methods, so no bundler can see that nobody calls them. They are the
 * relational query API, the callback form of a table (`(t) => …`), and the enums of Postgres; no store uses any of them.
 * Promises: whoever does use one gets an error that says so, never a silent wrong answer; a drizzle that looks different stops the build.
 * Called by build.ts.
 */
import { readFile } from 'node:fs/promises';
import type { Plugin } from 'esbuild';

const unused =
  /drizzle-orm\/(?:relations|sqlite-core\/(?:query-builders\/query|columns\/all))\.js$/;
const dialect = /drizzle-orm\/sqlite-core\/dialect\.js$/;
const pgEnums = /drizzle-orm\/pg-core\/columns\/enum\.js$/;

export const leftOut: Plugin = {
  name: 'weir:left-out',
  setup(build) {
    build.onLoad({ filter: unused }, async ({ path }) => {
      const [, list = ''] = /^export \{([^}]+)\}/m.exec(await readFile(path, 'utf8')) ?? [];
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

const thrower = (name: string): string =>
  `export class ${name} { constructor() { throw new Error('scripts/lib/left-out.ts: ${name}') } }`;

/** A class's source without one method: what would call it finds none, and throws. */
function withoutMethod(source: string, name: string): string {
  const parts = source.split(new RegExp(`^  ${name}\\([^]*?^  }$\\n`, 'm'));
  if (parts.length !== 2) throw new Error(`drizzle has ${parts.length - 1} methods ${name}`);
  return parts.join('');
}
