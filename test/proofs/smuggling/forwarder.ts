/**
 * The control of the smuggling proof: a relay that copies bytes and adds the credential, in front of an origin that only listens.
 * Promises: nothing here understands HTTP, so whatever the corpus smuggles arrives.
 */
import net from 'node:net';

/** A running control; `received` is what each connection carried since the last `clear`. */
export interface Forwarder {
  readonly port: number;
  readonly received: () => readonly Buffer[];
  readonly clear: () => void;
  readonly close: () => Promise<void>;
}

/** Starts both on free loopback ports. `line` is the header line that the relay adds behind the request line. */
export async function startForwarder(line: string): Promise<Forwarder> {
  let carried: Buffer[][] = [];
  const origin = net.createServer((socket) => {
    const chunks: Buffer[] = [];
    carried.push(chunks);
    socket.on('error', () => undefined);
    socket.on('data', (chunk: Buffer) => void chunks.push(chunk));
    socket.on('end', () => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'));
  });
  const target = await listening(origin);
  const relay = net.createServer({ allowHalfOpen: true }, (client) =>
    forward(client, target, line),
  );
  const port = await listening(relay);
  return {
    port,
    received: () => carried.map((chunks) => Buffer.concat(chunks)),
    clear() {
      carried = [];
    },
    async close() {
      await Promise.all([relay, origin].map((server) => new Promise((done) => server.close(done))));
    },
  };
}

function forward(client: net.Socket, target: number, line: string): void {
  const upstream = net.connect({ port: target, host: '127.0.0.1', allowHalfOpen: true });
  client.on('error', () => upstream.destroy());
  upstream.on('error', () => client.destroy());
  client.once('data', (first: Buffer) => {
    const end = first.indexOf('\n') + 1;
    upstream.write(
      Buffer.concat([first.subarray(0, end), Buffer.from(`${line}\r\n`), first.subarray(end)]),
    );
    client.pipe(upstream);
  });
  upstream.pipe(client);
}

async function listening(server: net.Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  return (server.address() as net.AddressInfo).port;
}
