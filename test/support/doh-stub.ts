/**
 * A scripted DNS-over-HTTPS resolver on loopback: the JSON API (`application/dns-json`) that `EGRESS_RESOLVER` names.
 * Promises: every name has a script or the default one; every question is recorded, so that look-ups can be counted.
 * Must never: ask a real resolver. Called by the proofs of egress and secrets.
 */
import http from 'node:http';
import type { AddressInfo } from 'node:net';

/** One record of an answer section; `type` 1 is A, 5 is CNAME, 28 is AAAA. */
export interface DohRecord {
  readonly type: number;
  readonly data: string;
  readonly ttl?: number;
}

/** What one question gets: an answer section, or bytes that are no answer at all. */
export type DohReply =
  | {
      readonly records: readonly DohRecord[];
      readonly rcode?: number;
      readonly truncated?: boolean;
    }
  | { readonly raw: string; readonly status?: number; readonly location?: string };

/** The answers of one name. `delayMs` comes before the answer. */
export interface DohScript {
  readonly a?: DohReply;
  readonly aaaa?: DohReply;
  readonly delayMs?: number;
}

/** One question that reached the stub. */
export interface DohQuestion {
  readonly name: string;
  readonly type: string;
  readonly atMs: number;
}

export interface DohStub {
  /** For `EGRESS_RESOLVER`. */
  readonly url: string;
  readonly port: number;
  readonly questions: DohQuestion[];
  /** Everything that came in, request lines and headers, for leak searches. */
  readonly received: () => Buffer;
  /** Scripts one name, or `*` for all others. */
  script(name: string, script: DohScript): void;
  /** How often a name was asked for (A and AAAA are two questions). */
  asked(name: string): number;
  close(): Promise<void>;
}

/** A records. */
export const a = (addresses: readonly string[], ttl = 300): DohReply => ({
  records: addresses.map((data) => ({ type: 1, data, ttl })),
});

/** AAAA records. */
export const aaaa = (addresses: readonly string[], ttl = 300): DohReply => ({
  records: addresses.map((data) => ({ type: 28, data, ttl })),
});

/** NOERROR without data, or another response code. */
export const none = (rcode = 0): DohReply => ({ records: [], rcode });

/** The answer of a healthy public name. */
export const publicName: DohScript = { a: a(['93.184.215.14']), aaaa: none() };

/** Starts a resolver on a free loopback port; names without a script are public. */
export async function startDohStub(): Promise<DohStub> {
  const scripts = new Map<string, DohScript>([['*', publicName]]);
  const questions: DohQuestion[] = [];
  const received: string[] = [];
  const server = http.createServer((request, response) => {
    received.push(`${request.method} ${request.url}\n${request.rawHeaders.join('\n')}\n`);
    const url = new URL(request.url ?? '/', 'http://stub');
    const name = url.searchParams.get('name') ?? '';
    const type = url.searchParams.get('type') ?? '';
    questions.push({ name, type, atMs: performance.now() });
    const script = scripts.get(name) ?? scripts.get('*') ?? publicName;
    const reply = (type === 'AAAA' ? script.aaaa : script.a) ?? none();
    const timer = setTimeout(() => write(response, { name, type, reply }), script.delayMs ?? 0);
    response.on('close', () => clearTimeout(timer));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/dns-query`,
    port,
    questions,
    received: () => Buffer.from(received.join('')),
    script: (name, script) => void scripts.set(name, script),
    asked: (name) => questions.filter((question) => question.name === name).length,
    close: () => closed(server),
  };
}

function write(
  response: http.ServerResponse,
  asked: { readonly name: string; readonly type: string; readonly reply: DohReply },
): void {
  const { name, type, reply } = asked;
  if ('raw' in reply) {
    const location = reply.location === undefined ? {} : { location: reply.location };
    response.writeHead(reply.status ?? 200, {
      'content-type': 'application/dns-json',
      ...location,
    });
    response.end(reply.raw);
    return;
  }
  const answer = reply.records.map(({ type: record, data, ttl = 300 }) => ({
    name,
    type: record,
    TTL: ttl,
    data,
  }));
  response.writeHead(200, { 'content-type': 'application/dns-json' });
  response.end(
    JSON.stringify({
      Status: reply.rcode ?? 0,
      TC: reply.truncated ?? false,
      Question: [{ name, type: type === 'AAAA' ? 28 : 1 }],
      ...(answer.length === 0 ? {} : { Answer: answer }),
    }),
  );
}

function closed(server: http.Server): Promise<void> {
  server.closeAllConnections();
  return new Promise((resolve) => server.close(() => resolve()));
}
