/** The command line's client: how many questions a list takes, and how long it waits for an answer. */
import { describe, expect, it, vi } from 'vitest';
import { byCursor, Client, jobWaitMs } from '../../scripts/weir/client.ts';

const connection = { url: 'http://gw', key: 'wk', isOperator: true, tenant: undefined };

/** A gateway with so many rows, the first `open` of which are open; notes what it is asked. */
function gateway(rows: number, open: number) {
  const asked: URL[] = [];
  const send = async (input: URL | RequestInfo): Promise<Response> => {
    const url = new URL(String(input));
    asked.push(url);
    const from = Number(url.searchParams.get('cursor') ?? 0);
    const to = Math.min(from + Number(url.searchParams.get('limit')), rows);
    const data = Array.from({ length: to - from }, (_, at) => ({ isOpen: from + at < open }));
    return Response.json({ data, next_cursor: to < rows ? String(to) : null });
  };
  return { asked, client: new Client(connection, undefined, send) };
}

describe('a list', () => {
  it('asks for no more rows than it shows', async () => {
    const { asked, client } = gateway(450, 0);
    const { rows, more } = await client.list('/calls', {}, 120);
    expect([rows.length, more]).toEqual([120, true]);
    expect(asked.map((url) => url.searchParams.get('limit'))).toEqual(['100', '20']);
  });

  it('of wanted rows asks for whole pages, however few are still missing', async () => {
    const { asked, client } = gateway(450, 49);
    const isWanted = ({ isOpen }: Readonly<Record<string, unknown>>): boolean => isOpen === true;
    const { rows, more } = await client.list('/ledger/reviews', {}, 50, { ...byCursor, isWanted });
    expect([rows.length, more]).toEqual([49, false]);
    expect(asked).toHaveLength(5);
  });
});

describe('an answer', () => {
  it('is waited for a minute, that of a job as long as the platform’s client waits', async () => {
    const timeout = vi.spyOn(AbortSignal, 'timeout');
    const client = new Client(connection, undefined, async () => Response.json({}));
    await client.get('/ledger');
    await client.post('/ledger/topups', {});
    await client.job('/overflow/verify', {});
    expect(timeout.mock.calls).toEqual([[60_000], [60_000], [jobWaitMs]]);
    timeout.mockRestore();
  });
});
