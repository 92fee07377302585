/** Planted defects: what the detector must see before its silence means anything. `kind` null is a clean connection. */
import type { Defect } from './detector.ts';

const clean =
  'GET /m/1 HTTP/1.1\r\nHost: o\r\nAuthorization: Bearer sk-smuggling-credential\r\n\r\n';
const post = 'POST /m/1 HTTP/1.1\r\nHost: o\r\n';

export const planted: readonly { readonly kind: Defect['kind'] | null; readonly bytes: string }[] =
  [
    { kind: null, bytes: clean },
    { kind: null, bytes: `${post}Content-Length: 5\r\n\r\nGET /` },
    { kind: null, bytes: `${post}Transfer-Encoding: chunked\r\n\r\n5\r\nGET /\r\n0\r\n\r\n` },
    { kind: null, bytes: `${post}Transfer-Encoding: chunked\r\n\r\n5\r\nGE` },
    { kind: 'second request', bytes: clean + clean },
    {
      kind: 'second request',
      bytes: `${post}Content-Length: 0\r\n\r\nGET /evil HTTP/1.1\r\nHost: o\r\n\r\n`,
    },
    {
      kind: 'second credential',
      bytes: clean.replace('\r\n\r\n', '\r\nX: sk-smuggling-credential\r\n\r\n'),
    },
    { kind: 'stray bytes', bytes: `${clean}GET /evil HTTP/1.1\r\nX: ` },
    { kind: 'request line', bytes: 'GET /m/1\nHTTP/1.1\r\nHost: o\r\n\r\n' },
    { kind: 'request line', bytes: 'GET /m/1 HTTP/1.32\r\nHost: o\r\n\r\n' },
    { kind: 'header line', bytes: `${post}Transfer-Encoding : chunked\r\n\r\n` },
    { kind: 'header line', bytes: `${post} folded: chunked\r\n\r\n` },
    { kind: 'header line', bytes: `${post}Transfer-Encoding\xff: chunked\r\n\r\n` },
    { kind: 'control byte', bytes: `${post}X: a\rTransfer-Encoding: chunked\r\n\r\n` },
    { kind: 'control byte', bytes: `${post}X: a\nTransfer-Encoding: chunked\r\n\r\n` },
    { kind: 'control byte', bytes: `${post}X: a\x00b\r\n\r\n` },
    { kind: 'control byte', bytes: `${post}X: a\x7fb\r\n\r\n` },
    {
      kind: 'length and chunked',
      bytes: `${post}Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    },
    { kind: 'transfer coding', bytes: `${post}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n` },
    {
      kind: 'transfer coding',
      bytes: `${post}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    },
    { kind: 'content length', bytes: `${post}Content-Length: +1\r\n\r\n` },
    { kind: 'content length', bytes: `${post}Content-Length: 1\r\nContent-Length: 1\r\n\r\nZ` },
    {
      kind: 'chunk framing',
      bytes: `${post}Transfer-Encoding: chunked\r\n\r\n0_2\r\nab\r\n0\r\n\r\n`,
    },
    { kind: 'dropped header', bytes: `${post}X-Weir-Key: x\r\n\r\n` },
    { kind: 'mangled name', bytes: `${post}Transfer_Encoding: chunked\r\n\r\n` },
    { kind: 'mangled name', bytes: `${post}|Transfer-Encoding: chunked\r\n\r\n` },
  ];
