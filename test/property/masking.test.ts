import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { maskText, maskValue, prepareMask } from '../../src/domain/credentials/masking';

// ── encoders, written apart from the ones under test: each escapes what it must and any other
// character at random ──

type Pick = () => number;
type Layer = 'percent' | 'form' | 'json' | 'html' | 'base64' | 'base64url';

const hex = (value: number, width: number, pick: Pick): string => {
  const digits = value.toString(16).padStart(width, '0');
  return [...digits].map((digit) => (pick() % 2 === 0 ? digit : digit.toUpperCase())).join('');
};

const percent = (text: string, pick: Pick): string =>
  [...text]
    .map((char) => {
      if (/[A-Za-z0-9/:@._~-]/.test(char) && pick() % 4 !== 0) return char;
      return [...new TextEncoder().encode(char)].map((byte) => `%${hex(byte, 2, pick)}`).join('');
    })
    .join('');

const json = (text: string, pick: Pick): string =>
  [...text]
    .map((char) => {
      if (pick() % 5 === 0)
        return char
          .split('')
          .map((unit) => `\\u${hex(unit.charCodeAt(0), 4, pick)}`)
          .join('');
      if (char === '/') return pick() % 2 === 0 ? '\\/' : '/';
      return JSON.stringify(char).slice(1, -1);
    })
    .join('');

