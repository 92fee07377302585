/**
 * Resolver rows: what a name's answers say decides, at registration and at every call, and what is not known is a refusal.
 * A positive call to a named loopback origin cannot be shown: there is no pinning on Workers, `fetch` resolves the name itself. So
 * "let through" is the refusal of the step behind the guard (scene.ts).
 */
import { a, aaaa, type DohScript, none } from '../../support/doh-stub.ts';
import { holds, type Row, same } from '../../support/proof.ts';
import { call, letThrough, register, type Scene, type Smuggled } from './scene.ts';

type Wanted = 'egress.blocked' | 'egress.unresolved' | typeof letThrough;

interface Scripted {
  readonly title: string;
  /** Name of its upstreams. */
  readonly label: string;
  readonly name: string;
  readonly script: DohScript;
  readonly wanted: Wanted;
}

const good = ['93.184.215.14'];
const cname = (data: string) => ({ type: 5, data });
const A = (data: string) => ({ type: 1, data });

const blocked: Readonly<Record<string, DohScript>> = {
  'a public and a private A record': { a: a([...good, '10.0.0.1']) },
  'a private record first, then public ones': { a: a(['192.168.1.1', ...good]) },
  'public A, private AAAA': { a: a(good), aaaa: aaaa(['fd00::1']) },
  'no A, private AAAA only': { aaaa: aaaa(['fe80::1']) },
  'public AAAA, private A': { a: a(['127.0.0.1']), aaaa: aaaa(['2606:4700::1111']) },
  'loopback in IPv6': { a: a(good), aaaa: aaaa(['::1']) },
  'the metadata address': { a: a(['169.254.169.254']) },
  'the unspecified address': { a: a(['0.0.0.0']) },
  'carrier-grade NAT': { a: a(['100.64.0.1']) },
  'NAT64 of loopback': { aaaa: aaaa(['64:ff9b::7f00:1']) },
  'NAT64 of the metadata address': { a: a(good), aaaa: aaaa(['64:ff9b::a9fe:a9fe']) },
  'IPv4-mapped loopback': { aaaa: aaaa(['::ffff:127.0.0.1']) },
  'IPv4-mapped public address, which no resolver gives': { aaaa: aaaa(['::ffff:93.184.215.14']) },
  'IPv4-compatible': { aaaa: aaaa(['::10.0.0.1']) },
  '6to4 of loopback': { aaaa: aaaa(['2002:7f00:1::']) },
  'an address in a short spelling': { a: a(['127.1']) },
  'an address in a decimal spelling': { a: a(['2130706433']) },
  'a CNAME chain that ends private': {
    a: { records: [cname('b.example.net.'), cname('c.internal.'), A('10.1.2.3')] },
  },
  'a private answer under NXDOMAIN': { a: { records: [A('127.0.0.1')], rcode: 3 } },
  'one family private, the other SERVFAIL': { a: a(['127.0.0.1']), aaaa: none(2) },
};

const unresolved: Readonly<Record<string, DohScript>> = {
  NXDOMAIN: { a: none(3), aaaa: none(3) },
  'no data in either family': { a: none(), aaaa: none() },
  SERVFAIL: { a: none(2), aaaa: none(2) },
  REFUSED: { a: none(5), aaaa: none(5) },
  'public A, SERVFAIL for AAAA: the missing one may be private': { a: a(good), aaaa: none(2) },
  'SERVFAIL for A, public AAAA': { a: none(2), aaaa: aaaa(['2606:4700::1111']) },
  'a truncated answer': { a: { records: [A(good[0] ?? '')], truncated: true } },
  'a CNAME chain without an address': { a: { records: [cname('b.example.net.')] } },
  'garbage instead of JSON': { a: { raw: '{"Status":0,"Answer":[{' } },
  'an HTML page': { a: { raw: '<html>captive portal</html>' } },
  'an empty body': { a: { raw: '' } },
  'JSON of another shape': { a: { raw: '[]' } },
  'an answer that is no list': { a: { raw: '{"Status":0,"Answer":{}}' } },
  'a record without text': { a: { raw: '{"Status":0,"Answer":[{"type":1,"TTL":60,"data":7}]}' } },
  'HTTP 500': { a: { raw: JSON.stringify({ Status: 0 }), status: 500 } },
  'a redirect, which is not followed': { a: { raw: '', status: 302, location: '/elsewhere' } },
  'more addresses than any vendor has': {
    a: a(Array.from({ length: 65 }, (_, i) => `8.8.4.${i}`)),
  },
  'an answer beyond the byte limit': { a: { raw: `{"Status":0,"x":"${'x'.repeat(70_000)}"}` } },
};

const passing: Readonly<Record<string, DohScript>> = {
  'a public A record': { a: a(good) },
  'a public AAAA record only': { aaaa: aaaa(['2606:4700::1111']) },
  'a CNAME chain that ends public': { a: { records: [cname('b.example.net.'), A(good[0] ?? '')] } },
  'TTL 0': { a: a(good, 0) },
};

const slow: DohScript = { a: a(good), delayMs: 3_600 };

const scripted: readonly Scripted[] = [
  ...named(blocked, 'egress.blocked'),
  ...named(unresolved, 'egress.unresolved'),
  ...named(passing, letThrough),
];

function named(scripts: Readonly<Record<string, DohScript>>, wanted: Wanted): Scripted[] {
  return Object.entries(scripts).map(([title, script], i) => {
    const label = `r${i}-${wanted.replace(/[^a-z]/g, '')}`;
    return { title, label, name: `${label}.example.com`, script, wanted };
  });
}

