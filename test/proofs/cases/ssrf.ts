/**
 * Cases of the kind `ssrf`: hosts that are not public, whatever they are called. Each is registered
 * (400), called by URL, and called as an upstream that was written past registration (502); the
 * trap behind every one of them counts connections. Called by ../cases.ts.
 */
import { a, aaaa, type DohScript, none } from '../../support/doh-stub.ts';
import { type Row, same } from '../../support/proof.ts';
import { resolverRows, resolverUpstreams } from '../ssrf/resolver.ts';
import {
  call,
  letThrough,
  register,
  type Scene,
  type Smuggled,
  setScene,
  smuggle,
} from '../ssrf/scene.ts';
import { surfaceRows } from '../ssrf/surfaces.ts';
import type { CaseCheck, CaseChecks } from './stands.ts';

const blocked = { status: 502, code: 'egress.blocked' } as const;
let made = 0;

const hosts: Readonly<Record<'C041' | 'C043' | 'C044', readonly string[]>> = {
  C041: ['017700000001', '0x7f000001', '2130706433', '127.1', '0177.0.0.1', '127.0.0.01', '0'],
  C043: [
    '[64:ff9b::a9fe:a9fe]',
    '[64:ff9b::808:808]',
    '[2002:7f00:1::]',
    '[2001:0:0:0:0:0:80ff:fefe]',
    '[fe80::1%25eth0]',
    '[fc00::1]',
  ],
  C044: ['localhost.', 'LOCALHOST', 'db.localhost', '127.0.0.1.', 'metadata.google.internal.'],
};

/** A host inside, for the entries of case C036. */
const inside = '10.0.0.1';

/** What a name's look-up says, and how the call ends. */
const lookUps: readonly (readonly [what: string, script: DohScript, code: string])[] = [
  ['public, then loopback', { a: a(['8.8.8.8', '127.0.0.1']) }, 'egress.blocked'],
  ['loopback, then public', { a: a(['127.0.0.1', '8.8.8.8']) }, 'egress.blocked'],
  ['public A, loopback AAAA', { a: a(['8.8.8.8']), aaaa: aaaa(['::1']) }, 'egress.blocked'],
  ['NXDOMAIN', { a: none(3), aaaa: none(3) }, 'egress.unresolved'],
  ['an empty answer', { a: none(), aaaa: none() }, 'egress.unresolved'],
];

const lookedUp = (at: number): string => `c046-${at}.example.com`;
/** The upstream of a host that registration never saw. */
const smuggledName = (host: string): string =>
  `case-${host.toLowerCase().replaceAll(/[^\w-]/g, '-')}`;

/** The scene with every upstream of these cases: an isolate reads a tenant's configuration once in ten seconds. */
export async function setCaseScene(): Promise<Scene> {
  const scene = await setScene();
  const { port } = scene.trap;
  const past =
    (scheme: Smuggled['scheme']) =>
    (host: string): Smuggled => ({
      name: smuggledName(host),
      host,
      port,
      scheme,
    });
  await smuggle(scene, [
    ...Object.values(hosts).flat().map(past('http')),
    ...[inside, ...lookUps.map((_, at) => lookedUp(at))].map(past('https')),
    ...resolverUpstreams(port),
  ]);
  return scene;
}

/** Runs `act`; nothing may connect to the trap while it does. */
async function untouched(scene: Scene, act: () => Promise<void>): Promise<void> {
  const before = scene.trap.connections();
  await act();
  same(scene.trap.connections(), before, 'connections to the trap');
}

/** A host text at registration, under both schemes: 400. */
async function notRegistered(scene: Scene, host: string): Promise<void> {
  for (const scheme of ['https', 'http']) {
    made += 1;
    const endpoints = [{ host, port: scene.trap.port }];
    const fields = { name: `n${made}`, alias: `n${made}.example.org`, scheme, endpoints };
    same((await register(scene, fields)).status, 400, `registration of ${host} under ${scheme}`);
  }
}

