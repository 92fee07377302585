/**
 * `npm run prove -- smuggling`: every payload of the corpus, aimed at an upstream with a credential and as it is, at an origin that
 * records every byte; read strictly, nothing at the origin may help a smuggler (issue 2; decisions section 5, "request framing").
 * The detector first has to see planted defects, and the same payloads behind a relay that only forwards bytes.
 */
import { type Gateway, startGateway } from '../support/gateway.ts';
import { holds, type Proof, type Row, same } from '../support/proof.ts';
import { RawConnection } from '../support/raw-client.ts';
import { type RecordingOrigin, reply, startOrigin } from '../support/recording-origin.ts';
import { makeScenario } from '../support/scenario.ts';
import { type Defect, readStrictly, type StrictReading } from './smuggling/detector.ts';
import { startForwarder } from './smuggling/forwarder.ts';
import { aimed, hasHost, type Payload, payloads } from './smuggling/payloads.ts';
import { planted } from './smuggling/planted.ts';

const credential = 'sk-smuggling-credential';
/** Longest wait for one payload, milliseconds: half-closed connections end at once, so this is for a hung one only. */
const idleMaxMs = 2_000;

interface Run {
  readonly gateway: Gateway;
  readonly origin: RecordingOrigin;
  readonly token: string;
  readonly corpus: readonly Payload[];
  /** Ids of payloads with a defect. */
  readonly defective: Set<string>;
  readonly relayed: Set<string>;
  /** Defects so far that belong to no payload's path. */
  strange: number;
  hung: number;
}

/** The proof; see the head of this file. */
export const proof: Proof = {
  name: 'smuggling',
  title: 'no payload of the corpus makes the gateway send anything that an origin could misread',
  async stage() {
    const origin = await startOrigin(reply('200 OK', [], 'ok'));
    const gateway = await startGateway({ allow: [origin.authority] });
    const token = await registered(gateway, origin);
    const corpus = payloads();
    const run: Run = {
      gateway,
      origin,
      token,
      corpus,
      defective: new Set(),
      relayed: new Set(),
      strange: 0,
      hung: 0,
    };
    return {
      rows: [...plantedRows(), forwarderRow(run), ...corpusRows(run), wholeRow(run)],
      figure: () => `${run.defective.size} defects of ${corpus.length}`,
      async dispose() {
        await gateway.dispose();
        await origin.close();
      },
    };
  },
};

async function registered(gateway: Gateway, origin: RecordingOrigin): Promise<string> {
  const scenario = await makeScenario(gateway);
  const secret = await scenario.secret('vendor', credential);
  await scenario.upstream({
    name: 'origin',
    scheme: 'http',
    alias: 'origin',
    endpoints: [{ host: '127.0.0.1', port: origin.port }],
    bindings: [{ location: 'header', name: 'authorization', injector: 'bearer', secret }],
    first_byte_timeout_ms: idleMaxMs,
  });
  return scenario.token;
}

// ── the detector itself ──

function plantedRows(): Row[] {
  return planted.map(({ kind, bytes }) => ({
    name: `the detector sees a planted defect: ${kind ?? 'none in a clean request'}`,
    async run() {
      const { defects } = readStrictly(Buffer.from(bytes, 'latin1'), { marker: '/m/', credential });
      if (kind === null) same(defects, [], 'a clean connection');
      else
        holds(
          defects.some((defect) => defect.kind === kind),
          `saw ${JSON.stringify(defects)}`,
        );
    },
  }));
}

/** Control: behind a relay that copies bytes and adds the credential, most of the corpus shows. */
function forwarderRow(run: Run): Row {
  return {
    name: 'behind a relay that forwards bytes the same payloads do show defects',
    async run() {
      const relay = await startForwarder(`Authorization: Bearer ${credential}`);
      let seen = 0;
      for (const payload of run.corpus) {
        relay.clear();
        await sent(relay.port, aimed(payload, { path: '/m/', token: 'wk_x' }), 200);
        const readings = relay
          .received()
          .map((bytes) => readStrictly(bytes, { marker: '/m/', credential }));
        if (readings.some(({ defects }) => defects.some(isSmuggling))) seen += 1;
      }
      await relay.close();
      holds(seen > run.corpus.length / 2, `the detector saw ${seen} of ${run.corpus.length}`);
      return `${seen} of ${run.corpus.length}`;
    },
  };
}

