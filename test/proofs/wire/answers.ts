/**
 * Rows: the head of an answer. Status line and header lines come back as the upstream sent them,
 * plus four lines of ours and minus what the contract names. Called by ../wire.ts.
 */
import { same } from '../../support/proof.ts';
import { headersOf } from '../../support/raw-client.ts';
import { reply } from '../../support/recording-origin.ts';
import { bringsBack, comesBack, relay, type Stand, sized, type WireRow } from './stand.ts';

const target = (stand: Stand): string => `${stand.bound.path}/a`;

export const answerRows: readonly WireRow[] = [
  {
    n: 76,
    kind: 'kept',
    title: 'Status and reason phrase come back, a made-up or empty reason included',
    why: 'digest A11: an answer of theirs is relayed whatever its status',
    run: async (stand) => {
      for (const status of [
        '200 Fine By Me',
        '200 ',
        '201 Created',
        '226 IM Used',
        '299 Odd',
        '418 Teapot',
      ]) {
        await bringsBack(stand, status, ['X-A: 1'], 'body');
      }
    },
  },
  {
    n: 77,
    kind: 'kept',
    title: '4xx and 5xx answers come back as theirs, marked X-Weir-Error-Source: upstream',
    why: 'decisions section 6: an upstream error is an answer',
    run: async (stand) => {
      for (const status of [
        '400 Bad',
        '401 No',
        '403 Forbidden',
        '404 Gone?',
        '429 Slow',
        '500 Oops',
        '503 Later',
        '599 X',
      ]) {
        await bringsBack(
          stand,
          status,
          ['Retry-After: 7', 'Content-Type: text/plain'],
          'vendor text',
        );
      }
    },
  },
  {
    n: 42,
    kind: 'change',
    title:
      'Four headers are added: X-Weir-Call-Id, X-Weir-Error-Source, X-Content-Type-Options: ' +
      'nosniff, Content-Security-Policy: sandbox',
    why: 'digest A3 answers; decisions section 6',
    run: async (stand) => {
      const { answer } = await relay(stand, {
        target: target(stand),
        reply: reply('200 OK', [], 'x'),
      });
      same(answer.lines.length, 5, `lines of ${JSON.stringify(answer.head)}`);
      comesBack(answer, '200 OK', [sized('x')], 'x');
    },
  },
  {
    n: 43,
    kind: 'change',
    title:
      "A vendor's own Content-Security-Policy stays beside ours; its X-Content-Type-Options " +
      'is replaced',
    why: 'policies add up (CSP 3 section 8.1): neither side loosens the other',
    run: async (stand) => {
      const lines = ["Content-Security-Policy: default-src 'self'", 'X-Content-Type-Options: none'];
      const { answer } = await relay(stand, {
        target: target(stand),
        reply: reply('200 OK', lines, 'x'),
      });
      same(
        headersOf(answer.lines, 'content-security-policy'),
        ["default-src 'self'", 'sandbox'],
        'policies',
      );
      same(headersOf(answer.lines, 'x-content-type-options'), ['nosniff'], 'nosniff');
    },
  },
  {
    n: 44,
    kind: 'change',
    title: 'X-Weir-* headers of an upstream are dropped: it cannot speak for the gateway',
    why: 'digest B5: x-oagw-* removed from answers',
    run: async (stand) => {
      const forged = [
        'X-Weir-Error: 1',
        'X-Weir-Error-Source: gateway',
        'x-weir-Call-Id: call_X',
        'X-Weir-Cost-Micro: 0',
      ];
      const { answer } = await relay(stand, {
        target: target(stand),
        reply: reply('200 OK', forged, 'x'),
      });
      comesBack(answer, '200 OK', [sized('x')], 'x');
    },
  },
  {
    n: 45,
    kind: 'change',
    title: 'Hop-by-hop headers of an answer are dropped, with those that its Connection names',
    why: 'digest A3 answers; RFC 9110 7.6.1',
    run: async (stand) => {
      const hops = [
        'Connection: keep-alive, X-Hop',
        'X-Hop: 1',
        'Keep-Alive: timeout=5',
        'Proxy-Authenticate: Basic',
        'Upgrade: h2c',
        'Proxy-Connection: x',
      ];
      const { answer } = await relay(stand, {
        target: target(stand),
        reply: reply('200 OK', [...hops, 'X-A: 1'], 'x'),
      });
      comesBack(answer, '200 OK', ['X-A: 1', sized('x')], 'x');
    },
  },
  {
    n: 78,
    kind: 'kept',
    cases: ['C001'],
    title:
      'Set-Cookie lines come back one by one, in their order, with their bytes; 3 and 60 of them',
    why: 'RFC 9110 5.3, RFC 6265 3',
    run: async (stand) => {
      const three = ['a=1; Expires=Wed, 21 Oct 2037 07:28:00 GMT', 'b=2', 'b=3; Path=/, x'];
      const sixty = Array.from({ length: 60 }, (_, i) => `c${i}=${i}; Secure`);
      for (const cookies of [three, sixty]) {
        const lines = cookies.map((c) => `Set-Cookie: ${c}`);
        const { answer } = await relay(stand, {
          target: target(stand),
          reply: reply('200 OK', lines, ''),
        });
        same(headersOf(answer.lines, 'set-cookie'), cookies, 'cookies');
      }
    },
  },
  {
    n: 46,
    kind: 'change',
    title: "A Set-Cookie of Weir's own cookie names is dropped; the others keep their order",
    why: 'digest A3 answers: no fixation; C007',
    run: async (stand) => {
      const lines = [
        '__Host-weir_session=evil; Secure',
        'z=1',
        '__Host-weir_session2=k',
        '__Host-weir_oauth=e',
        'a=2; x="__Host-weir_session=1"',
      ];
      const set = lines.map((c) => `Set-Cookie: ${c}`);
      const { answer } = await relay(stand, {
        target: target(stand),
        reply: reply('200 OK', set, ''),
      });
      same(
        headersOf(answer.lines, 'set-cookie'),
        [1, 2, 4].map((i) => lines[i]),
        'cookies',
      );
    },
  },
  {
    n: 79,
    kind: 'kept',
    cases: ['C008'],
    title: 'Non-ASCII bytes in header values come back as the same bytes',
    why: 'RFC 9110 5.5: obs-text is opaque',
    run: async (stand) => {
      const lines = [
        'Content-Disposition: attachment; filename="\xe4\xb8\xad.pdf"',
        'X-L: \xe9',
        'Set-Cookie: a=\xe9',
      ];
      await bringsBack(stand, '200 OK', lines, 'pdf');
    },
  },
  {
    n: 80,
    kind: 'kept',
    title: 'Names keep their case, repeated lines of other names stay apart and in order',
    why: 'digest A3: all else relayed',
    run: (stand) =>
      bringsBack(
        stand,
        '200 OK',
        ['X-DUP: 1', 'X-DUP: 2', 'x-RateLimit-Remaining: 7', 'ETag: "a"', 'X-Empty: '],
        'x',
      ),
  },
  {
    n: 81,
    kind: 'kept',
    title: '40 KiB of response headers come back whole',
    why: 'C011: a limit of ours must not blame the vendor; there is none here',
    run: (stand) =>
      bringsBack(
        stand,
        '200 OK',
        Array.from({ length: 40 }, (_, i) => `X-L${i}: ${'v'.repeat(1_024)}`),
        'x',
      ),
  },
  {
    n: 82,
    kind: 'kept',
    title:
      'Redirects 301, 302, 303, 307 and 308 are never followed; Location comes back byte for byte',
    why: 'digest A3 mechanics: a redirect would carry the credential to another host',
    run: async (stand) => {
      const places = [
        '/../next?a=%2f#f',
        'https://elsewhere.test/x',
        '//elsewhere.test',
        'a b',
        '/\xc3\xa9',
        `http://${stand.second.authority}/`,
      ];
      for (const code of [301, 302, 303, 307, 308]) {
        for (const place of places)
          await bringsBack(stand, `${code} Moved`, [`Location: ${place}`], '');
      }
      same(stand.second.requests.length, 0, 'requests at the redirect target');
    },
  },
  {
    n: 47,
    kind: 'change',
    title: "The upstream's header rules edit the answer: remove, then set, then add",
    why: 'digest B5 rule order; registered by the tenant',
    run: async (stand) => {
      const response = { remove: ['Server'], set: { 'x-set': 'ours' }, add: { 'x-add': 'more' } };
      const upstream = await stand.register({ header_rules: { request: {}, response } });
      const lines = ['Server: nginx', 'x-set: theirs', 'x-add: first', 'X-Keep: yes'];
      const { answer } = await relay(stand, {
        target: `${upstream.path}/a`,
        reply: reply('200 OK', lines, 'x'),
      });
      comesBack(
        answer,
        '200 OK',
        ['x-set: ours', 'x-add: first', 'x-add: more', 'X-Keep: yes', sized('x')],
        'x',
      );
    },
  },
];
