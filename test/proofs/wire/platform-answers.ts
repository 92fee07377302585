/**
 * Rows: what a caller gets of a call on the platform account (tier 4): an answer that was read for
 * its price, a stream, a repeat. Called by ../wire.ts.
 */
import { holds, same } from '../../support/proof.ts';
import { headerOf, type RawAnswer, type RawConnection } from '../../support/raw-client.ts';
import { type RecordedRequest, reply } from '../../support/recording-origin.ts';
import { costOf, json, lowered, post, units } from './meter-calls.ts';
import {
  chunk,
  comesBack,
  open,
  relay,
  type Stand,
  sameBytes,
  send,
  sized,
  type WireRow,
  within,
} from './stand.ts';

const head =
  'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n';
const event = (text: string): string => `data: ${text}\n\n`;

/** Opens a call whose answer the row writes: the caller's side, and the vendor's. */
async function driven(
  stand: Stand,
  headers: readonly string[] = [],
): Promise<{ readonly client: RawConnection; readonly vendor: RecordedRequest }> {
  stand.origin.clear();
  stand.origin.answer(() => undefined);
  const client = await open(stand, post('usage', headers));
  return { client, vendor: await stand.origin.arrived() };
}

export const platformAnswerRows: readonly WireRow[] = [
  {
    n: 167,
    kind: 'platform',
    title:
      'X-Weir-Cost-Micro is added where the cost is known before the headers; status, lines and bytes stay',
    why: 'issue 3: what a call cost; a vendor cannot say it for us (X-Weir-* of an upstream are dropped)',
    run: async (stand) => {
      const text = units(7);
      const answer = (
        await relay(stand, { ...post('usage'), reply: reply('201 Made', ['X-A: 1', json], text) })
      ).answer;
      comesBack(answer, '201 Made', ['X-A: 1', json, sized(text), 'x-weir-cost-micro: 7'], text);
      const failed = await relay(stand, {
        ...post('usage'),
        reply: reply('500 Oops', [json], '{}'),
      });
      comesBack(failed.answer, '500 Oops', [json, sized('{}')], '{}');
    },
  },
  {
    n: 168,
    kind: 'platform',
    title:
      'A JSON answer that says what it costs has a Content-Length, also when it came chunked; its bytes stay',
    why: 'issue 3: read whole within 8 MiB, before any header goes out',
    run: async (stand) => {
      const text = units(9);
      const chunked = `HTTP/1.1 200 OK\r\n${json}\r\nTransfer-Encoding: chunked\r\n\r\n`;
      const bytes = Buffer.from(
        chunked + chunk(text.slice(0, 9)) + chunk(text.slice(9)) + chunk(''),
      );
      const { answer } = await relay(stand, { ...post('usage'), reply: bytes });
      comesBack(answer, '200 OK', [json, sized(text), 'x-weir-cost-micro: 9'], text);
    },
  },
  {
    n: 169,
    kind: 'platform',
    title:
      "The vendor's own charge is cut out of the body, with digests and ETag that no longer fit; " +
      'X-Weir-Keep-Reported-Charge keeps it',
    why: "digest A5: the operator's price is not the caller's to read; every other byte stays",
    run: async (stand) => {
      const text = '{ "a": 1.0, "usage": { "cost": 0.000042, "n": 2 } }';
      const cut = '{ "a": 1.0, "usage": { "n": 2 } }';
      const told = reply('200 OK', [json, 'ETag: "x"', 'Content-MD5: y'], text);
      const { answer } = await relay(stand, { ...post('told'), reply: told });
      comesBack(answer, '200 OK', [json, sized(cut), 'x-weir-cost-micro: 42'], cut);
      const kept = ['X-Weir-Keep-Reported-Charge: 1'];
      const whole = await relay(stand, { ...post('told', kept), reply: told });
      sameBytes(whole.answer.body, text, 'kept body');
      same(headerOf(whole.answer.lines, 'etag'), '"x"', 'kept ETag');
    },
  },
  {
    n: 170,
    kind: 'platform',
    title:
      'An event stream is read as it passes: each event at once, every byte the same, no cost in its head',
    why: 'issue 3: metered SSE streams unbuffered; its charge is in the call row',
    run: async (stand) => {
      const { client, vendor } = await driven(stand);
      const { socket } = vendor.connection;
      const events = [event('{"n":1}'), event('{"usage":{"units":5}}'), event('[DONE]')];
      socket.write(head);
      for (const [at, text] of events.entries()) {
        socket.write(chunk(text));
        const all = events.slice(0, at + 1).join('');
        await client.until(() => bodyOf(client) === all, 5_000);
      }
      socket.write('0\r\n\r\n');
      const answer = await client.answer('POST');
      client.close();
      comesBack(
        answer,
        '200 OK',
        ['Content-Type: text/event-stream', 'Transfer-Encoding: chunked'],
        events.join(''),
      );
      same(costOf(answer), null, 'cost in the head');
    },
  },
  {
    n: 171,
    kind: 'platform',
    title:
      'A repeat with the same Idempotency-Key gets the first status, lines and bytes, its own call id ' +
      'and X-Weir-Idempotent-Replay: true; names perhaps in lower case, lines of one name joined (Set-Cookie never), ' +
      'the usual reason; nothing is sent',
    why:
      'decisions section 5: 24 hours; replay comes before caps and hold; a record has names and values as JavaScript reads them: ' +
      'bytes that are no UTF-8 become U+FFFD, and the runtime sorts more than 16 Set-Cookie lines its own way',
    run: async (stand) => {
      const keyed = post('usage', ['Idempotency-Key: wire-171']);
      const bytes = '{"usage":{"units":3},"odd":"\\u00e9 \xe9"}';
      const first = await relay(stand, {
        ...keyed,
        reply: reply('202 Quite so', ['X-A: 1', 'X-A: 2', 'X-B: caf\xe9', json], bytes),
      });
      const again = await send(stand, { ...keyed, reply: reply('500 Never', [], 'no') });
      same(again.requests.length, 0, 'sends of the repeat');
      const callId = headerOf(again.answer.lines, 'x-weir-call-id');
      holds(callId !== headerOf(first.answer.lines, 'x-weir-call-id'), 'two calls, one id');
      const shown = (answer: RawAnswer): string[] =>
        lowered(answer.lines).filter(
          (line) => !/^x-weir-(?:call-id|idempotent-replay):/.test(line),
        );
      same(again.answer.status, first.answer.status, 'status');
      const recorded = shown(first.answer)
        .filter((line) => line !== 'x-a: 2')
        .map((line) => line.replace(/^x-a: 1$/, 'x-a: 1, 2').replace('caf\xe9', 'caf\xef\xbf\xbd'));
      same(shown(again.answer), recorded, 'lines');
      same(again.answer.statusLine, 'HTTP/1.1 202 Accepted', 'reason');
      sameBytes(again.answer.body, first.answer.body, 'body');
      same(headerOf(again.answer.lines, 'x-weir-idempotent-replay'), 'true', 'mark');
      same(headerOf(first.answer.lines, 'x-weir-idempotent-replay'), null, 'mark of the first');
    },
  },
  {
    n: 172,
    kind: 'platform',
    title:
      'A caller that leaves closes nothing: the upstream is read to its end, for 30 seconds at most',
    why: 'decisions section 4, tier 4: hanging up is no way to a free answer',
    run: async (stand) => {
      const { client, vendor } = await driven(stand);
      vendor.connection.socket.write(head + chunk(event('{"n":1}')));
      await client.until(() => bodyOf(client) !== '');
      client.reset();
      vendor.connection.socket.write(chunk(event('{"usage":{"units":5}}')));
      const settled = await settledBy(stand, 5, async () => {
        vendor.connection.socket.write(chunk(event('[DONE]')) + chunk(''));
      });
      same(vendor.connection.closedAtMs, null, 'closed by us');
      return settled;
    },
  },
  {
    n: 173,
    kind: 'platform',
    title: 'An answer above 8 MiB whose price must be read is a 502 of ours, before any byte of it',
    why: 'issue 3: response_buffer_limit, nothing charged',
    run: async (stand) => {
      const large = reply('200 OK', [json], Buffer.alloc(8 * 2 ** 20 + 1, ' '));
      const { answer, requests } = await send(stand, { ...post('usage'), reply: large });
      same(answer.status, 502, 'status');
      holds(answer.body.toString().includes('response_buffer_limit'), answer.body.toString());
      same(requests.length, 1, 'sends');
    },
  },
];

