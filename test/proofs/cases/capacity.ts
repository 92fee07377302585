/**
 * Cases of the kinds `breaker` and `classification`: which answer of a vendor says something of our
 * account there, for how long, and how an account comes back. Called by ../cases.ts.
 */
import { newCase, refusalOf } from '../../support/money-world.ts';
import type { Plan } from '../../support/priced-origin.ts';
import { holds, same } from '../../support/proof.ts';
import { headersOf, type RawAnswer } from '../../support/raw-client.ts';
import { reply } from '../../support/recording-origin.ts';
import { until } from '../../support/until.ts';
import { isOut, spacingMs, well } from '../breaker/stand.ts';
import { type CapacityStand, timed } from './capacity-stand.ts';
import { byBreaker, type CaseCheck, type CaseChecks } from './stands.ts';

const json = 'Content-Type: application/json';

/** A vendor's answer; its work is not billed. */
const says =
  (status: string, body: object, lines: readonly string[] = []): Plan =>
  (call) =>
    call.write(reply(status, [json, ...lines], JSON.stringify(body)));

// ── C071: at the cap the lock lapses ──

/** The probe's minute is longer than this guessed hold: what reaches the vendor then is no probe. */
const lapses: CaseCheck = async (stands) => {
  const stand = await stands.capacity();
  const call = (plan: Plan): Promise<RawAnswer> => {
    const caseId = newCase();
    stand.world.origin.planFor(caseId, plan);
    return stand.tenant.call('dull.do0', { caseId });
  };
  const broke = says('402 Payment Required', { error: 'no credit' });
  await call(broke);
  await stand.spaced();
  await call(broke);
  const { locks } = await seenLocked(stand);
  same(refusalOf(await call(broke)), 'provider_capacity', 'while it is locked');
  const endsInMs = Date.parse(locks[0]?.until ?? '') - Date.now();
  holds(endsInMs > 0 && endsInMs <= timed.guessedHoldMs, `the lock ends in ${endsInMs} ms`);
  await until('the end of the lock', async () => {
    const answer = await call(says('200 OK', { ok: true }));
    return answer.status === 200 || undefined;
  });
  same((await stand.seen('dull')).locks, [], 'locks');
};

const seenLocked = (stand: CapacityStand) =>
  until('the lock', async () => {
    const seen = await stand.seen('dull');
    return seen.locks.length > 0 ? seen : undefined;
  });

// ── C073: and nothing is remembered of it ──

/** Malformed requests, and what an edge says in front of the vendor. */
const faults: readonly Plan[] = [
  ...['400 Bad Request', '404 Not Found', '413 Payload Too Large', '422 Unprocessable Entity'].map(
    (status) => says(status, { error: 'malformed' }),
  ),
  (call) => call.write(reply('403 Forbidden', ['cf-mitigated: challenge'], 'blocked')),
  (call) =>
    call.write(
      reply(
        '403 Forbidden',
        ['Content-Type: text/html'],
        '<!DOCTYPE html><title>Attention Required! | Cloudflare</title>',
      ),
    ),
];

/** Looked at before any 2xx, which would clear what was there. */
const noStrike: CaseCheck = async (stands) => {
  const { stand } = await stands.breaker();
  for (let round = 0; round < 10; round += 1) {
    stand.vendor('wet', faults[round % faults.length] as Plan);
    same(isOut(await stand.call('wet.b', { of: 1 })), false, `fault ${round}`);
  }
  await stand.pass(spacingMs);
  const { body } = await stand.world.gateway.api('GET', '/api/v1/capacity?limit=100');
  const wet = body.data.find((one: { provider: string }) => one.provider === 'wet');
  same([wet?.locks, wet?.strikes], [[], []], 'locks and strikes');
  stand.vendor('wet', well);
  same((await stand.call('wet.b', { of: 2, isolate: 1 })).status, 200, 'another tenant');
};

// ── C074: an echo says nothing ──

const phrase = 'your credit balance is too low, insufficient_quota';
const anthropics = 'Your credit balance is too low to access the Anthropic API';

/** Endpoints whose body is read, as the catalog's are, and others, where only the form tells an echo. */
const targets: readonly (readonly [target: string, said: readonly string[]])[] = (
  ['openai', 'anthropic'] as const
).flatMap((slug) => [
  [`${slug}.read`, [phrase, anthropics]],
  [`${slug}.do0`, [phrase]],
]);

/** What a vendor makes of a prompt that has a vendor's own words, when it refuses it and when not. */
const refusals = (said: string): readonly object[] => [
  { error: { message: `Invalid prompt: '${said}'` } },
  { error: { message: said, code: 'invalid_prompt' } },
];
const success = (said: string): object => ({
  choices: [{ message: { content: said } }],
  error: said,
});

