/**
 * Where a tenant's ledger is. In a file of its own because configuration names it and the ledger's
 * port is reached by it. Read by the ports and the adapters.
 */

/** The object is named by the ledger tenant and first made in that tenant's region. */
export interface LedgerAddress {
  readonly ledgerTenantId: string;
  readonly homeRegion: string | null;
}
