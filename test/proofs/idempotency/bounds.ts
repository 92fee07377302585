/** Bounds of keys, bodies and answers. Called by test/proofs/idempotency.ts. */
import {
  keyedBodyBytesMax,
  meteredAnswerBytesMax,
  recordAnswerBytesMax,
  recordInlineBodyBytesMax,
  recordKeyCharsMax,
  sseEventBytesMax,
} from '../../../src/base/limits-money.ts';
import { newCase } from '../../support/money-world.ts';
import { callMicros } from '../../support/money-world-catalog.ts';
import { chunk, lastChunk, streamHead, usageReply } from '../../support/priced-origin.ts';
import { holds, same } from '../../support/proof.ts';
import { exchange } from '../../support/raw-client.ts';
import { fresh, keyed, type Named, refused, sameAnswer, spent } from './stand.ts';

const json = (bytes: number): Buffer => Buffer.from(`{"a":"${'x'.repeat(bytes - 8)}"}`);

/** The same request with a body that declares no length. */
function asChunked(request: Buffer, body: Buffer): Buffer {
  const head = request
    .toString('latin1')
    .replace('Content-Length: 0', 'Transfer-Encoding: chunked');
  const size = `${body.length.toString(16)}\r\n`;
  return Buffer.concat([Buffer.from(head + size, 'latin1'), body, Buffer.from('\r\n0\r\n\r\n')]);
}