async function echoedBy(
  stand: CapacityStand,
  target: string,
  { said, status, body }: { readonly said: string; readonly status: string; readonly body: object },
): Promise<void> {
  const caseId = newCase();
  stand.world.origin.planFor(caseId, says(status, body));
  const request = JSON.stringify({ max_tokens: 1, messages: [{ role: 'user', content: said }] });
  const answer = await stand.tenant.call(target, { caseId, body: request });
  same([answer.status, refusalOf(answer)], [Number(status.slice(0, 3)), null], said);
  same(answer.body.toString(), JSON.stringify(body), 'the body');
}

async function silentAbout(stand: CapacityStand): Promise<void> {
  await stand.spaced();
  for (const slug of ['openai', 'anthropic'] as const) {
    const { locks, strikes } = await stand.seen(slug);
    same([locks, strikes], [[], []], `locks and strikes of ${slug}`);
  }
}

/** The refusals first: a 2xx would clear a strike of theirs. */
const echoed: CaseCheck = async (stands) => {
  const stand = await stands.capacity();
  let count = 0;
  for (let round = 0; round < 2; round += 1) {
    for (const [target, prompts] of targets)
      for (const said of prompts)
        for (const body of refusals(said)) {
          await echoedBy(stand, target, { said, status: '400 Bad Request', body });
          count += 1;
        }
    await silentAbout(stand);
  }
  for (const [target, prompts] of targets) {
    for (const said of prompts)
      await echoedBy(stand, target, { said, status: '200 OK', body: success(said) });
    same(
      (await stand.other.call(target, { body: '{"max_tokens":1}' })).status,
      200,
      'a call of another tenant',
    );
  }
  await silentAbout(stand);
  await inItsOwnWords(stand);
  return `${count} echoes`;
};

/** Control: the vendor's own word strikes, so that the silence above means something. */
async function inItsOwnWords(stand: CapacityStand): Promise<void> {
  const own = [
    [
      'anthropic',
      '400 Bad Request',
      { error: { type: 'invalid_request_error', message: anthropics } },
    ],
    [
      'openai',
      '429 Too Many Requests',
      { error: { code: 'insufficient_quota', message: 'quota' } },
    ],
  ] as const;
  for (const [slug, status, body] of own) {
    const caseId = newCase();
    stand.world.origin.planFor(caseId, says(status, body));
    await stand.tenant.call(`${slug}.do1`, { caseId });
    await until(`the strike of ${slug}`, async () => {
      const { strikes } = await stand.seen(slug);
      return strikes.length === 1 || undefined;
    });
  }
}

// ── C077: what a 429 says to wait ──

const monthNames = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ');
const dayNames = 'Sunday Monday Tuesday Wednesday Thursday Friday Saturday'.split(' ');

/** RFC 9110 5.6.7: the preferred form. */
const imfDate = (atMs: number): string => new Date(atMs).toUTCString();

/** RFC 9110 5.6.7: the obsolete form of RFC 850. */
function oldDate(atMs: number): string {
  const at = new Date(atMs);
  const two = (n: number): string => String(n).padStart(2, '0');
  const day = `${two(at.getUTCDate())}-${monthNames[at.getUTCMonth()]}-${two(at.getUTCFullYear() % 100)}`;
  return `${dayNames[at.getUTCDay()]}, ${day} ${at.toISOString().slice(11, 19)} GMT`;
}

const hourMs = 3_600_000;

/** `null`: no strike. Else what the lock holds, milliseconds, give or take what the calls take. */
interface Form {
  readonly what: string;
  readonly valuesOf: () => readonly string[];
  readonly holdMs: number | null;
}

const forms: readonly Form[] = [
  { what: 'IMF-fixdate in 2 s', valuesOf: () => [imfDate(Date.now() + 2_000)], holdMs: null },
  {
    what: 'IMF-fixdate in 20 min',
    valuesOf: () => [imfDate(Date.now() + 1_200_000)],
    holdMs: 1_200_000,
  },
  {
    what: 'RFC 850 date in 20 min',
    valuesOf: () => [oldDate(Date.now() + 1_200_000)],
    holdMs: 1_200_000,
  },
  { what: '120', valuesOf: () => ['120'], holdMs: 120_000 },
  {
    what: 'a date in 10 years',
    valuesOf: () => [imfDate(Date.now() + 87_600 * hourMs)],
    holdMs: 6 * hourMs,
  },
  ...['-3', '1.5', '0', 'soon'].map((text) => ({
    what: text,
    valuesOf: () => [text],
    holdMs: null,
  })),
  { what: 'a past date', valuesOf: () => [imfDate(Date.now() - 60_000)], holdMs: null },
  { what: 'two lines', valuesOf: () => ['120', '120'], holdMs: null },
];

