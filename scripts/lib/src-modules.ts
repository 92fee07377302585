/**
 * Lets a script import modules of `src/` as values: those name each other without an ending, as the bundler wants it, and Node wants
 * one. Promises: only relative names without an ending, from inside `src/`, are completed. Must be called before the `import()` that
 * needs it. Called by catalog.ts.
 */
import { registerHooks } from 'node:module';

const src = new URL('../../src/', import.meta.url).href;

/** From here on `import()` finds modules of `src/`. */
export function resolveSrcModules(): void {
  registerHooks({
    resolve: (specifier, context, next) => {
      const isOurs = context.parentURL?.startsWith(src) === true && specifier.startsWith('.');
      return next(isOurs && !/\.[a-z]+$/.test(specifier) ? `${specifier}.ts` : specifier, context);
    },
  });
}
