/**
 * Parts of drizzle that the bundle leaves out: a class keeps all its methods, so no bundler can see that nobody calls them. They are the
 * relational query API and the callback form of a table (`(t) => …`); no store uses either.
 * Promises: whoever does use one gets an error that says so, never a silent wrong answer. Called by build.ts.
 */
import { readFile } from 'node:fs/promises';
import type { Plugin } from 'esbuild';

const unused =
  /drizzle-orm\/(?:relations|sqlite-core\/(?:query-builders\/query|columns\/all))\.js$/;

export const leftOut: Plugin = {
  name: 'weir:left-out',
  setup(build) {
    build.onLoad({ filter: unused }, async ({ path }) => {
      const [, list = ''] = /^export \{([^}]+)\}/m.exec(await readFile(path, 'utf8')) ?? [];
      const names = list.split(',').map((name) => name.trim());
      return { contents: names.map(thrower).join('\n'), loader: 'js' };
    });
  },
};

const thrower = (name: string): string =>
  `export class ${name} { constructor() { throw new Error('scripts/lib/left-out.ts: ${name}') } }`;
