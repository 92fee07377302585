/**
 * The demo vendor: a small scripted API on loopback that behaves like a paid one. JSON, SSE, an
 * error, a file, a WebSocket echo.
 * Promises: answers only to its own credential (bearer or x-api-key), 401 otherwise; never sends
 * the credential back.
 * Must never: listen beyond loopback. Called by start (the demo upstream) and by the proofs, which
 * read what it saw.
 */
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import {
  type ChatRequest,
  chatCompletion,
  chatCompletionEvents,
  errorDocument,
  message,
  messageEvents,
  modelList,
  readChatRequest,
  type ServerSentEvent,
} from './shapes.ts';

/** A request as it reached the vendor. */
export interface SeenRequest {
  readonly method: string;
  readonly target: string;
  /** Name, value, name, value, … as received. */
  readonly rawHeaders: readonly string[];
  readonly body: string;
}

/** How to run a vendor. */
export interface VendorOptions {
  /** The only credential that it accepts. */
  readonly credential: string;
  /** 0 or nothing: any free port. */
  readonly port?: number;
  /** Pause between two streamed events, milliseconds. */
  readonly pauseMs?: number;
}

/** A running vendor. */
export interface Vendor {
  readonly port: number;
  readonly authority: string;
  /** The latest requests, refused ones too; the oldest are forgotten. */
  readonly seen: SeenRequest[];
  readonly close: () => Promise<void>;
}

/** Requests that are remembered. */
const seenMax = 200;
/** Largest body that the demo reads, bytes. */
const bodyBytesMax = 1024 * 1024;

/** Starts a vendor on loopback. Rejects when the port is taken. */
export async function startVendor(options: VendorOptions): Promise<Vendor> {
  const seen: SeenRequest[] = [];
  const remember = (request: http.IncomingMessage, body: string): void => {
    const { method = '', url = '', rawHeaders } = request;
    seen.push({ method, target: url, rawHeaders, body });
    if (seen.length > seenMax) seen.shift();
  };
  const server = http.createServer((request, response) => {
    const handle = (body: string): void => {
      remember(request, body);
      const { credential, pauseMs = 20 } = options;
      if (isAuthorized(request, credential)) answer({ request, response, body, pauseMs });
      else sendError(response, 401, 'authentication_error', 'Incorrect API key provided.');
    };
    // A request that breaks off has nobody to answer.
    readBody(request).then(handle, () => response.destroy());
  });
  const sockets = echoServer();
  server.on('upgrade', (request, socket, head) => {
    remember(request, '');
    upgrade(sockets, request, socket, head, options.credential);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port ?? 0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  return { port, authority: `127.0.0.1:${port}`, seen, close: () => close(server, sockets) };
}

function isAuthorized(request: http.IncomingMessage, credential: string): boolean {
  const { authorization, 'x-api-key': apiKey } = request.headers;
  return authorization === `Bearer ${credential}` || apiKey === credential;
}

/** One authorized request and where its answer goes. */
interface Exchange {
  readonly request: http.IncomingMessage;
  readonly response: http.ServerResponse;
  readonly body: string;
  readonly pauseMs: number;
}

/** Method and path → what the vendor does. */
const operations: Readonly<Record<string, (exchange: Exchange) => void>> = {
  'GET /v1/models': ({ request, response }) =>
    sendJson(response, 200, { ...modelList, demo: whatItSaw(request) }),
  'POST /v1/chat/completions': (exchange) =>
    sendChat(exchange, chatCompletion, chatCompletionEvents),
  'POST /v1/messages': (exchange) => sendChat(exchange, message, messageEvents),
  'GET /v1/error': ({ response }) =>
    sendError(response, 400, 'invalid_request_error', 'This is the error that you asked for.'),
  'GET /v1/file': ({ response }) => sendFile(response),
  'GET /v1/echo': ({ response }) =>
    sendError(response, 426, 'invalid_request_error', 'This path speaks WebSocket only.'),
};

const operationOf = ({ method, url = '' }: http.IncomingMessage): string =>
  `${method} ${url.split('?')[0]}`;

function answer(exchange: Exchange): void {
  const operation = operationOf(exchange.request);
  const run = Object.hasOwn(operations, operation) ? operations[operation] : undefined;
  if (run !== undefined) run(exchange);
  else sendError(exchange.response, 404, 'not_found_error', `There is no ${operation}.`);
}

/** Whole or streamed, as the request says. */
function sendChat(
  { response, body, pauseMs }: Exchange,
  whole: (chat: ChatRequest) => object,
  events: (chat: ChatRequest) => readonly ServerSentEvent[],
): void {
  const chat = readChatRequest(body);
  if (chat.stream) sendEvents(response, events(chat), pauseMs);
  else sendJson(response, 200, whole(chat));
}

/**
 * What a newcomer wants to know: the vendor's own credential came, and the gateway's key did not.
 */
const whatItSaw = (request: http.IncomingMessage): object => ({
  vendor_credential: 'accepted',
  weir_key: mentionsWeirKey(request) ? 'LEAKED' : 'not seen',
});

const mentionsWeirKey = (request: http.IncomingMessage): boolean =>
  [request.url ?? '', ...request.rawHeaders].some((text) => text.includes('wk_'));

function sendJson(response: http.ServerResponse, status: number, document: object): void {
  const body = `${JSON.stringify(document)}\n`;
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
  });
  response.end(body);
}

