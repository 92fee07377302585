/**
 * Limits that no request can reach one by one: the functions that keep them, called at the limit and one beyond. Called by
 * test/proofs/bounds.ts.
 */
import {
  byteBufferKeptMax,
  decimalCharsMax,
  decimalExponentMax,
  jsonPathsKeptMax,
  ledgerBatchBytesMax,
  ledgerDeskScanMax,
  ledgerDesksMax,
  ledgerFlusherLapseMs,
  ledgerFlushMs,
  ledgerReasonCharsMax,
  nearIdEditsMax,
  quotaPageDefault,
  quotaPageMax,
  quotaRowsMax,
  recordHeaderCharsMax,
  recordOverheadBytes,
  recordScopeCharsMax,
} from '../../../src/base/limits-money.ts';
import type { EndOp, PlaceOp, RecordedAnswer } from '../../../src/domain/ledger/operations.ts';
import type { Cost } from '../../../src/domain/pricing/price.ts';
import type {
  DeskTime,
  LedgerAddress,
  LedgerDesk,
  SettlementKeeper,
} from '../../../src/ports/ledger.ts';
import { holds, same } from '../../support/proof.ts';
import { type Named, openSrc, srcModule } from './stand.ts';

/** A row whose modules of src/ are loaded when it runs: Node wants to be told how. */
const inCode = (name: string, run: () => Promise<unknown>): Named => [
  name,
  () => {
    openSrc();
    return run();
  },
];

const answer = (fields: Partial<RecordedAnswer>): RecordedAnswer => ({
  status: 200,
  headers: [],
  body: new Uint8Array(),
  bodyRef: null,
  bodyBytes: 0,
  costMicros: 1,
  ...fields,
});
const recorded = (fields: Partial<RecordedAnswer>): EndOp => ['record', 'idm_1', answer(fields)];
const placing = (scope: string): PlaceOp => {
  const claim = ['idm_1', scope, 'key', 'print'] as const;
  return ['place', 'hld_1', 1, 'key_1', null, null, claim];
};

/** The part of the desk that is used here. */
interface DeskModule {
  readonly DurableLedgerDesk: new (parts: {
    readonly objectOf: (address: LedgerAddress) => object;
    readonly keeper: SettlementKeeper;
    readonly time: DeskTime;
  }) => LedgerDesk;
}

/** What the desk asks of an object: `hangs` never answers. */
const objectThat = (hangs: boolean) => ({
  apply: (ends: readonly EndOp[], places: readonly PlaceOp[]) =>
    hangs
      ? new Promise<never>(() => undefined)
      : Promise.resolve({
          outcome: 'applied' as const,
          ends: ends.map(() => ({ outcome: 'released' as const })),
          places: places.map(() => ({ outcome: 'placed' as const, leaseUntilMs: 1 })),
        }),
});

/** What a full isolate says to one more tenant when the oldest `busy` desks are. */
async function oneMoreTenant(busy: number): Promise<string> {
  const { DurableLedgerDesk } = await srcModule<DeskModule>('adapters/durable/ledger-desk');
  const numberOf = (id: string): number => Number(id.slice('ten_'.length));
  const desk = new DurableLedgerDesk({
    objectOf: ({ ledgerTenantId }) => objectThat(numberOf(ledgerTenantId) < busy),
    keeper: { keep: async (_, ops) => ops },
    time: { nowMs: () => 1, start: () => () => undefined },
  });
  const ask = (tenant: number) => {
    const op: PlaceOp = ['place', `hld_${tenant}`, 1, 'key_1', null, null, null];
    const address = { ledgerTenantId: `ten_${tenant}`, homeRegion: null };
    return desk.place(address, op, () => undefined);
  };
  for (let tenant = 0; tenant < ledgerDesksMax; tenant += 1) {
    const asked = ask(tenant);
    if (tenant >= busy) await asked;
  }
  return (await ask(ledgerDesksMax)).outcome;
}

