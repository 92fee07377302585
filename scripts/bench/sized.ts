/**
 * Gateways with catalogs of several sizes, side by side in one workerd of their own, each on a D1 of its own; the catalogs are brought in by
 * the product's import. Promises: they differ by their catalog only, and ten rows are called in turn in each. Called by world.ts, when a
 * part asks for it: the others shall not share a process with them.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { catalogEndpointsMax, catalogProvidersMax } from '../../src/base/limits-money.ts';
import { writeCatalog } from '../lib/catalog/write.ts';
import { d1Conf, type Ports, plainProvider, type SizedPorts, sizedConf } from './conf.ts';
import { answers, freePortRow, gatewayCore, loadCore, type Processes } from './machine.ts';
import type { Target } from './measure.ts';
import { BenchStore } from './store.ts';
import { tenant } from './tenant.ts';

/** The files of a catalog. */
type Catalog = readonly { readonly name: string; readonly text: string }[];

/** The targets, and how large the large ones are. */
export interface Sized {
  /** 1 provider with 10 endpoints. */
  readonly few: Target;
  /** 1 provider with `endpointCount` endpoints, 10 of them called. */
  readonly endpoints: Target;
  /** `providerCount` providers with one endpoint each, 10 of them called. */
  readonly providers: Target;
  /** The same gateway, all of them called: then each one's view is read every 30 s. */
  readonly everyProvider: Target;
  readonly endpointCount: number;
  readonly providerCount: number;
}

const fewCount = 10;
/** What the issue asks for, or as many as a catalog may have. */
const endpointCount = Math.min(10_000, catalogEndpointsMax);
const providerCount = Math.min(500, catalogProvidersMax);

const workerd = (createRequire(import.meta.url)('workerd') as { default: string }).default;

/** Starts and fills them; `run` is the folder with the bundles. */
export async function startSized(processes: Processes, run: string, ports: Ports): Promise<Sized> {
  const folder = `${run}/sized`;
  for (const part of ['d1', 'state']) mkdirSync(`${folder}/${part}`, { recursive: true });
  const first = await freePortRow(6);
  const placeOf = (name: string, i: number): SizedPorts => ({
    name,
    port: first + 2 * i,
    d1: first + 2 * i + 1,
  });
  const [few, endpoints, providers] = [
    placeOf('few', 0),
    placeOf('endpoints', 1),
    placeOf('providers', 2),
  ];
  const all = [few, endpoints, providers];
  // Beside the bundles, which both embed by name.
  const [gatewayFile, d1File] = [`${run}/sized-gateway.capnp`, `${run}/sized-d1.capnp`];
  writeFileSync(gatewayFile, sizedConf(ports, all, `${folder}/state`));
  writeFileSync(
    d1File,
    d1Conf(
      folder,
      all.map(({ name, d1 }) => [name, d1]),
    ),
  );
  const serve = (file: string): string[] => [workerd, 'serve', '--experimental', file];
  processes.start('sized-d1', loadCore, serve(d1File));
  const pid = processes.start('sized-gateway', gatewayCore, serve(gatewayFile));
  for (const { port, d1 } of all)
    for (const one of [port, d1]) await answers(`http://127.0.0.1:${one}/`);
  const authority = `127.0.0.1:${ports.origin}`;
  const filled = async (place: SizedPorts, catalog: Catalog): Promise<Called> => {
    const token = await fill(place, catalog, ports.origin);
    return (name, called) => {
      const paths = called.map((id) => `/call/${id}`);
      const script = `${run}/${name.replaceAll(' ', '-')}.lua`;
      writeFileSync(script, inTurn(paths));
      return {
        name: `catalog of ${name}`,
        pid,
        base: `http://127.0.0.1:${place.port}`,
        path: paths[0] ?? '/',
        headers: [`x-weir-key: ${token}`],
        script,
      };
    };
  };
  const ofFew = await filled(few, oneProvider(authority, fewCount));
  const ofEndpoints = await filled(endpoints, oneProvider(authority, endpointCount));
  const ofProviders = await filled(providers, manyProviders(authority));
  const slugs = everySlug.map((slug) => `${slug}.fixed`);
  return {
    few: ofFew('few', rowIds(fewCount)),
    endpoints: ofEndpoints('endpoints', rowIds(endpointCount)),
    providers: ofProviders('providers', spread(slugs)),
    everyProvider: ofProviders('every provider', slugs),
    endpointCount,
    providerCount,
  };
}

/** A target of one gateway that calls some of its rows in turn. */
type Called = (name: string, called: readonly string[]) => Target;

/** Migrates, imports, and makes a tenant with money; gives its key. */
async function fill(place: SizedPorts, files: Catalog, originPort: number): Promise<string> {
  const store = new BenchStore(place.d1);
  await store.migrate();
  await writeCatalog(store, `127.0.0.1:${originPort}`, files);
  const { token } = await tenant('Sized', { port: place.port, originPort }, []);
  return token;
}

const rowName = (i: number): string => `r${String(i).padStart(5, '0')}`;
const everySlug = Array.from({ length: providerCount }, (_, i) => `p${String(i).padStart(3, '0')}`);

/** Ten of all, evenly, the last one included. */
const spread = (all: readonly string[]): readonly string[] =>
  all.filter((_, i) => (i + 1) % (all.length / fewCount) === 0);

const rowIds = (count: number): readonly string[] =>
  spread(Array.from({ length: count }, (_, i) => `plain.${rowName(i)}`));

function oneProvider(authority: string, count: number): Catalog {
  const names = Array.from({ length: count }, (_, i) => rowName(i));
  const text = plainProvider('plain', authority, { capability: 'bench.plain', names });
  return [{ name: 'plain.yaml', text }];
}

const manyProviders = (authority: string): Catalog =>
  everySlug.map((slug) => ({
    name: `${slug}.yaml`,
    text: plainProvider(slug, authority, { capability: 'bench.plain', names: ['fixed'] }),
  }));

/** A script of wrk: the paths in turn. The requests are made once, so that the load core pays as little as without it. */
const inTurn = (paths: readonly string[]): string => `local paths = {${paths
  .map((path) => `"${path}"`)
  .join(',')}}
local requests, at = {}, 0
init = function() for i, path in ipairs(paths) do requests[i] = wrk.format(nil, path) end end
request = function() at = at % #requests + 1; return requests[at] end
`;
