/** A catalog of one row for the stage tests: what it was asked is noted. */
import { err, ok } from '../../../src/base/result';
import type { LadderPorts } from '../../../src/call/catalog-target';
import type { NearRows } from '../../../src/domain/catalog/near-ids';
import type { CatalogEntry } from '../../../src/ports/catalog';
import { unavailable } from './calls';

export const near: NearRows = {
  didYouMean: ['vendor.search'],
  alternatives: [{ id: 'other.search', access: 'account', guideMicros: 5 }],
};

/** The ladder's ports; `entry` is under every id, `null`: no id has a row, `down`: the store does not answer. */
export function catalogPorts(
  entry: CatalogEntry | null | 'down',
  parts: Partial<Omit<LadderPorts, 'catalog'>> = {},
): { ports: LadderPorts; asked: string[] } {
  const asked: string[] = [];
  const ports: LadderPorts = {
    catalog: {
      endpoint: (id) => {
        asked.push(`endpoint ${id}`);
        return entry === 'down' ? err(unavailable) : ok(entry);
      },
      near: (id) => {
        asked.push(`near ${id}`);
        return ok(near);
      },
    },
    egressPolicy: { allow: { pairs: new Set() }, gatewayHosts: ['self.t'], httpsOnly: true },
    anonymousProviders: new Set(),
    hasSetting: () => false,
    platformAccounts: new Map(),
    overflow: { mode: 'off', routes: { routeFor: () => null } },
    ...parts,
  };
  return { ports, asked };
}
