/**
 * Counted D1: a real database that counts the queries made of it. Deployed, an event that makes a thousand is ended in its middle; a local
 * D1 counts nothing. Each statement of a batch is one.
 */

/** Queries that one event of the platform may make (D1, limits; paid plan). */
export const queriesPerEventMax = 1_000;

const asking: ReadonlySet<PropertyKey> = new Set(['run', 'all', 'first', 'raw']);

/** The database behind a counter. */
export function countedD1(real: D1Database): {
  readonly db: D1Database;
  readonly made: () => number;
} {
  let made = 0;
  const inside = new WeakMap<object, D1PreparedStatement>();
  const counted = (statement: D1PreparedStatement): D1PreparedStatement => {
    const outside = new Proxy(statement, {
      get(target, name) {
        if (name === 'bind') return (...values: unknown[]) => counted(target.bind(...values));
        const member: unknown = Reflect.get(target, name);
        if (typeof member !== 'function') return member;
        return (...args: unknown[]) => {
          if (asking.has(name)) made += 1;
          return Reflect.apply(member, target, args);
        };
      },
    });
    inside.set(outside, statement);
    return outside;
  };
  const db = {
    prepare: (sql: string) => counted(real.prepare(sql)),
    batch: (statements: readonly D1PreparedStatement[]) => {
      made += statements.length;
      return real.batch(statements.map((each) => inside.get(each) ?? each));
    },
  } as unknown as D1Database;
  return { db, made: () => made };
}
