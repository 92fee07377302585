/**
 * Operation: one row of the management API; the router and the OpenAPI document are both made from
 * the same rows, so they cannot drift. Promises: a handler gets a body that its schema accepted and
 * must give what its answer schema describes (the compiler checks it). Called by the resource files
 * (make rows) and by `api.ts`, `openapi.ts` (read them).
 */
import type * as z from 'zod/mini';
import { assert } from '../base/assert';
import { ok, type Result } from '../base/result';
import type { Refusal } from '../domain/refusal';
import type { AccessKey, Permission } from '../domain/tenancy/access';
import type { Background } from '../ports/config';
import type { Stored } from '../ports/store';
import { parsed } from './body';
import type { ManagementServices } from './services';

/** Where the management API is mounted. */
export const apiBase = '/api/v1';

/** Who acts: the operator of the deployment, or an access key with its principal's role. */
export type Actor =
  | { readonly kind: 'operator' }
  | { readonly kind: 'key'; readonly key: AccessKey };

/** What is known of one request before its handler runs. */
export interface CallFacts {
  readonly services: ManagementServices;
  readonly actor: Actor;
  /**
   * The tenant that is acted in and its ancestors, leaf first; empty for the operator who named
   * none.
   */
  readonly chain: readonly string[];
  /** The id in the path; empty when the path has none. */
  readonly id: string;
  readonly query: ReadonlyMap<string, string>;
  readonly nowMs: number;
  /** `host[:port]` that the request came to. */
  readonly requestHost: string;
  readonly background: Background;
}

/** One request. */
export class Call {
  readonly facts: CallFacts;

  constructor(facts: CallFacts) {
    this.facts = facts;
  }

  get services(): ManagementServices {
    return this.facts.services;
  }

  /**
   * The tenant that is acted in; `null` only for the operator in an operation of scope `tree` or
   * `gateway`.
   */
  get acting(): string | null {
    return this.facts.chain[0] ?? null;
  }

  /** The same where the scope guarantees one. */
  get tenantId(): string {
    assert(this.acting !== null, 'an operation of scope tenant runs in a tenant');
    return this.acting;
  }

  /**
   * What a write of a tenant's configuration gave, by default of the one that is acted in. Once it
   * is stored this isolate knows; every other one notices the raised version.
   */
  async wrote<T>(write: Stored<T>, tenantId = this.tenantId): Stored<T> {
    const written = await write;
    if (written.ok) this.services.config.forget(tenantId);
    return written;
  }
}

/**
 * Whether an operation acts in one tenant, on the tenant tree (the operator may name no tenant), or
 * on the whole gateway.
 */
export type Scope = 'tenant' | 'tree' | 'gateway';

/** A query parameter. */
export interface QueryField {
  readonly description: string;
  readonly integer?: boolean;
}

/** What every row has. `path` is below {@link apiBase}, with `{id}`. */
interface Head {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly path: string;
  readonly summary: string;
  readonly permission: Permission | 'operator';
  readonly scope?: Scope;
  readonly query?: Readonly<Record<string, QueryField>>;
  /** What `{id}` may look like; anything else is an unknown id and reaches no store. */
  readonly id?: RegExp;
  /** Handles `format=csv` and `Accept: text/csv`; `null`: there is JSON only. */
  readonly csv?: ((call: Call) => Promise<Result<CsvPage, Refusal>>) | null;
}

/** A page as CSV (RFC 4180), and the query parameter of the page behind it. */
export interface CsvPage {
  readonly text: string;
  readonly next: { readonly name: string; readonly value: string } | null;
}

/** A row of the management API, as the router and the document read it. */
export interface Operation extends Required<Head> {
  readonly body: z.ZodMiniType | null;
  /** Of the answer; a text is sent as it is. */
  readonly media: 'application/json' | 'text/plain';
  readonly status: 200 | 201 | 204;
  readonly answer: z.ZodMiniType | null;
  /** `body` is the parsed JSON document, `undefined` when the operation takes none. */
  readonly run: (call: Call, body: unknown) => Promise<Result<unknown, Refusal>>;
}

type Handled<T> = Promise<Result<T, Refusal>>;

/** A stored row as it is on the wire. */
export async function onWire<R, W>(stored: Stored<R>, toWire: (row: R) => W): Handled<W> {
  const row = await stored;
  return row.ok ? ok(toWire(row.value)) : row;
}

/** A row without a body and with an answer. */
export function answering<A extends z.ZodMiniType>(
  spec: Head & { readonly answer: A; readonly handle: (call: Call) => Handled<z.output<A>> },
): Operation {
  const { handle, answer, ...head } = spec;
  return { ...defaults, ...head, body: null, status: 200, answer, run: (call) => handle(call) };
}

/** A row without a body, whose answer is a text. */
export function telling(
  spec: Omit<Head, 'method'> & { readonly handle: (call: Call) => Handled<string> },
): Operation {
  const { handle, ...head } = spec;
  const run: Operation['run'] = (call) => handle(call);
  const answered = { media: 'text/plain', status: 200, answer: null } as const;
  return { ...defaults, ...head, ...answered, method: 'GET', body: null, run };
}

/** A row with a body and an answer. */
export function writing<B extends z.ZodMiniType, A extends z.ZodMiniType>(
  spec: Head & {
    readonly body: B;
    readonly status: 200 | 201;
    readonly answer: A;
    readonly handle: (call: Call, body: z.output<B>) => Handled<z.output<A>>;
  },
): Operation {
  const { handle, ...head } = spec;
  const run: Operation['run'] = async (call, document) => {
    const body = parsed(spec.body, document);
    return body.ok ? handle(call, body.value) : body;
  };
  return { ...defaults, ...head, run };
}

/** A row without body and answer. */
export function removing(
  spec: Omit<Head, 'method'> & { readonly handle: (call: Call) => Handled<void> },
): Operation {
  const { handle, ...head } = spec;
  const run: Operation['run'] = (call) => handle(call);
  return { ...defaults, ...head, method: 'DELETE', body: null, status: 204, answer: null, run };
}

/** A typed id: prefix and ULID. */
const typedId = /^(?:ten|prj|prn|key|sec|ups|rte|den)_[0-9A-HJKMNP-TV-Z]{26}$/;

const defaults = {
  scope: 'tenant',
  query: {},
  id: typedId,
  csv: null,
  media: 'application/json',
} as const;
