/** SSE origin of the bench: n events, each stamped with the monotonic clock that all processes of the machine share. */
import http from 'node:http';

const [port = '0', credential = ''] = process.argv.slice(2);
const pad = 'x'.repeat(120);

http
  .createServer((request, response) => {
    if (request.headers.authorization !== `Bearer ${credential}`) {
      response.writeHead(401).end();
      return;
    }
    const url = new URL(request.url ?? '/', 'http://origin');
    const events = Number(url.searchParams.get('n') ?? 200);
    const gapMs = Number(url.searchParams.get('gap') ?? 5);
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
    response.socket?.setNoDelay(true);
    let sent = 0;
    const timer = setInterval(() => {
      if (sent >= events) {
        clearInterval(timer);
        response.end('data: [DONE]\n\n');
        return;
      }
      response.write(
        `id: ${sent}\ndata: {"t":"${process.hrtime.bigint()}","i":${sent},"pad":"${pad}"}\n\n`,
      );
      sent += 1;
    }, gapMs);
    response.on('close', () => clearInterval(timer));
  })
  .listen(Number(port), '127.0.0.1');