/** Backgrounds that a desk was given when a settlement came `lateMs` after the first one, whose flusher is gone with its context. */
async function flushersBy(lateMs: number): Promise<number> {
  const { DurableLedgerDesk } = await srcModule<DeskModule>('adapters/durable/ledger-desk');
  let nowMs = 1;
  let backgrounds = 0;
  const time = { nowMs: () => nowMs, start: () => () => undefined };
  const desk = new DurableLedgerDesk({
    objectOf: () => objectThat(true),
    keeper: { keep: async (_, ops) => ops },
    time,
  });
  for (const [id, ms] of [
    ['hld_1', 0],
    ['hld_2', lateMs],
  ] as const) {
    nowMs += ms;
    desk.end({ ledgerTenantId: 'ten_1', homeRegion: null }, ['settle', id, 1, true], () => {
      backgrounds += 1;
    });
  }
  return backgrounds;
}

/** A micro-USD a row; `max`: the vendor's largest page, null where the row does not tell it. */
const quota = (max: number | 'none' | null): Cost => ({
  kind: 'quota_rows',
  prices: [{ when: [], perMillionMicros: 1_000_000 }],
  page: max === 'none' ? null : { in: 'query', at: 'size', default: null, max },
  entities: null,
  rows: null,
});

/** Every row of this file. */
export const inTheCode: readonly Named[] = [
  inCode(
    `decimalCharsMax: a vendor's number has ${decimalCharsMax} characters at most`,
    async () => {
      const { decimalOf } = await import('../../../src/domain/pricing/decimal.ts');
      same(decimalOf('1'.repeat(decimalCharsMax)) === null, false, 'at the limit');
      same(decimalOf('1'.repeat(decimalCharsMax + 1)), null, 'beyond it');
    },
  ),
  inCode(
    `decimalExponentMax: and no power of ten beyond ${decimalExponentMax}, either way`,
    async () => {
      const { decimalOf } = await import('../../../src/domain/pricing/decimal.ts');
      for (const sign of ['', '-']) {
        same(decimalOf(`1e${sign}${decimalExponentMax}`) === null, false, 'at the limit');
        same(decimalOf(`1e${sign}${decimalExponentMax + 1}`), null, 'beyond it');
      }
    },
  ),
  inCode(
    'quotaPageDefault, quotaPageMax, quotaRowsMax: what an undeclared page is held for',
    async () => {
      const [{ estimate }, { queryPairs }, { usualSettlement }] = await Promise.all([
        import('../../../src/domain/pricing/estimate.ts'),
        import('../../../src/domain/relay/query.ts'),
        import('../../../scripts/lib/catalog/price-schema.ts'),
      ]);
      const rowsOf = (cost: Cost, query: string | null): number => {
        const asked = { query: queryPairs(query), body: undefined, bodyBytes: 0 };
        const held = estimate(cost, usualSettlement, { ...asked, ceilingMicros: null });
        return held.kind === 'known' ? held.micros : -1;
      };
      const large = (rows: number): string => `size=${rows + 1}`;
      same(rowsOf(quota('none'), null), quotaPageDefault, 'no page is declared');
      same(rowsOf(quota(null), large(quotaPageMax)), quotaPageMax, 'a larger page than usual');
      same(rowsOf(quota(2 * quotaRowsMax), large(quotaRowsMax)), quotaRowsMax, 'more rows');
    },
  ),
  inCode(`jsonPathsKeptMax: an isolate keeps ${jsonPathsKeptMax} parsed paths`, async () => {
    const { pathOf } = await import('../../../src/base/json-path.ts');
    const first = pathOf('first');
    holds(pathOf('first') === first, 'a known path is parsed again');
    for (let i = 0; i < jsonPathsKeptMax; i += 1) pathOf(`p${i}`);
    holds(pathOf('first') !== first, 'nothing was forgotten');
  }),
  inCode(`byteBufferKeptMax: a block above ${byteBufferKeptMax} bytes is given back`, async () => {
    const { ByteBuffer } = await import('../../../src/domain/pricing/byte-buffer.ts');
    const blockAfter = (size: number): number => {
      const buffer = new ByteBuffer();
      buffer.append(new Uint8Array(size));
      buffer.clear();
      buffer.append(new Uint8Array(1));
      return buffer.view().buffer.byteLength;
    };
    same(blockAfter(byteBufferKeptMax), byteBufferKeptMax, 'kept');
    same(blockAfter(byteBufferKeptMax + 1), 1, 'given back');
  }),
  inCode(
    `nearIdEditsMax: ${nearIdEditsMax} edits are a mistyped id, one more is another word`,
    async () => {
      const { nearIds } = await import('../../../src/domain/catalog/near-ids.ts');
      const heading = {
        capability: 'a.b',
        access: 'own',
        guideMicros: null,
        retired: false,
      } as const;
      const found = (edits: number) =>
        nearIds(`lab.${'z'.repeat(edits)}bcdefgh`, [
          { id: `lab.${'a'.repeat(edits)}bcdefgh`, ...heading },
        ]).length;
      same([found(nearIdEditsMax), found(nearIdEditsMax + 1)], [1, 0], 'suggestions');
    },
  ),
  inCode(
    'ledgerReasonCharsMax, recordScopeCharsMax, recordHeaderCharsMax: longer is invalid',
    async () => {
      const { endFault, placeFault } = await import('../../../src/domain/ledger/operations.ts');
      const reason = (n: number) => endFault(['release', 'hld_1', 'x'.repeat(n)]);
      same(
        [reason(ledgerReasonCharsMax), reason(ledgerReasonCharsMax + 1)],
        [null, 'reason'],
        'reason',
      );
      const scope = (n: number) => placeFault(placing('x'.repeat(n)));
      same([scope(recordScopeCharsMax), scope(recordScopeCharsMax + 1)], [null, 'claim'], 'scope');
      const headers = (n: number) => endFault(recorded({ headers: ['x', 'x'.repeat(n - 1)] }));
      const at = [headers(recordHeaderCharsMax), headers(recordHeaderCharsMax + 1)];
      same(at, [null, 'headers'], 'headers');
    },
  ),
  inCode(`recordOverheadBytes: an empty record counts ${recordOverheadBytes} bytes`, async () => {
    const { answerBytes } = await import('../../../src/domain/ledger/records.ts');
    same(answerBytes(answer({})), recordOverheadBytes, 'nothing');
    same(
      answerBytes(answer({ headers: ['a', 'bc'], bodyBytes: 5 })),
      recordOverheadBytes + 8,
      'all',
    );
  }),
  inCode(
    `ledgerBatchBytesMax: riders and callers of one object call have ${ledgerBatchBytesMax} bytes together`,
    async () => {
      const { Ticket, takeBatch } = await import('../../../src/adapters/durable/ticket.ts');
      const half = ledgerBatchBytesMax / 2;
      const op = (bytes: number): EndOp =>
        recorded({ body: new Uint8Array(bytes), bodyBytes: bytes });
      const taken = (first: number, second: number): readonly number[] => {
        const ends = [op(first), op(second)];
        const callers = ends.map((end) => Ticket.ending([end]));
        const batch = takeBatch([...callers], [...ends], 512);
        return [batch.tickets.length, batch.riders.length];
      };
      same(taken(half / 4, half / 4), [2, 2], 'what fits');
      same(taken(half, half), [1, 1], 'what does not');
    },
  ),
  inCode(
    `ledgerDeskScanMax: a full isolate looks at its ${ledgerDeskScanMax} oldest desks for an idle one`,
    async () => {
      same(await oneMoreTenant(ledgerDeskScanMax - 1), 'placed', 'the last of them is idle');
      same(await oneMoreTenant(ledgerDeskScanMax), 'ledger_busy', 'all of them are busy');
    },
  ),
  inCode(
    'ledgerFlusherLapseMs: a flusher that is so late is replaced by the next settlement',
    async () => {
      const lateMs = ledgerFlushMs + ledgerFlusherLapseMs;
      same([await flushersBy(lateMs - 1), await flushersBy(lateMs)], [1, 2], 'flushers');
    },
  ),
];
