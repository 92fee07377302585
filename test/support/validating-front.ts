/**
 * A front on loopback that gives a registry's answers an ETag and honours If-None-Match: for
 * registries that send no validators, so that a real client still makes conditional requests
 * through the gateway. Bodies are the registry's own. Called by the real-upstream proof.
 */
import { createHash } from 'node:crypto';
import http from 'node:http';
import type { AddressInfo } from 'node:net';

export interface ValidatingFront {
  readonly port: number;
  readonly authority: string;
  readonly close: () => Promise<void>;
}

/** Starts a front of `origin` (a URL with path). */
export async function startValidatingFront(origin: URL): Promise<ValidatingFront> {
  const server = http.createServer((request, response) => {
    forward(origin, request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    port,
    authority: `127.0.0.1:${port}`,
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

async function forward(
  origin: URL,
  request: http.IncomingMessage,
  response: http.ServerResponse,
): Promise<void> {
  const { accept = '*/*', 'if-none-match': known } = request.headers;
  const answer = await fetch(`${origin.origin}${request.url}`, { headers: { accept } });
  const body = Buffer.from(await answer.arrayBuffer());
  const etag = `"${createHash('sha256').update(body).digest('hex')}"`;
  if (answer.status === 200 && known === etag) {
    response.writeHead(304, { etag }).end();
    return;
  }
  const type = answer.headers.get('content-type') ?? 'application/octet-stream';
  response.writeHead(answer.status, { etag, 'content-type': type, 'content-length': body.length });
  response.end(body);
}
