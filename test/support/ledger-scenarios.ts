/**
 * Scenarios: one line per operation and what it has to answer. `+ 2m` lets time pass, `alarm`,
 * `restart` and `audit` are what they say; `books` shows available, held, settled and debt.
 * The same texts run on `node:sqlite` (proof ledger-model) and in the real object (unit tests).
 *
 *   place ID MICROS [key=K cap=N] [tag=DIM:VALUE …] [claim=RECORD/SCOPE/KEY/FINGERPRINT]
 *   settle ID MICROS [estimate]      release ID      renew ID
 *   record RECORD STATUS COST [bytes=N, beside it]   free RECORD     unknown RECORD
 *   top_up ID MICROS                 grant ID KIND MICROS
 *   cap MICROS                       budget DIM WINDOW SPEND CALLS [blocked=VALUE]
 *   resolve RECORD settle|free [MICROS]
 */
import type { Budget, LedgerConfig } from '../../src/domain/ledger/config.ts';
import type {
  Applied,
  Claim,
  EndAnswer,
  EndOp,
  LedgerBusy,
  LedgerRefusal,
  PlaceAnswer,
  PlaceOp,
} from '../../src/domain/ledger/operations.ts';
import type {
  AuditStep,
  ConfigureAnswer,
  CreditAnswer,
  LedgerView,
  Resolution,
  ResolveAnswer,
  Review,
} from '../../src/domain/ledger/views.ts';

type Maybe<T> = T | Promise<T>;

/** What a scenario drives: a core on a database of its own, or an object. */
export interface Stage {
  apply(ends: readonly EndOp[], places: readonly PlaceOp[]): Maybe<Applied | LedgerBusy>;
  grant(id: string, kind: 'promotional' | 'earned', micros: number): Maybe<CreditAnswer>;
  topUp(id: string, micros: number): Maybe<CreditAnswer>;
  configure(config: LedgerConfig): Maybe<ConfigureAnswer>;
  resolveRecord(id: string, resolution: Resolution): Maybe<ResolveAnswer>;
  view(): Maybe<LedgerView>;
  reviews(after: string | null): Maybe<readonly Review[]>;
  audit(): Maybe<AuditStep>;
  wait(ms: number): Maybe<void>;
  alarm(): Maybe<void>;
  restart(): Maybe<void>;
}

export interface Scenario {
  readonly name: string;
  readonly lines: string;
}

const units: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000 };

/** Words after the fixed ones: `name=value` pairs, a name may come again. */
function options(words: readonly string[], name: string): string[] {
  return words.filter((w) => w.startsWith(`${name}=`)).map((w) => w.slice(name.length + 1));
}

function placeOf([, id = '', micros, ...rest]: readonly string[]): PlaceOp {
  const [key = 'key_a'] = options(rest, 'key');
  const [cap] = options(rest, 'cap');
  const [claim] = options(rest, 'claim');
  const tags = options(rest, 'tag').flatMap((tag) => tag.split(':'));
  return [
    'place',
    id,
    Number(micros),
    key,
    cap === undefined ? null : Number(cap),
    tags.length === 0 ? null : tags,
    claim === undefined ? null : (claim.split('/') as unknown as Claim),
  ];
}

function endOf([op, id = '', a, b, ...rest]: readonly string[]): EndOp {
  switch (op) {
    case 'settle':
      return ['settle', id, Number(a), b !== 'estimate'];
    case 'release':
      return ['release', id, 'scenario'];
    case 'renew':
      return ['renew', id];
    case 'record': {
      const headers = ['content-type', 'text/plain'];
      const answer = { status: Number(a), headers, costMicros: Number(b) };
      const [bytes] = options(rest, 'bytes');
      if (bytes !== undefined)
        return [
          op,
          id,
          { ...answer, body: null, bodyRef: `records/${id}`, bodyBytes: Number(bytes) },
        ];
      const body = new TextEncoder().encode(`answer ${a}`);
      return [op, id, { ...answer, body, bodyRef: null, bodyBytes: body.byteLength }];
    }
    case 'free':
    case 'unknown':
      return [op, id];
    default:
      throw new Error(`no such operation: ${op}`);
  }
}

/** An answer as a scenario writes it. */
function shown(answer: PlaceAnswer | EndAnswer | undefined): string {
  if (answer === undefined) return 'nothing';
  switch (answer.outcome) {
    case 'refused':
      return shownRefusal(answer.refusal);
    case 'replay':
      return `replay ${answer.answer.status} ${answer.answer.costMicros}`;
    case 'already_ended': {
      const late = answer.lateMicros === null ? '' : ` late ${answer.lateMicros}`;
      return `already ${answer.ending} ${answer.chargeMicros}${late}`;
    }
    case 'record_closed':
      return `closed ${answer.state}`;
    case 'invalid':
      return `invalid ${answer.field}`;
    default:
      return answer.outcome;
  }
}