/** The relay does not even drop the key, which would count in every payload. */
const isSmuggling = ({ kind }: Defect): boolean => kind !== 'dropped header';

// ── the corpus ──

/** Three forms of every payload; one row per family, so that a failure names the family and the payload. */
function corpusRows(run: Run): Row[] {
  const families = Map.groupBy(run.corpus, ({ id }) => id.replace(/-[^-]*$/, ''));
  return [...families].map(([family, members]) => ({
    name: `${family}: aimed with a key, with a host added, and as it is`,
    async run() {
      const failures: string[] = [];
      for (const payload of members) {
        const defects = await attacked(run, payload);
        if (defects.length > 0) run.defective.add(payload.id);
        failures.push(...defects.map(({ kind, detail }) => `${payload.id}: ${kind} ${detail}`));
      }
      same(failures, [], `${failures.length} defects`);
      const relayed = members.filter(({ id }) => run.relayed.has(id)).length;
      return `${members.length} payloads, ${relayed} relayed as one request`;
    },
  }));
}

async function attacked(run: Run, payload: Payload): Promise<Defect[]> {
  const own = `/m/${payload.id}/`;
  const aim = { path: `/call/origin${own}a`, token: run.token };
  await counted(run, aimed(payload, aim));
  if (!hasHost(payload))
    await counted(run, aimed(payload, { ...aim, path: `/call/origin${own}b`, withHost: true }));
  // Without a key and without a path of ours nothing may reach the origin: what does has no path of ours.
  await counted(run, Buffer.from(payload.raw, 'latin1'));
  const { targets, defects } = atOrigin(run);
  if (targets.some((target) => target.startsWith(own))) run.relayed.add(payload.id);
  const strange = defects.filter(({ owner }) => !owner.startsWith('/m/'));
  const isNew = strange.length > run.strange;
  run.strange = strange.length;
  return [...defects.filter(({ owner }) => owner.startsWith(own)), ...(isNew ? strange : [])];
}

async function counted(run: Run, bytes: Buffer): Promise<void> {
  if (!(await sent(run.gateway.port, bytes, idleMaxMs))) run.hung += 1;
}

/** One connection, half-closed behind the payload; true when the other side ended it in time. */
async function sent(port: number, bytes: Buffer, waitMs: number): Promise<boolean> {
  const connection = await RawConnection.open(port);
  try {
    connection.socket.end(bytes);
    await connection.until(() => connection.ended !== 'open', waitMs);
    return true;
  } catch {
    return false;
  } finally {
    connection.close();
  }
}

/** Everything that every connection of the origin carried so far; connections are pooled and live on. */
function atOrigin(run: Run): StrictReading {
  const readings = run.origin.connections.map(({ bytes }) =>
    readStrictly(bytes, { marker: '/m/', credential }),
  );
  const targets = readings.flatMap((reading) => [...reading.targets]);
  const twice = targets.filter((target, i) => targets.indexOf(target) !== i);
  const repeated = twice.map((owner): Defect => ({ kind: 'second request', detail: owner, owner }));
  return {
    targets,
    defects: [...readings.flatMap((reading) => [...reading.defects]), ...repeated],
  };
}

/** The gateway is whole after the storm, and enough of the corpus got as far as an origin to mean something. */
function wholeRow(run: Run): Row {
  return {
    name: 'after the corpus the gateway still relays, and the corpus was not merely refused',
    async run() {
      const head = 'Host: gateway.test\r\nConnection: close\r\n';
      const plain = `GET /call/origin/m/last HTTP/1.1\r\n${head}X-Weir-Key: ${run.token}\r\n\r\n`;
      await sent(run.gateway.port, Buffer.from(plain), idleMaxMs);
      const { targets, defects } = atOrigin(run);
      same(defects, [], 'every connection, read to its end');
      holds(targets.includes('/m/last'), 'a plain request');
      holds(run.relayed.size >= 20, `only ${run.relayed.size} payloads reached the origin`);
      const pooled = run.origin.connections.length;
      return `${run.relayed.size} relayed on ${pooled} connections, ${run.hung} ended by the ${idleMaxMs} ms bound`;
    },
  };
}