/** The body so far, without its chunks. */
function bodyOf(client: RawConnection): string {
  const text = client.bytes.toString('latin1');
  const at = text.indexOf('\r\n\r\n');
  return at < 0 ? '' : [...text.slice(at + 4).matchAll(/data: [^\n]*\n\n/g)].join('');
}

/** Micro-USD that the tenant's ledger has settled. */
async function settledMicros({ gateway, tenant }: Stand): Promise<number> {
  const { body: view } = await gateway.api('GET', `/api/v1/ledger?tenant=${tenant.tenantId}`);
  return view.open_holds === 0 ? view.settled_micros : -1;
}

/** Runs `act`, then waits until the ledger has settled so much more. */
async function settledBy(stand: Stand, micros: number, act: () => Promise<void>): Promise<string> {
  const { gateway, tenant } = stand;
  const path = `/api/v1/ledger?tenant=${tenant.tenantId}`;
  const before = (await gateway.api('GET', path)).body.settled_micros as number;
  await act();
  let now = -1;
  let asking = false;
  const ms = await within(10_000, `settled ${micros} more`, () => {
    if (!asking) {
      asking = true;
      void settledMicros(stand).then((settled) => {
        now = settled;
        asking = false;
      });
    }
    return now === before + micros;
  });
  return `settled ${micros} after ${Math.round(ms)} ms`;
}