/** Upstreams that no registration judged, one per refusing script; on the trap's port, so that a miss would be heard. */
export const resolverUpstreams = (trapPort: number): readonly Smuggled[] => [
  ...scripted
    .filter(({ wanted }) => wanted !== letThrough)
    .map(
      ({ label, name }): Smuggled => ({ name: label, host: name, port: trapPort, scheme: 'https' }),
    ),
  { name: 'slow', host: 'slow.example.com', port: trapPort, scheme: 'https' },
  { name: 'recovers', host: 'recovers.example.com', port: 443, scheme: 'https' },
];

/** The short form plays every n-th script. */
const shortStep = 3;

/** Rows of the resolver; the long form also waits for a recovery and for a real rebinding. */
export function resolverRows(scene: Scene, short: boolean): readonly Row[] {
  const played = short ? scripted.filter((_, i) => i % shortStep === 0) : scripted;
  const rows = [
    ...played.map((row) => scriptedRow(scene, row)),
    slowRow(scene),
    separateRow(scene),
  ];
  return short ? rows : [...rows, recoveryRow(scene), rebindingRow(scene)];
}

/** Registration through the API, then a call by each shape of an upstream that registration never saw. */
function scriptedRow(scene: Scene, { title, label, name, script, wanted }: Scripted): Row {
  const passes = wanted === letThrough;
  return {
    name: `resolver: ${title}: ${passes ? 'passes the guard' : wanted}`,
    async run() {
      scene.dns.script(name, script);
      const made = await register(scene, { name: `${label}-api`, endpoints: [{ host: name }] });
      same(made.status, passes ? 201 : 400, `registration of ${name}`);
      const authority = passes ? name : `${name}:${scene.trap.port}`;
      const byName = passes ? `${label}-api` : label;
      const shapes = [
        `/call/${byName}/x`,
        `/call/https://${authority}/x`,
        `/call/https:/${authority}/x`,
      ];
      if (!passes) shapes.push(`/proxy/${label}/x`);
      for (const shape of shapes) {
        const verdict = await call(scene, shape, { isolate: 1 });
        same(verdict, { status: 502, code: wanted }, shape);
      }
      holds(scene.dns.asked(name) >= 4, 'registration and call each asked for both families');
    },
  };
}

function slowRow(scene: Scene): Row {
  return {
    name: 'resolver: slower than 3 s: egress.unresolved, and the call does not wait longer',
    async run() {
      scene.dns.script('slow.example.com', slow);
      const startedAt = performance.now();
      const verdict = await call(scene, '/call/slow/x', { isolate: 1 });
      same(verdict, { status: 502, code: 'egress.unresolved' }, 'the call');
      const tookMs = performance.now() - startedAt;
      holds(tookMs > 2_500 && tookMs < 4_500, `refused after ${tookMs.toFixed(0)} ms`);
      return `${tookMs.toFixed(0)} ms`;
    },
  };
}

/** Case C047 as far as Workers allow: registration and call look separately; within the floor an isolate keeps what it knows. */
function separateRow(scene: Scene): Row {
  return {
    name: 'resolver: public at registration, loopback at the call (C047): the call looks again and refuses',
    async run() {
      const name = 'rebinds.example.com';
      scene.dns.script(name, { a: a(good, 0) });
      const endpoints = [{ host: name, port: scene.trap.port }];
      same((await register(scene, { name: 'rebinds', endpoints })).status, 201, 'registration');
      const before = scene.dns.asked(name);
      scene.dns.script(name, { a: a(['127.0.0.1'], 0) });
      const elsewhere = await call(scene, '/call/rebinds/x', { isolate: 1 });
      same(elsewhere, { status: 502, code: 'egress.blocked' }, 'an isolate that never asked');
      same(scene.dns.asked(name), before + 2, 'questions: one look-up of its own');
      const here = await call(scene, '/call/rebinds/x');
      same(here.code, letThrough, 'the isolate of the registration, within the floor of 30 s');
      same(scene.dns.asked(name), before + 2, 'questions: a warm answer asks nothing');
      return 'residue: within the floor, and between look-up and connect';
    },
  };
}

function recoveryRow(scene: Scene): Row {
  return {
    name: 'resolver: a failure is forgotten within seconds, a recovered name works again',
    async run() {
      const name = 'recovers.example.com';
      scene.dns.script(name, { a: none(2), aaaa: none(2) });
      const failing = await call(scene, '/call/recovers/x', { isolate: 1 });
      same(failing.code, 'egress.unresolved', 'while it fails');
      scene.dns.script(name, { a: a(good) });
      return within(scene, { target: '/call/recovers/x', wanted: letThrough, seconds: 8 });
    },
  };
}

/** The real thing: TTL 0, the name turns to loopback, the same isolate is called once a second until it says no. */
function rebindingRow(scene: Scene): Row {
  return {
    name: 'resolver: a name that rebinds under calls is refused within the floor of 30 s',
    async run() {
      const name = 'turns.example.com';
      scene.dns.script(name, { a: a(good, 0) });
      same(
        (await register(scene, { name: 'turns', endpoints: [{ host: name }] })).status,
        201,
        'made',
      );
      scene.dns.script(name, { a: a(['127.0.0.1'], 0) });
      return within(scene, { target: '/call/turns/x', wanted: 'egress.blocked', seconds: 32 });
    },
  };
}

async function within(
  scene: Scene,
  { target, wanted, seconds }: { target: string; wanted: Wanted; seconds: number },
): Promise<string> {
  const startedAt = performance.now();
  for (;;) {
    const { code } = await call(scene, target, { isolate: wanted === letThrough ? 1 : 0 });
    const tookS = (performance.now() - startedAt) / 1000;
    if (code === wanted) return `after ${tookS.toFixed(1)} s`;
    holds(tookS < seconds, `still ${code} after ${tookS.toFixed(1)} s`);
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}
