/** What is said of every recorded answer, and what of the table; the adversaries are in the classify proof. */
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import {
  capacityErrorCharsMax,
  capacityRequestCharsMax,
  capacityVendorHoldMsMax,
} from '../../../../src/base/limits-capacity';
import { classify, judge } from '../../../../src/domain/capacity/classify';
import { errorFields } from '../../../../src/domain/capacity/error-text';
import { isExhausting } from '../../../../src/domain/capacity/signal';
import {
  acknowledgedGaps,
  signatures,
  speaksInWords,
} from '../../../../src/domain/capacity/signatures';
import {
  type AccountOwner,
  answerOf,
  contractFaults,
  fixturesNowMs,
  fixturesOf,
  wanted,
} from '../../../support/capacity-fixtures';

const files = import.meta.glob<string>('../../../fixtures/capacity/*.jsonl', {
  query: '?raw',
  import: 'default',
  eager: true,
});
const fixtures = Object.values(files).flatMap(fixturesOf);
const catalog = import.meta.glob<string>('../../../../catalog/*.yaml', {
  query: '?raw',
  import: 'default',
  eager: true,
});
const owners = Object.values(catalog).map((text): AccountOwner => parse(text));

describe('classify', () => {
  it.each(fixtures.map((fixture) => [fixture.name, fixture] as const))('%s', (_, fixture) => {
    const signal = classify(answerOf(fixture));
    const said = signal === null ? null : { kind: signal.kind, waitMs: signal.waitMs };
    expect(said).toEqual(wanted(fixture));
  });

  const lusha = { provider: 'lusha', status: 400, header: () => null, nowMs: fixturesNowMs };
  const said = 'You have reached your credit limit.';

  it('reads a plain text of capacityErrorCharsMax as the vendor’s own, and no longer one', () => {
    const plain = (chars: number): string => said.padEnd(chars, ' z');
    const kindOf = (chars: number) =>
      classify({ ...lusha, bodyHead: plain(chars), requestText: '' })?.kind;
    expect(kindOf(capacityErrorCharsMax)).toBe('balance');
    expect(kindOf(capacityErrorCharsMax + 1)).not.toBe('balance');
  });

  it.each(errorFields)('finds the vendor’s words in %s, and nowhere beside it', (path) => {
    const bodyOf = (at: string) =>
      at.split('.').reduceRight<unknown>((inner, name) => {
        const isList = name.endsWith('[*]');
        return { [isList ? name.slice(0, -3) : name]: isList ? [{}, inner] : inner };
      }, said);
    const kindOf = (at: string) =>
      classify({ ...lusha, bodyHead: JSON.stringify(bodyOf(at)), requestText: '' })?.kind;
    expect([kindOf(path), kindOf(`x.${path}`)]).toEqual(['balance', 'unrecorded']);
  });

  it('looks for an echo in capacityRequestCharsMax of the request', () => {
    const request = (before: number): string => `${'z'.repeat(before)} ${said}`;
    const kindOf = (before: number) =>
      classify({ ...lusha, bodyHead: said, requestText: request(before) })?.kind;
    expect(kindOf(capacityRequestCharsMax - said.length - 1)).toBe('unrecorded');
    expect(kindOf(capacityRequestCharsMax)).toBe('balance');
  });

  it('has a recorded answer for every row', () => {
    const seen = new Set(fixtures.map((fixture) => judge(answerOf(fixture))?.row));
    expect(signatures.filter((row) => !seen.has(row))).toEqual([]);
    expect(fixtures.length).toBeGreaterThan(signatures.length * 2);
  });

  it('never repeats a body: the reason is a row or a phrase of ours', () => {
    for (const fixture of fixtures) {
      const because = judge(answerOf({ ...fixture, body: `${fixture.body} canary` }))?.signal
        .because;
      expect(because ?? '').not.toContain('canary');
    }
  });

  it.each([
    ['openai', 429, '{"error":{"code":"insufficient_quota"}}', 'openai 429 insufficient_quota'],
    ['trykitt', 402, 'slow down', 'trykitt 402'],
    ['nobody', 402, 'pay', 'any 402'],
  ])('names the row that decided: %s %i', (provider, status, body, because) => {
    const answer = { name: '', provider, status, headers: {}, body, request: '', want: null };
    expect(classify(answerOf(answer))?.because).toBe(because);
  });

  it('a row decides before a 429 says to wait', () => {
    const body = JSON.stringify({ error: { code: 'insufficient_quota' } });
    const headers = { 'retry-after': '5' };
    const answer = {
      name: '',
      provider: 'openai',
      status: 429,
      headers,
      body,
      request: '',
      want: null,
    };
    expect(classify(answerOf(answer))?.kind).toBe('balance');
  });

  it('a long stated wait of an account that is out is its reset; a short one is none', () => {
    const waitOf = (seconds: number) => {
      const body = JSON.stringify({ error: { code: 'insufficient_quota' } });
      const headers = { 'retry-after': String(seconds) };
      return classify(
        answerOf({
          name: '',
          provider: 'openai',
          status: 429,
          headers,
          body,
          request: '',
          want: null,
        }),
      )?.waitMs;
    };
    expect([waitOf(0), waitOf(60), waitOf(61), waitOf(999_999_999)]).toEqual([
      null,
      null,
      61_000,
      capacityVendorHoldMsMax,
    ]);
  });

  it.each([
    ['one millisecond before midnight', Date.UTC(2030, 0, 1, 23, 59, 59, 999), 1],
    ['three hours before it', fixturesNowMs, 10_800_000],
    ['at midnight, a day ahead, at most 6 h', Date.UTC(2030, 0, 2), capacityVendorHoldMsMax],
  ])('a day ends at the next UTC midnight: %s', (_, nowMs, waitMs) => {
    const answer = { provider: 'lusha', status: 429, bodyHead: '{"message":"Daily limit"}', nowMs };
    expect(classify({ ...answer, header: () => null, requestText: '' })?.waitMs).toBe(waitMs);
  });

  it.each([401, 402, 403, 404, 422, 429, 418, 503])('%d and no body never throws', (status) => {
    for (const provider of new Set(signatures.map((row) => row.provider))) {
      const answer = { provider, status, bodyHead: null, requestText: '', nowMs: 0 };
      const signal = classify({ ...answer, header: () => null });
      if (status !== 402) expect(signal === null || !isExhausting(signal.kind)).toBe(true);
    }
  });

  it.each([
    ['null'],
    ['[]'],
    ['[[[['],
    ['"insufficient_quota"'],
    ['7'],
    ['{"error":null}'],
    ['{"error":{"code":7,"message":["a"]}}'],
    ['{"errors":"x"}'],
    [`${'['.repeat(16_000)}`],
    ['\u0000\ufffd'],
    [''],
    ['   '],
  ])('a body %j of no dialect is no strike', (bodyHead) => {
    for (const { provider, status } of signatures) {
      const answer = { provider, status, bodyHead, requestText: '', nowMs: 0 };
      const signal = classify({ ...answer, header: () => null });
      if (status !== 402) expect(signal === null || !isExhausting(signal.kind)).toBe(true);
    }
  });
});

