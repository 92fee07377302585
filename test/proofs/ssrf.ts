/**
 * `npm run prove -- ssrf`: the whole corpus at registration and at call, on every surface, and the resolver's rows (issue 2, item 7).
 * A row that must be blocked is also called as an upstream that was written straight into the store: the guard before the send does not
 * live on registration's work. Nothing here leaves loopback (ssrf/scene.ts).
 */
import { holds, type Proof, type Row, same } from '../support/proof.ts';
import { type CorpusRow, callTargets, corpus, endpointForms, hostsOf } from './ssrf/corpus.ts';
import { resolverRows, resolverUpstreams } from './ssrf/resolver.ts';
import {
  call,
  letThrough,
  register,
  type Scene,
  setScene,
  smuggle,
  type Verdict,
} from './ssrf/scene.ts';
import { surfaceRows } from './ssrf/surfaces.ts';

/** Requests in flight: the gateway has one thread, more would only queue. */
const atOnceMax = 16;
/** The short form takes every n-th URL where each costs several requests; every URL is registered and called once in both. */
const shortStep = 8;

interface Count {
  readonly letThrough: Set<string>;
  readonly blocked: Set<string>;
}

/** The proof; see the head of this file. */
export const proof: Proof = {
  name: 'ssrf',
  title:
    'no private address is called or registered, in any spelling, on any surface; public ones are',
  async stage({ short }) {
    const scene = await setScene();
    const rows = corpus();
    const [block, allow] = [of(rows, 'block'), of(rows, 'allow')];
    const count: Count = { letThrough: new Set(), blocked: new Set() };
    const step = short ? shortStep : 1;
    await smuggle(scene, [...smuggledRows(scene, block), ...resolverUpstreams(scene.trap.port)]);
    return {
      rows: [
        ...registrationRows(scene, block, count),
        ...documentRows(
          scene,
          block.filter((_, i) => i % step === 0),
          count,
        ),
        ...urlRows(scene, { rows: block, short, count }),
        ...guardRows(scene, { rows: block, step, count }),
        ...allowRows(scene, allow, count),
        ...resolverRows(scene, short),
        ...surfaceRows(scene),
        trapRow(scene),
      ],
      figure: () =>
        `${count.letThrough.size} of ${block.length} let through, ` +
        `${count.blocked.size} of ${allow.length} blocked`,
      dispose: scene.dispose,
    };
  },
};

const of = (rows: readonly CorpusRow[], want: CorpusRow['want']): readonly CorpusRow[] =>
  rows.filter((row) => row.want === want);

/** One row per class, so that a failure names it. */
const classesOf = (rows: readonly CorpusRow[]): readonly (readonly [string, CorpusRow[]])[] => [
  ...Map.groupBy(rows, (row) => row.class),
];

/** Endpoints of one document: the pool's bound is 32. */
const poolMax = 30;

/** Every host text under https, many in one document: each must be named as a fault of its own. */
function registrationRows(scene: Scene, rows: readonly CorpusRow[], count: Count): Row[] {
  return classesOf(rows).map(([name, members]) => ({
    name: `registration refuses ${name} under https: parsed host, host text, whole URL`,
    async run() {
      const hosts = members.flatMap(({ url }) =>
        [...new Set([...hostsOf(url), url])].map((host) => ({ host, url })),
      );
      const pools = Array.from({ length: Math.ceil(hosts.length / poolMax) }, (_, i) =>
        hosts.slice(i * poolMax, (i + 1) * poolMax),
      );
      const accepted: string[] = [];
      for (const pool of pools) {
        const endpoints = pool.map(({ host }) => ({ host }));
        const { status, body } = await register(scene, { name: 'pool', alias: 'pool', endpoints });
        const refused = status === 400 ? JSON.stringify(body) : '';
        pool.forEach(({ host, url }, i) => {
          if (!refused.includes(`"endpoints.${i}.host"`)) accepted.push(`${url} as host ${host}`);
        });
      }
      noted(count.letThrough, accepted);
      return `${members.length} URLs, ${hosts.length} hosts`;
    },
  }));
}

/** One document per form, under the URL's own scheme and port too. */
function documentRows(scene: Scene, rows: readonly CorpusRow[], count: Count): Row[] {
  return classesOf(rows).map(([name, members]) => ({
    name: `registration refuses ${name} in a document of its own, with its scheme and port`,
    async run() {
      let posts = 0;
      const accepted = await collected(members, async ({ url }) => {
        for (const { scheme, host, port } of endpointForms(url)) {
          posts += 1;
          const endpoints = [{ host, port }];
          const fields = { name: `n${posts}`, alias: `a${posts}.example.org`, scheme, endpoints };
          const { status } = await register(scene, fields);
          if (status !== 400)
            return `${url} as ${JSON.stringify({ scheme, host, port })}: ${status}`;
        }
        return null;
      });
      noted(count.letThrough, accepted);
      return `${members.length} URLs, ${posts} documents`;
    },
  }));
}

interface UrlCase {
  readonly rows: readonly CorpusRow[];
  readonly short: boolean;
  readonly count: Count;
}

