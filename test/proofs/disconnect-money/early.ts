/**
 * The client leaves before its vendor has been asked, or while it uploads. Called by
 * ../disconnect-money.ts.
 */
import { publicName } from '../../support/doh-stub.ts';
import { callMicros } from '../../support/money-world-catalog.ts';
import { usageReply } from '../../support/priced-origin.ts';
import { holds, same } from '../../support/proof.ts';
import { until } from '../../support/until.ts';
import {
  answered,
  cancelled,
  drainMs,
  type End,
  farHost,
  heldMs,
  leave,
  type Named,
  noticeMs,
  passed,
  released,
  shown,
  units,
  ways,
} from './stand.ts';

/**
 * A FIN cannot be seen before something is written to the client: that call runs on, and is charged
 * like any other.
 */
const beforeThePlace: readonly Named[] = (['before', 'behind'] as const).map((gate) => [
  `RST while the hold is being placed, ${gate} the object's commit: nothing is sent, nothing is charged`,
  async (stand) => {
    const tenant = await stand.tenant();
    await stand.gate(gate, tenant);
    const visit = await stand.visit('lab.usage', {}, tenant);
    await stand.atTheGate(tenant);
    await leave(visit, 'RST');
    await stand.gate('open', tenant);
    await stand.leftBehind(visit, { charge: released, ends: [cancelled] });
    same(stand.vendor.arrivals(visit.caseId), 0, 'what reached the vendor');
  },
]);

const finBeforeThePlace: Named = [
  'FIN while the hold is being placed: unseen until the answer is written, charged as answered',
  async (stand) => {
    const tenant = await stand.tenant();
    await stand.gate('before', tenant);
    const visit = await stand.visit('lab.usage', {}, tenant);
    await stand.atTheGate(tenant);
    await leave(visit, 'FIN');
    await stand.gate('open', tenant);
    (await stand.arrived(visit)).complete(usageReply(units));
    await stand.leftBehind(visit, { charge: units, ends: [answered] });
  },
];

const beforeTheSend: Named = [
  'RST while the address is looked up, the hold in hand: released, nothing is sent',
  async (stand) => {
    stand.resolver.script(farHost, { ...publicName, delayMs: 2 * heldMs });
    const asked = stand.resolver.asked(farHost);
    const visit = await stand.visit('far.upload');
    await until('a look-up', () => stand.resolver.asked(farHost) > asked || undefined);
    await leave(visit, 'RST');
    await stand.leftBehind(visit, { charge: released, ends: [cancelled] });
  },
];

// ── during the upload ──

/** A body that breaks can look like a reset of the vendor (docs/failure-modes.md): then the row blames the connection. */
const endsOfUpload: readonly End[] = [cancelled, ['failed', 502]];

/** Uploads that stop in the middle; whether the client stays a while before it goes. */
const parts = [
  ['plain, at once', 'Content-Length: 5000\r\n\r\nfirst part', 0],
  ['plain, later', 'Content-Length: 5000\r\n\r\nfirst part', heldMs],
  ['chunked, at once', 'Transfer-Encoding: chunked\r\n\r\na\r\nfirst part\r\n', 0],
  ['chunked, later', 'Transfer-Encoding: chunked\r\n\r\na\r\nfirst part\r\n', heldMs],
] as const;

/**
 * Nobody has to read the body, so its first part is with the vendor when the client goes, and nobody
 * can see whether the vendor did anything. The hold ends once: given back, or charged at most whole.
 */
const midUpload: readonly Named[] = ways.flatMap((how) =>
  parts.map(
    ([kind, tail, ms]): Named => [
      `${how} mid-upload, ${kind}: never a clean end at the vendor, the hold ends once`,
      async (stand) => {
        const visit = await stand.upload('raw.upload', tail);
        const connection = await until('the first part', () =>
          stand.raw.connections.findLast(({ bytes }) => bytes.includes(visit.caseId)),
        );
        await until('the body', () => connection.bytes.includes('first part') || undefined);
        await passed(ms);
        await leave(visit, how);
        await until('its end', () => connection.closedAtMs ?? undefined, noticeMs + drainMs);
        holds(!connection.bytes.toString('latin1').endsWith('\r\n0\r\n\r\n'), 'a clean end');
        const { settled } = await visit.tenant.ended();
        const charge = settled === 0 ? released : callMicros;
        await stand.leftBehind(visit, { charge, ends: endsOfUpload });
        return shown(charge);
      },
    ],
  ),
);

const midRead: readonly Named[] = ways.map((how) => [
  `${how} mid-upload of a body that the key's fingerprint needs: no hold, nothing is sent (it may leave no row)`,
  async (stand) => {
    const tail = 'Idempotency-Key: k\r\nContent-Length: 50\r\n\r\n{"a":';
    const visit = await stand.upload('lab.usage', tail);
    await leave(visit, how);
    await stand.leftBehind(visit, { charge: 'no hold', ends: [] });
    same(stand.vendor.arrivals(visit.caseId), 0, 'what reached the vendor');
  },
]);

/** Every row of this file. */
export const earlyRows: readonly Named[] = [
  ...beforeThePlace,
  finBeforeThePlace,
  beforeTheSend,
  ...midUpload,
  ...midRead,
];