describe('a vendor that says in words that we are out', () => {
  it.each([
    ['lusha', true],
    ['anthropic', true],
    // Codes of its own, which no text can say.
    ['deepgram', false],
    ['vendor', false],
  ])('%s: %s', (provider, expected) => {
    expect(speaksInWords(provider)).toBe(expected);
  });
});

describe('the table', () => {
  it('knows every vendor of the catalog that has a platform account', () => {
    expect(owners.filter(({ accounts }) => accounts !== undefined).length).toBeGreaterThan(5);
    expect(contractFaults(owners, signatures, acknowledgedGaps)).toEqual([]);
  });

  it.each(['openai', 'anthropic', 'resend'])(
    'fails its contract without the rows of %s',
    (name) => {
      const rows = signatures.filter(({ provider }) => provider !== name);
      expect(contractFaults(owners, rows, {})).toEqual([
        `${name} has an account, and neither a row nor a gap`,
      ]);
      expect(contractFaults(owners, rows, { [name]: 'no public error page' })).toEqual([]);
    },
  );

  it('fails its contract for a new account, an old gap and a gap without a reason', () => {
    const more = [...owners, { provider: 'newcomer', accounts: [{}] }];
    expect(contractFaults(more, signatures, {})).toHaveLength(1);
    expect(contractFaults(owners, signatures, { openai: 'none' })).toHaveLength(1);
    expect(contractFaults(more, signatures, { newcomer: ' ' })).toHaveLength(1);
    expect(
      contractFaults([{ provider: 'plain' }, { provider: 'p', accounts: [] }], [], {}),
    ).toEqual([]);
  });

  it('ends with any 402, has lower-case values, and no row behind one that says the same', () => {
    expect(signatures.at(-1)).toMatchObject({ provider: '*', status: 402, kind: 'balance' });
    const keys = signatures.flatMap(({ provider, status, match }) =>
      match.by === 'status'
        ? [`${provider} ${status}`]
        : match.values.map((value) => `${provider} ${status} ${value}`),
    );
    expect(keys).toEqual([...new Set(keys)]);
    expect(keys).toEqual(keys.map((key) => key.toLowerCase()));
  });
});