function sendError(
  response: http.ServerResponse,
  status: number,
  type: string,
  text: string,
): void {
  sendJson(response, status, errorDocument(type, text));
}

function sendFile(response: http.ServerResponse): void {
  const rows = Array.from({ length: 1000 }, (_, i) => `${i},${i * i}`);
  const body = `n,square\n${rows.join('\n')}\n`;
  response.writeHead(200, {
    'content-type': 'text/csv',
    'content-disposition': 'attachment; filename="squares.csv"',
    'content-length': Buffer.byteLength(body),
  });
  response.end(body);
}

function sendEvents(
  response: http.ServerResponse,
  events: readonly ServerSentEvent[],
  pauseMs: number,
): void {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  let next = 0;
  const timer = setInterval(() => {
    const event = events[next];
    next += 1;
    if (event !== undefined) response.write(`${event}\n\n`);
    if (next < events.length) return;
    clearInterval(timer);
    response.end();
  }, pauseMs);
  response.on('close', () => clearInterval(timer));
}

/** Echoes every message; picks the first offered subprotocol, as servers do. */
function echoServer(): WebSocketServer {
  const sockets = new WebSocketServer({ noServer: true });
  sockets.on('connection', (socket: WebSocket) => {
    socket.on('error', () => socket.terminate());
    socket.on('message', (data, isBinary) => socket.send(data, { binary: isBinary }));
  });
  return sockets;
}

function upgrade(
  sockets: WebSocketServer,
  request: http.IncomingMessage,
  socket: Duplex,
  head: Buffer,
  credential: string,
): void {
  socket.on('error', () => socket.destroy());
  const known = operationOf(request) === 'GET /v1/echo';
  const refusal = isAuthorized(request, credential)
    ? known
      ? null
      : '404 Not Found'
    : '401 Unauthorized';
  if (refusal !== null) {
    socket.end(`HTTP/1.1 ${refusal}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`);
    return;
  }
  sockets.handleUpgrade(request, socket, head, (opened) =>
    sockets.emit('connection', opened, request),
  );
}

async function readBody(request: http.IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.byteLength;
    if (bytes <= bodyBytesMax) chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function close(server: http.Server, sockets: WebSocketServer): Promise<void> {
  for (const client of sockets.clients) client.terminate();
  server.closeAllConnections();
  return new Promise((resolve) => server.close(() => resolve()));
}