export const bounds: readonly Named[] = [
  [
    `a key of ${recordKeyCharsMax} characters is a key; of ${recordKeyCharsMax + 1}: 400 before anything is sent (payment API: 255)`,
    async (world) => {
      const tenant = await world.tenant();
      const [caseId, longCase] = [newCase(), newCase()];
      const key = `${caseId}${'k'.repeat(recordKeyCharsMax)}`.slice(0, recordKeyCharsMax);
      const first = fresh(await tenant.call('lab.fixed', { caseId, key }));
      sameAnswer(first, await tenant.call('lab.fixed', { caseId, key }));
      const longer = await tenant.call('lab.fixed', { caseId: longCase, key: `${key}k` });
      refused(longer, 400, 'idempotency.key_invalid', { reason: 'too_long' });
      same(world.origin.arrivals(longCase), 0, 'requests with a long key at the vendor');
      await spent(world, tenant, { caseId, hits: 1, micros: callMicros });
    },
  ],
  [
    'an empty key is no key: 400, nothing is sent',
    async (world) => {
      const tenant = await world.tenant();
      const caseId = newCase();
      const answer = await tenant.call('lab.fixed', { caseId, key: '' });
      refused(answer, 400, 'idempotency.key_invalid', { reason: 'empty' });
      await spent(world, tenant, { caseId, hits: 0, micros: 0 });
    },
  ],
  [
    'keys that differ in bytes which are no UTF-8 are never one key: 400, nothing is sent',
    async (world) => {
      const tenant = await world.tenant();
      const call = keyed();
      // What Python and Node send of ä and ö.
      for (const byte of ['\u00e4', '\u00f6']) {
        const answer = await tenant.call('lab.fixed', { ...call, key: `${call.key}-${byte}` });
        refused(answer, 400, 'idempotency.key_invalid', { reason: 'not_utf8' });
      }
      await spent(world, tenant, { caseId: call.caseId, hits: 0, micros: 0 });
    },
  ],
  [
    'keys that differ in a character beyond ASCII are two keys',
    async (world) => {
      const tenant = await world.tenant();
      const call = keyed();
      for (const char of ['\u00e4', '\u00f6']) {
        const key = Buffer.from(`${call.key}-${char}`).toString('latin1');
        const first = fresh(await tenant.call('lab.fixed', { ...call, key }));
        sameAnswer(first, await tenant.call('lab.fixed', { ...call, key }));
      }
      await spent(world, tenant, { caseId: call.caseId, hits: 2, micros: 2 * callMicros });
    },
  ],
  [
    'IETF 2.1: a key in quotes is a key of its own: what is inside is not read',
    async (world) => {
      const tenant = await world.tenant();
      const call = keyed();
      fresh(await tenant.call('lab.fixed', call));
      fresh(await tenant.call('lab.fixed', { ...call, key: `"${call.key}"` }));
      await spent(world, tenant, { caseId: call.caseId, hits: 2, micros: 2 * callMicros });
    },
  ],
  [
    'two Idempotency-Key lines are a key of their own, never one of the two',
    async (world) => {
      const tenant = await world.tenant();
      const call = keyed();
      fresh(await tenant.call('lab.fixed', call));
      const headers = [`Idempotency-Key: ${call.key}-b`];
      const first = fresh(await tenant.call('lab.fixed', { ...call, headers }));
      sameAnswer(first, await tenant.call('lab.fixed', { ...call, headers }));
      await spent(world, tenant, { caseId: call.caseId, hits: 2, micros: 2 * callMicros });
    },
  ],
  [
    'a keyed body of 1 MiB is executed once; one byte more is 413, declared or chunked, and 200 without a key',
    async (world) => {
      const tenant = await world.tenant();
      const call = keyed({ body: json(keyedBodyBytesMax) });
      const first = fresh(await tenant.call('lab.fixed', call));
      sameAnswer(first, await tenant.call('lab.fixed', call));
      const body = json(keyedBodyBytesMax + 1);
      const large = keyed({ body });
      const tooLarge = { bytes_max: keyedBodyBytesMax };
      refused(await tenant.call('lab.fixed', large), 413, 'payload.too_large', tooLarge);
      const chunked = asChunked(tenant.request('lab.fixed', { ...large, body: '' }), body);
      const answer = await exchange(world.isolates.ports[0] as number, chunked);
      refused(answer, 413, 'payload.too_large', tooLarge);
      same(world.origin.arrivals(large.caseId), 0, 'large keyed bodies at the vendor');
      const unkeyed = newCase();
      fresh(await tenant.call('lab.fixed', { caseId: unkeyed, body }));
      await spent(world, tenant, { caseId: unkeyed, hits: 1, micros: 2 * callMicros });
    },
  ],
  [
    'an answer beyond what the ledger keeps itself is replayed byte for byte all the same',
    async (world) => {
      const tenant = await world.tenant();
      const call = keyed();
      const large = usageReply(1, { text: 'x'.repeat(2 * recordInlineBodyBytesMax) });
      world.origin.planFor(call.caseId, ({ complete }) => complete(large));
      const first = fresh(await tenant.call('lab.fixed', call));
      sameAnswer(first, await tenant.call('lab.fixed', { ...call, isolate: 1 }));
      await spent(world, tenant, { caseId: call.caseId, hits: 1, micros: callMicros });
    },
  ],
  [
    'an answer that is too large to be metered is 502 and not charged; its key is unknown, not free: the vendor did execute it',
    async (world) => {
      const tenant = await world.tenant();
      const call = keyed();
      const large = usageReply(1, { text: 'x'.repeat(meteredAnswerBytesMax) });
      world.origin.planFor(call.caseId, ({ complete }) => complete(large));
      const bytesMax = { bytes_max: meteredAnswerBytesMax };
      refused(await tenant.call('lab.usage', call), 502, 'response_buffer_limit', bytesMax);
      await tenant.ended();
      const again = await tenant.call('lab.usage', { ...call, isolate: 1 });
      refused(again, 409, 'idempotency.outcome_unknown', { resolved: false });
      await spent(world, tenant, { caseId: call.caseId, hits: 1, micros: 0 });
    },
  ],
  [
    'a keyed stream that is too large to be recorded passes whole and is charged; its key is unknown',
    async (world) => {
      const tenant = await world.tenant();
      const call = keyed();
      const event = `data: {"text":"${'x'.repeat(sseEventBytesMax / 2)}"}\n\n`;
      const events = (2 * recordAnswerBytesMax) / sseEventBytesMax + 1;
      world.origin.planFor(call.caseId, ({ write, complete }) => {
        write(streamHead);
        for (let i = 0; i < events; i += 1) write(chunk(event));
        write(chunk('data: {"usage":{"units":7}}\n\n'));
        complete(Buffer.concat([chunk('data: [DONE]\n\n'), Buffer.from(lastChunk)]));
      });
      const first = await tenant.call('lab.stream', call);
      same([first.status, first.complete], [200, true], 'the stream');
      const bytes = events * Buffer.byteLength(event);
      holds(first.body.length > bytes, `${first.body.length} bytes came`);
      await tenant.ended();
      const again = await tenant.call('lab.stream', { ...call, isolate: 1 });
      refused(again, 409, 'idempotency.outcome_unknown', { resolved: false });
      await spent(world, tenant, { caseId: call.caseId, hits: 1, micros: 7 });
    },
  ],
];