function shownRefusal(refusal: LedgerRefusal): string {
  if (refusal.code === 'insufficient_balance') {
    return `${refusal.code} ${refusal.availableMicros}/${refusal.requiredMicros}`;
  }
  return 'value' in refusal
    ? `${refusal.code} ${refusal.dimension}:${refusal.value}`
    : refusal.code;
}

/** One scenario that is being played. */
class Play {
  readonly #stage: Stage;
  #version = 0;
  #capMicros: number | null = null;
  #budgets: Budget[] = [];

  constructor(stage: Stage) {
    this.#stage = stage;
  }

  async line(words: readonly string[]): Promise<string> {
    const stage = this.#stage;
    const [op = '', id = '', a, b] = words;
    switch (op) {
      case '+':
        await stage.wait(Number(id.slice(0, -1)) * (units[id.slice(-1)] ?? Number.NaN));
        return '';
      case 'alarm':
      case 'restart':
        await stage[op]();
        return '';
      case 'audit':
        return (await stage.audit()).outcome;
      case 'books': {
        const view = await stage.view();
        const { availableMicros, heldMicros, settledMicros, debtMicros } = view;
        return `${availableMicros} ${heldMicros} ${settledMicros} ${debtMicros}`;
      }
      case 'blocks': {
        const { blocks } = await stage.view();
        return blocks.map((x) => `${x.id}:${x.remainingMicros}+${x.heldMicros}`).join(' ');
      }
      case 'reviews': {
        const reviews = await stage.reviews(null);
        return reviews
          .map((r) => `${r.holdId}:${r.micros}${r.closedBy === null ? '' : `:${r.closedBy}`}`)
          .join(' ');
      }
      case 'top_up':
        return (await stage.topUp(id, Number(a))).outcome;
      case 'grant':
        return (await stage.grant(id, a as 'promotional', Number(b))).outcome;
      case 'cap':
        this.#capMicros = id === 'none' ? null : Number(id);
        return this.#configure();
      case 'budget':
        this.#addBudget(words);
        return this.#configure();
      case 'resolve':
        return this.#resolve(words);
      case 'place':
        return shown((await this.#apply([], [placeOf(words)])).places[0]);
      default:
        return shown((await this.#apply([endOf(words)], [])).ends[0]);
    }
  }

  async #apply(ends: readonly EndOp[], places: readonly PlaceOp[]): Promise<Applied> {
    const answer = await this.#stage.apply(ends, places);
    if (answer.outcome === 'ledger_busy') throw new Error('the ledger is busy');
    return answer;
  }

  async #configure(): Promise<string> {
    this.#version += 1;
    const budgets = this.#budgets;
    const dailyCapMicros = this.#capMicros;
    const config = { version: this.#version, dailyCapMicros, budgets };
    return (await this.#stage.configure(config)).outcome;
  }

  #addBudget([, dimension = '', window, spend, calls, ...rest]: readonly string[]): void {
    const limit = (text: string | undefined): number | null => (text === '-' ? null : Number(text));
    const blocked = options(rest, 'blocked').map((value) => ({
      value,
      blocked: true,
      spendMaxMicros: null,
      callsMax: null,
    }));
    this.#budgets = this.#budgets.filter((budget) => budget.dimension !== dimension);
    this.#budgets.push({
      dimension,
      window: window === 'day' ? 'day' : 'total',
      spendMaxMicros: limit(spend),
      callsMax: limit(calls),
      values: blocked,
    });
  }

  async #resolve([, id = '', kind, charge]: readonly string[]): Promise<string> {
    const chargeMicros = charge === undefined ? null : Number(charge);
    const answer = await this.#stage.resolveRecord(
      id,
      kind === 'free' ? { kind: 'free' } : { kind: 'settle', chargeMicros },
    );
    return answer.outcome === 'resolved' ? `resolved ${answer.chargedMicros}` : answer.outcome;
  }
}

/** Plays a scenario; throws at the first line that answers something else. */
export async function playScenario(stage: Stage, { lines }: Scenario): Promise<void> {
  const play = new Play(stage);
  for (const [number, line] of lines.split('\n').entries()) {
    const [text = '', wanted = ''] = line.split('->').map((part) => part.trim());
    if (text === '') continue;
    const got = await play.line(text.split(/\s+/));
    if (got !== wanted)
      throw new Error(`line ${number}: ${text}: got "${got}", wanted "${wanted}"`);
  }
}
