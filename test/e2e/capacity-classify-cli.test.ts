/** `npm run weir -- capacity classify`: it explains an answer without a gateway, and never shows its body. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { main } from '../../scripts/weir/main.ts';

const folder = mkdtempSync(join(tmpdir(), 'weir-classify-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let written = 0;
const file = (text: string): string => {
  written += 1;
  const name = join(folder, `${written}.txt`);
  writeFileSync(name, text);
  return name;
};

/** Runs the command with no key, no gateway and a network that fails. */
async function classify(
  ...args: readonly string[]
): Promise<{ code: number; out: string; err: string }> {
  let [out, err] = ['', ''];
  const code = await main(['capacity', 'classify', ...args], {
    env: { WEIR_STATE: '/nonexistent' },
    send: () => Promise.reject(new Error('something was sent')),
    write: (text) => {
      out += text;
    },
    complain: (text) => {
      err += text;
    },
  });
  return { code, out, err };
}

const dry = JSON.stringify({
  error: { code: 'insufficient_quota', message: 'canary-of-the-body' },
});

describe('capacity classify', () => {
  it('looks for an echo as far into the request as the road does', async () => {
    const said = 'You have reached your credit limit';
    const request = JSON.stringify({ note: 'z'.repeat(40_000), company: said });
    const { out } = await classify(
      ...['--provider', 'lusha', '--status', '400'],
      ...['--body', file(JSON.stringify({ message: said })), '--request', file(request)],
    );
    expect(out).toContain('unrecorded');
  });

  it('says the signal, the row, the field and what it would do, and not the body', async () => {
    const { code, out, err } = await classify(
      '--provider',
      'openai',
      '--status',
      '429',
      '--body',
      file(dry),
    );
    expect([code, err]).toEqual([0, '']);
    for (const text of [
      'balance',
      'insufficient_quota',
      'error.code',
      'strike against the provider',
    ])
      expect(out).toContain(text);
    expect(out).not.toContain('canary');
  });

  it('gives one document with --json, and takes every header', async () => {
    const headers = [
      '--header',
      'Retry-After: Tue, 01 Jan 2030 21:00:09 GMT',
      '--header',
      'Date: Tue, 01 Jan 2030 21:00:02 GMT',
    ];
    const { out } = await classify('--provider', 'vendor', '--status', '429', ...headers, '--json');
    expect(JSON.parse(out)).toEqual({
      provider: 'vendor',
      status: 429,
      kind: 'burst',
      wait_ms: 7_000,
      rule: 'wait',
      because: '429 with a wait',
      field: null,
      note: 'no row knows this vendor',
      effect: expect.stringContaining('no strike'),
    });
  });

  it('C074: an echo is explained as one', async () => {
    const body = file('{"error":"Insufficient credits"}');
    const request = file('{"title":"insufficient credits"}');
    const args = ['--provider', 'apollo', '--status', '422', '--body', body, '--json'];
    expect(JSON.parse((await classify(...args)).out)).toMatchObject({
      kind: 'balance',
      rule: 'table',
    });
    const echoed = await classify(...args, '--request', request);
    expect(JSON.parse(echoed.out)).toMatchObject({ kind: 'unrecorded', rule: 'echo' });
  });

  it('says so when an answer says nothing', async () => {
    const { code, out } = await classify(
      '--provider',
      'openai',
      '--status',
      '200',
      '--body',
      file(dry),
    );
    expect([code, out]).toEqual([0, expect.stringContaining('signal  none')]);
  });

  it.each([
    [[]],
    [['--provider', 'openai']],
    [['--provider', 'openai', '--status', 'soon']],
    [['--provider', 'Open AI', '--status', '429']],
    [['--provider', 'openai', '--status', '429', '--header', 'no colon']],
    [['--provider', 'openai', '--status', '429', '--header', 'Retry-After: 30…']],
    [['--provider', 'openai', '--status', '429', '--body', join(folder, 'absent')]],
    [['--provider', 'openai', '--status', '429', 'word']],
  ])('%j is not understood: exit code 2', async (args) => {
    const { code, out, err } = await classify(...args);
    expect([code, out]).toEqual([2, '']);
    expect(err).not.toBe('');
  });
});