/** Every host: 400 at registration, never sent by URL, 502 as a target that is there already. */
const refusedEverywhere =
  (id: keyof typeof hosts): CaseCheck =>
  async (stands) => {
    const scene = await stands.ssrf();
    await untouched(scene, async () => {
      for (const host of hosts[id]) {
        await notRegistered(scene, host);
        for (const scheme of ['https', 'http']) {
          const url = `${scheme}://${host}:${scene.trap.port}/x`;
          const { status, code } = await call(scene, `/call/${url}`);
          same(
            [400, 502].includes(status) && code !== letThrough,
            true,
            `${url}: ${status} ${code}`,
          );
        }
        const name = smuggledName(host);
        for (const shape of [`/call/${name}/x`, `/proxy/${name}/x`])
          same(await call(scene, shape), blocked, `${host} by ${shape}`);
      }
    });
    return `${hosts[id].length} hosts`;
  };

const everyAddress: CaseCheck = async (stands) => {
  const scene = await stands.ssrf();
  await untouched(scene, async () => {
    for (const [at, [what, script, code]] of lookUps.entries()) {
      const host = lookedUp(at);
      scene.dns.script(host, script);
      const made = await register(scene, { name: `c046-${at}`, endpoints: [{ host }] });
      same(made.status, 400, `registration: ${what}`);
      const name = smuggledName(host);
      for (const shape of [`/call/${name}/x`, `/proxy/${name}/x`])
        same(await call(scene, shape, { isolate: 1 }), { status: 502, code }, `${what}: ${shape}`);
    }
    const host = 'c046-public.example.com';
    scene.dns.script(host, { a: a(['8.8.8.8', '8.8.4.4']), aaaa: aaaa(['2606:4700::1111']) });
    same((await register(scene, { name: 'c046', endpoints: [{ host }] })).status, 201, 'public');
    same((await call(scene, '/call/c046/x')).code, letThrough, 'control: public addresses only');
  });
};

/** The rows of the SSRF proof that name a case. */
async function namedRows(rows: readonly Row[], id: string, atLeast: number): Promise<string> {
  const named = rows.filter(({ name }) => name.includes(`(${id})`));
  if (named.length < atLeast) throw new Error(`${named.length} rows of the ssrf proof name ${id}`);
  for (const { run } of named) await run();
  return `${named.length} rows of the ssrf proof`;
}

/** Workers cannot pin: registration and call are checked apart, and the rest is a listed residue. */
const checkedAgain: CaseCheck = async (stands) => {
  const scene = await stands.ssrf();
  return namedRows(resolverRows(scene, true), 'C047', 1);
};

const lookAlikes: CaseCheck = async (stands) => {
  const scene = await stands.ssrf();
  const shown = await namedRows(surfaceRows(scene), 'C049', 2);
  await untouched(scene, async () => {
    const tabbed = await call(scene, '/call/ht\ttp://allowed.example.com/');
    same(tabbed.status, 400, 'a tab inside the scheme');
  });
  return shown;
};

const upgrade =
  'Host: gateway.test\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n' +
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n';

/** C036: a host inside, by name, by alias and by URL, plain and upgraded: one status, one type. */
export const privateThroughEveryEntry = (scene: Scene): Promise<void> =>
  untouched(scene, async () => {
    const name = smuggledName(inside);
    const url = `https:/${inside}:${scene.trap.port}/x`;
    for (const target of [`/call/${name}/x`, `/proxy/${name}/x`, `/call/${url}`])
      for (const options of [{}, { head: upgrade }])
        same(await call(scene, target, options), blocked, target);
  });

/** Checks by case. */
export const ssrfChecks: CaseChecks = {
  C041: refusedEverywhere('C041'),
  C043: refusedEverywhere('C043'),
  C044: refusedEverywhere('C044'),
  C046: everyAddress,
  C047: checkedAgain,
  C049: lookAlikes,
};