const html = (text: string, pick: Pick): string =>
  [...text]
    .map((char) => {
      const code = char.codePointAt(0) ?? 0;
      if (!/[&<>"']/.test(char) && pick() % 5 !== 0) return char;
      if (char === '&' && pick() % 2 === 0) return '&amp;';
      return pick() % 2 === 0 ? `&#${code};` : `&#x${hex(code, 2, pick)};`;
    })
    .join('');

const base64 = (text: string, pick: Pick): string => {
  const encoded = btoa(String.fromCharCode(...new TextEncoder().encode(text)));
  return pick() % 2 === 0 ? encoded : encoded.replace(/=+$/, '');
};

const layers: Record<Layer, (text: string, pick: Pick) => string> = {
  percent,
  form: (text, pick) => percent(text, pick).replaceAll('%20', '+'),
  json,
  html,
  base64,
  base64url: (text, pick) => base64(text, pick).replaceAll('+', '-').replaceAll('/', '_'),
};

// ── the judge: undoes layers in every order, and reads base64 from every place where a text could
// start ──

const judges: readonly ((text: string) => string)[] = [
  (text) =>
    text.replace(/\\(u[0-9a-fA-F]{4}|["\\/bfnrt])/g, (escaped) =>
      String(JSON.parse(`"${escaped}"`)),
    ),
  (text) =>
    text.replace(/(?:%[0-9a-f]{2})+/gi, (run) => {
      const bytes = run
        .slice(1)
        .split('%')
        .map((digits) => Number.parseInt(digits, 16));
      return new TextDecoder().decode(Uint8Array.from(bytes));
    }),
  (text) =>
    text.replace(
      /&#(?:x([0-9a-f]+)|([0-9]+));|&amp;/gi,
      (reference, hexDigits?: string, digits?: string) => {
        if (reference.toLowerCase() === '&amp;') return '&';
        const code = Number.parseInt(hexDigits ?? digits ?? '0', hexDigits === undefined ? 10 : 16);
        return code > 0x10ffff ? reference : String.fromCodePoint(code);
      },
    ),
  (text) =>
    [...text.matchAll(/[A-Za-z0-9+/_-]{4,}/g)]
      .flatMap(([run]) =>
        [0, 1, 2, 3].map((start) => run.slice(start).replaceAll('-', '+').replaceAll('_', '/')),
      )
      .map((run) => atob(run.length % 4 === 1 ? run.slice(0, -1) : run))
      .map((binary) =>
        new TextDecoder().decode(Uint8Array.from(binary, (char) => char.charCodeAt(0))),
      )
      .join('\n'),
];

function isVisible(text: string, secret: string, depth: number): boolean {
  if (text.includes(secret)) return true;
  return (
    depth > 0 &&
    judges.some((judge) => {
      const inner = judge(text);
      return inner !== text && isVisible(inner, secret, depth - 1);
    })
  );
}

const trouble = fc.constantFrom(...'"\\/+%&<\'=-_ \n41ua7é🔑');
const special = fc.string({ unit: trouble, minLength: 4, maxLength: 24 });
const secrets = fc.oneof(
  special,
  fc.string({ minLength: 4, maxLength: 24 }),
  fc.string({ unit: 'grapheme', minLength: 4, maxLength: 16 }),
  fc.stringMatching(/^[A-Za-z0-9_-]{8,40}$/),
);
/**
 * None ends inside an escape: `%` right before a value that starts with hex digits is one, and no
 * decoder can tell.
 */
const around = fc.constantFrom(
  '',
  'x',
  'key: ',
  '{"a":"',
  '/',
  '\\ ',
  '% ',
  '%25',
  '& ',
  '&amp;',
  'Basic ',
  '<p>',
  'é',
  'ab',
  '\n',
  '+',
);
const layer = fc.constantFrom<Layer>('percent', 'form', 'json', 'html', 'base64', 'base64url');
const nesting = fc.array(fc.record({ layer, before: around, after: around }), { maxLength: 3 });
const picks = fc.infiniteStream(fc.nat({ max: 1000 }));

const nest = (
  secret: string,
  steps: readonly { layer: Layer; before: string; after: string }[],
  pick: Pick,
): string =>
  steps.reduce((text, step) => layers[step.layer](step.before + text + step.after, pick), secret);

const pickFrom =
  (stream: Iterator<number>): Pick =>
  () =>
    Number(stream.next().value);

describe('maskText', () => {
  it('C053: no spelling of a secret survives, however it was nested', () => {
    fc.assert(
      fc.property(
        secrets,
        nesting,
        around,
        around,
        picks,
        (secret, steps, before, after, stream) => {
          const text = before + nest(secret, steps, pickFrom(stream)) + after;
          const masking = maskText(text, [prepareMask(secret)]);
          expect(masking.kind).not.toBe('unchanged');
          if (masking.kind === 'masked') expect(isVisible(masking.text, secret, 3)).toBe(false);
        },
      ),
      { numRuns: 1500 },
    );
  }, 30_000);

  it('C053: none of several secrets survives, one inside the other included', () => {
    fc.assert(
      fc.property(
        secrets,
        secrets,
        nesting,
        nesting,
        picks,
        (user, password, first, second, stream) => {
          const pick = pickFrom(stream);
          const pair = `${user}:${password}`;
          const text = `${nest(pair, first, pick)} ${nest(password, second, pick)}`;
          const masking = maskText(text, [user, password, pair].map(prepareMask));
          expect(masking.kind).not.toBe('unchanged');
          if (masking.kind !== 'masked') return;
          for (const secret of [pair, user, password])
            expect(isVisible(masking.text, secret, 3)).toBe(false);
        },
      ),
      { numRuns: 500 },
    );
  }, 30_000);

  it('C053: a text that shows no secret keeps its bytes', () => {
    const key = fc.stringMatching(/^sk-[A-Za-z0-9]{20,40}$/);
    fc.assert(
      fc.property(key, fc.json(), nesting, picks, (secret, text, steps, stream) => {
        const body = nest(text, steps, pickFrom(stream));
        expect(maskText(body, [prepareMask(secret)])).toEqual({ kind: 'unchanged' });
      }),
      { numRuns: 500 },
    );
  });
});

describe('maskValue', () => {
  it('gives a header value in which no secret is visible', () => {
    fc.assert(
      fc.property(secrets, nesting, around, picks, (secret, steps, before, stream) => {
        const value = maskValue(before + nest(secret, steps, pickFrom(stream)), [
          prepareMask(secret),
        ]);
        expect(isVisible(value, secret, 3)).toBe(false);
      }),
      { numRuns: 500 },
    );
  });
});

describe('what is masked', () => {
  /** Spellings of common encoders, the whole text through one of them. */
  const common: readonly ((text: string) => string)[] = [
    (text) => text,
    (text) => encodeURIComponent(text),
    (text) => encodeURIComponent(text).replace(/%../g, (octet) => octet.toLowerCase()),
    (text) => new URLSearchParams({ x: text }).toString().slice(2),
    (text) => JSON.stringify(text).slice(1, -1),
    (text) => JSON.stringify(JSON.stringify(text).slice(1, -1)).slice(1, -1),
    (text) => JSON.stringify(text).slice(1, -1).replaceAll('/', '\\/'),
    (text) => btoa(String.fromCharCode(...new TextEncoder().encode(text))),
    (text) =>
      text
        .replaceAll('&', '&amp;')
        .replaceAll('<', '&lt;')
        .replaceAll('>', '&gt;')
        .replaceAll('"', '&quot;'),
  ];
  /** No character of a secret, nor of an escape. */
  const noise = fc.string({ unit: fc.constantFrom(...'жщ☃ 字,.()|~'), maxLength: 6 });
  const secret = fc.string({
    unit: fc.constantFrom(...'abcXYZ0189-_/+=:"<&\'% é'),
    minLength: 8,
    maxLength: 24,
  });

  it('is each spelling of the secret and nothing beside it', () => {
    const shown = fc.array(fc.tuple(noise, fc.nat(common.length - 1)), { maxLength: 4 });
    fc.assert(
      fc.property(secret, shown, noise, (value, places, rest) => {
        fc.pre(value.trim() === value);
        const spelled = places.map(([before, at]) => [before, common[at]?.(value) ?? ''] as const);
        const text = spelled.map(([before, spelling]) => before + spelling).join('') + rest;
        const wanted = spelled.map(([before]) => `${before}***`).join('') + rest;
        const masking = maskText(text, [prepareMask(value)]);
        if (places.length === 0) expect(masking).toEqual({ kind: 'unchanged' });
        else if (masking.kind !== 'unsafe')
          expect(masking).toEqual({ kind: 'masked', text: wanted });
      }),
      { numRuns: 500 },
    );
  });
});