/** Some of these hosts are upstreams by now, written past registration: then the guard's own refusal is the right one. */
function urlRows(scene: Scene, { rows, short, count }: UrlCase): Row[] {
  return classesOf(rows).map(([name, members]) => ({
    name: `/call/{url} refuses ${name}: as it is, under https, escaped`,
    async run() {
      let calls = 0;
      const through = await collected(members, async ({ url }) => {
        for (const target of callTargets(url).slice(0, short ? 2 : undefined)) {
          calls += 1;
          const verdict = await call(scene, `/call/${target}`);
          const refused = [400, 404].includes(verdict.status) || isGuarded(verdict);
          if (!refused) return `${url} as ${JSON.stringify(target)}: ${verdict.code}`;
        }
        return null;
      });
      noted(count.letThrough, through);
      return `${members.length} URLs, ${calls} calls`;
    },
  }));
}

const smuggledName = (index: number, form: number): string => `b${index}-${form}`;

/** Upstreams past every rule of registration: each host text of a URL, on the trap's port and on its own. */
function smuggledRows(scene: Scene, rows: readonly CorpusRow[]) {
  return rows.flatMap(({ url }, index) =>
    hostsOf(url).flatMap((host, form) => [
      { name: smuggledName(index, form), host, port: scene.trap.port, scheme: 'https' as const },
      { name: `${smuggledName(index, form)}-own`, host, port: 443, scheme: 'https' as const },
    ]),
  );
}

interface GuardCase {
  readonly rows: readonly CorpusRow[];
  readonly step: number;
  readonly count: Count;
}

function guardRows(scene: Scene, { rows, step, count }: GuardCase): Row[] {
  const numbered = rows.map((row, index) => ({ ...row, index })).filter((_, i) => i % step === 0);
  return [...Map.groupBy(numbered, (row) => row.class)].map(([name, members]) => ({
    name: `the guard before the send refuses ${name} in an upstream that registration never saw`,
    async run() {
      let calls = 0;
      const through = await collected(members, async ({ url, index }) => {
        for (const [form] of hostsOf(url).entries()) {
          const upstream = smuggledName(index, form);
          for (const shape of [`/call/${upstream}/x`, `/proxy/${upstream}/x`]) {
            calls += 1;
            const verdict = await call(scene, shape);
            if (!isGuarded(verdict)) return `${url} by ${shape}: ${verdict.status} ${verdict.code}`;
          }
        }
        return null;
      });
      noted(count.letThrough, through);
      return `${members.length} URLs, ${calls} calls`;
    },
  }));
}

const isGuarded = ({ status, code }: Verdict): boolean =>
  status === 502 && code === 'egress.blocked';

/** Registered for real, then called up to the step before the send. */
function allowRows(scene: Scene, rows: readonly CorpusRow[], count: Count): Row[] {
  return classesOf(rows).map(([name, members]) => ({
    name: `${name}: registration accepts, and the guard lets every shape of call through`,
    async run() {
      const blocked = await collected(members, async ({ url }) => {
        const label = `ok-${name}-${members.findIndex((member) => member.url === url)}`;
        const { hostname } = new URL(url);
        const isName = /[a-z]/.test(hostname) && !hostname.startsWith('[');
        const alias = isName ? hostname : label;
        const fields = { name: label, alias, endpoints: [{ host: hostname }], base_path: '/v1' };
        const { status, body } = await register(scene, fields);
        if (status !== 201) return `${url}: registration ${status} ${JSON.stringify(body)}`;
        for (const shape of [`/call/${label}/x`, `/call/https://${hostname}/v1/x`]) {
          const { code } = await call(scene, shape);
          if (code !== letThrough) return `${url} by ${shape}: ${code}`;
        }
        return null;
      });
      noted(count.blocked, blocked);
      return `${members.length} URLs`;
    },
  }));
}

function trapRow(scene: Scene): Row {
  return {
    name: 'nothing connected to the trap, and no address was ever asked of the resolver',
    async run() {
      same(scene.trap.connections(), 0, 'connections to the trap');
      const literals = scene.dns.questions.filter(({ name }) => /^[\d.]+$|:/.test(name));
      same(literals, [], 'literals that were resolved');
      holds(scene.dns.questions.length > 0, 'the resolver was used');
      return `${scene.dns.questions.length} questions`;
    },
  };
}

/** Runs `judge` over all rows, some at once; gives what it found wrong. */
async function collected<T>(
  rows: readonly T[],
  judge: (row: T) => Promise<string | null>,
): Promise<string[]> {
  const wrong: string[] = [];
  const waiting = [...rows];
  const worker = async (): Promise<void> => {
    for (let row = waiting.shift(); row !== undefined; row = waiting.shift()) {
      const fault = await judge(row);
      if (fault !== null) wrong.push(fault);
    }
  };
  await Promise.all(Array.from({ length: atOnceMax }, worker));
  return wrong;
}

/** Counts for the figure, then fails with the first few. */
function noted(counted: Set<string>, wrong: readonly string[]): void {
  for (const fault of wrong) counted.add(fault.split(' ', 1)[0] ?? fault);
  holds(wrong.length === 0, `${wrong.length}: ${wrong.slice(0, 5).join(' | ')}`);
}