/** The lock ends when the second answer said: its date is a whole second, its call took a moment. */
const slackMs = 5_000;

async function waits(
  stand: CapacityStand,
  { what, valuesOf, holdMs }: Form,
  at: number,
): Promise<void> {
  const id = `acme.do${at}`;
  for (let round = 0; round < 2; round += 1) {
    const caseId = newCase();
    const values = valuesOf();
    const lines = values.map((value) => `Retry-After: ${value}`);
    stand.world.origin.planFor(caseId, says('429 Too Many Requests', { error: 'slow' }, lines));
    const answer = await stand.tenant.call(id, { caseId });
    same([answer.status, refusalOf(answer)], [429, null], what);
    // Two lines of a name that the runtime knows come back as one, with a comma (R147 is of the same kind).
    const wanted = values.join(', ');
    same(headersOf(answer.lines, 'retry-after'), [wanted], `${what}: the header`);
    same(stand.world.origin.arrivals(caseId), 1, 'a POST is never sent again');
    await stand.spaced();
  }
  const { locks, strikes } = await stand.seen('acme');
  const own = locks.filter(({ key }) => key.startsWith(id));
  same(strikes.filter(({ key }) => key.startsWith(id)).length, 0, `${what}: strikes`);
  same(own.length, holdMs === null ? 0 : 1, `${what}: locks`);
  if (holdMs === null) return;
  const endsInMs = Date.parse(own[0]?.until ?? '') - Date.now();
  holds(Math.abs(endsInMs - holdMs) < slackMs, `${what}: the lock ends in ${endsInMs} ms`);
}

/** A GET that may be sent again says how long was waited: its second send. */
async function sentAgain(
  stand: CapacityStand,
  value: () => string,
  [leastMs, mostMs]: readonly [number, number],
): Promise<string> {
  const caseId = newCase();
  const times: number[] = [];
  stand.world.origin.planFor(caseId, (call) => {
    times.push(performance.now());
    const plan =
      times.length === 1
        ? says('429 Too Many Requests', { error: 'slow' }, [`Retry-After: ${value()}`])
        : says('200 OK', { ok: true });
    return plan(call);
  });
  const answer = await stand.tenant.call('acme.look0', { caseId, method: 'GET' });
  const [first = 0, second = Number.POSITIVE_INFINITY] = times;
  const waitedMs = second - first;
  same([answer.status, times.length], [200, 2], 'answer and sends');
  holds(waitedMs >= leastMs && waitedMs <= mostMs, `sent again after ${Math.round(waitedMs)} ms`);
  return `${Math.round(waitedMs)} ms`;
}

/** What is no wait, and a wait beyond five seconds, is the caller's: a GET is not sent again either. */
async function notSentAgain(stand: CapacityStand, value: string): Promise<void> {
  const caseId = newCase();
  const lines = [`Retry-After: ${value}`];
  stand.world.origin.planFor(caseId, says('429 Too Many Requests', { error: 'slow' }, lines));
  const answer = await stand.tenant.call('acme.look1', { caseId, method: 'GET' });
  same([answer.status, stand.world.origin.arrivals(caseId)], [429, 1], `${value}: sends`);
  same(headersOf(answer.lines, 'retry-after'), [value], `${value}: the header`);
}

const retryAfter: CaseCheck = async (stands) => {
  const stand = await stands.capacity();
  for (const [at, form] of forms.entries()) await waits(stand, form, at);
  // A date has whole seconds: up to one of the two is gone when it is written.
  const date = await sentAgain(stand, () => imfDate(Date.now() + 2_000), [900, 2_600]);
  const zero = await sentAgain(stand, () => '0', [0, 700]);
  const past = await sentAgain(stand, () => imfDate(Date.now() - 60_000), [0, 700]);
  for (const value of ['-3', '1.5', 'soon', '20']) await notSentAgain(stand, value);
  return `${forms.length} forms; sent again after ${[date, zero, past].join(', ')}`;
};

/** Checks by case. */
export const capacityChecks: CaseChecks = {
  C071: byBreaker('C071', 5, lapses),
  C073: byBreaker('C073', 1, noStrike),
  C074: echoed,
  C076: byBreaker('C076', 2),
  C077: retryAfter,
};
