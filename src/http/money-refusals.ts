/**
 * Rows of the refusal table for prices, balances, caps, budgets and idempotency. Promises: amounts are micro-USD in members that end
 * in `_micros`, times are RFC 3339. Called by `refusal-table.ts` only.
 */
import { recordKeyCharsMax } from '../base/limits-money';
import type { MetaFault } from '../domain/idempotency/meta';
import type { UnknownPrice } from '../domain/pricing/estimate';
import type { RefusalCode, TagCap } from '../domain/refusal';
import { type RefusalRows, retryAfterS } from './refusal-row';

type MoneyCode =
  | Extract<RefusalCode, `ledger${string}` | `idempotency.${string}` | `tag_${string}`>
  | 'meta.invalid'
  | 'price.unknown'
  | 'route_max_cost'
  | 'insufficient_balance'
  | 'platform_daily_cap_reached'
  | 'key_daily_call_cap_reached'
  | 'response_buffer_limit';

const metaFaults: Record<MetaFault['reason'], string> = {
  too_long: 'it is too long',
  too_many: 'it has too many pairs',
  not_a_pair: 'write key=value, several with commas between them',
  at_sign: 'a key may not contain @',
  key_charset: 'a key is an HTTP token',
  value_charset: 'a value is visible ASCII',
  key_too_long: 'the key is too long',
  value_too_long: 'the value is too long',
  repeated_key: 'the key stands twice',
};

const priceReasons: Record<UnknownPrice, string> = {
  no_price: 'no price of the catalog fits this request',
  no_body_size: 'its price depends on the size of a body that declares none',
  no_reserve: 'nothing says how much it may use',
  too_large: 'it is more than one call may cost',
};

const timeOf = (ms: number | null): string | null =>
  ms === null ? null : new Date(ms).toISOString();

const ofTag = (r: TagCap) => ({
  dimension: r.dimension,
  value: r.value,
  resets_at: timeOf(r.resetsAtMs),
});

const until = (ms: number | null): string =>
  ms === null ? 'It has no end: have it raised.' : `It begins anew at ${timeOf(ms)}.`;

/** Refusals about money, and about keys that keep it from being spent twice. */
export const moneyRefusals: RefusalRows<MoneyCode> = {
  'meta.invalid': {
    status: 422,
    title: 'X-Weir-Meta cannot be read',
    blame: 'caller',
    detail: ({ pair, reason }) =>
      `${pair === 0 ? 'The header' : `Pair ${pair}`}: ${metaFaults[reason]}. Nothing was spent.`,
    members: (r) => ({ pair: r.pair, reason: r.reason }),
  },
  'price.unknown': {
    status: 422,
    title: 'The price of this call is not known',
    blame: 'caller',
    detail: ({ reason }) =>
      `The price cannot be told: ${priceReasons[reason]}. Nothing was sent. Send X-Weir-Max-Cost-Micro to accept a ceiling.`,
    members: (r) => ({ reason: r.reason }),
  },
  route_max_cost: {
    status: 402,
    title: 'The call may cost more than X-Weir-Max-Cost-Micro',
    blame: 'caller',
    detail: (r) =>
      `The call may cost ${r.requiredMicros} micro-USD; the header allows ${r.ceilingMicros}. Nothing was sent.`,
    members: (r) => ({ required_micros: r.requiredMicros, ceiling_micros: r.ceilingMicros }),
  },
  insufficient_balance: {
    status: 402,
    title: 'The balance is too low',
    blame: 'caller',
    detail: (r) =>
      `The call needs ${r.requiredMicros} micro-USD; ${r.availableMicros} are available. Top up, or wait until open calls end.`,
    members: (r) => ({ available_micros: r.availableMicros, required_micros: r.requiredMicros }),
  },
  platform_daily_cap_reached: {
    status: 429,
    title: 'The daily spending cap is reached',
    blame: 'caller',
    detail: (r) => `The tenant may spend ${r.capMicros} micro-USD a day. ${until(r.resetsAtMs)}`,
    members: (r) => ({ cap_micros: r.capMicros, resets_at: timeOf(r.resetsAtMs) }),
  },
  key_daily_call_cap_reached: {
    status: 429,
    title: 'The daily call cap of the key is reached',
    blame: 'caller',
    detail: (r) => `The key may make ${r.cap} calls a day. ${until(r.resetsAtMs)}`,
    members: (r) => ({ cap: r.cap, resets_at: timeOf(r.resetsAtMs) }),
  },
  tag_blocked: {
    status: 403,
    title: 'This tag may not spend',
    blame: 'caller',
    detail: (r) =>
      `The budget blocks ${r.dimension}=${r.value}. Use another tag, or have it unblocked.`,
    members: (r) => ({ dimension: r.dimension, value: r.value }),
  },
  tag_spend_cap_reached: {
    status: 429,
    title: 'The spending cap of a tag is reached',
    blame: 'caller',
    detail: (r) => `${r.dimension}=${r.value} has spent its budget. ${until(r.resetsAtMs)}`,
    members: ofTag,
  },
  tag_call_cap_reached: {
    status: 429,
    title: 'The call cap of a tag is reached',
    blame: 'caller',
    detail: (r) => `${r.dimension}=${r.value} has made its calls. ${until(r.resetsAtMs)}`,
    members: ofTag,
  },
  tag_budget_unavailable: {
    status: 429,
    title: 'Too many values of a budget dimension are in use',
    blame: 'caller',
    detail: (r) =>
      `No further value of ${r.dimension} can be counted. Use one that is in use already.`,
    members: (r) => ({ dimension: r.dimension }),
  },
  response_buffer_limit: {
    status: 502,
    title: 'The answer is too large to be metered',
    blame: 'gateway',
    detail: (r) =>
      `A metered JSON answer may have ${r.bytesMax} bytes. Nothing was charged. Ask for less at once, or stream.`,
    members: (r) => ({ bytes_max: r.bytesMax }),
  },
  ledger_busy: {
    status: 503,
    title: 'The ledger has too much to do',
    blame: 'gateway',
    detail: () => 'Nothing was sent and nothing is held. Try again.',
    retryAfterS,
  },
  ledger_unavailable: {
    status: 503,
    title: 'The ledger does not answer',
    blame: 'gateway',
    detail: () => 'Nothing was sent to the upstream. The same request can be repeated.',
    retryAfterS,
  },
  'ledger.open_holds_max': {
    status: 429,
    title: 'Too many metered calls are open',
    blame: 'caller',
    detail: (r) => `A tenant may have ${r.holdsMax} metered calls open. Wait until some end.`,
    members: (r) => ({ holds_max: r.holdsMax }),
  },
  'ledger.id_conflict': {
    status: 409,
    title: 'The id stands for another amount',
    blame: 'caller',
    detail: () => 'The id was used before for another amount or kind. Nothing was booked again.',
  },
  'ledger.too_many_blocks': {
    status: 409,
    title: 'The balance has too many parts',
    blame: 'caller',
    detail: (r) =>
      `A balance may have ${r.blocksMax} grants and top-ups that are not used up. Book larger ones.`,
    members: (r) => ({ blocks_max: r.blocksMax }),
  },
  'ledger.holds_open': {
    status: 409,
    title: 'Metered calls are still open',
    blame: 'caller',
    detail: () => 'The ledger has open holds; it cannot be changed until they end.',
  },
  'idempotency.key_invalid': {
    status: 400,
    title: 'The Idempotency-Key is not valid',
    blame: 'caller',
    detail: () => `Send one key with 1 to ${recordKeyCharsMax} characters, in UTF-8.`,
    members: (r) => ({ reason: r.reason, chars_max: recordKeyCharsMax }),
  },
  'idempotency.quota': {
    status: 429,
    title: 'Too many answers are kept for replay',
    blame: 'caller',
    detail: (r) =>
      `A tenant may keep ${r.bytesMax} bytes of answers. Nothing was sent. Call without a key, or wait until old ones expire.`,
    members: (r) => ({ bytes_max: r.bytesMax }),
  },
  'idempotency.mismatch': {
    status: 422,
    title: 'The Idempotency-Key stands for another request',
    blame: 'caller',
    detail: () => 'Method, path, query and body must be the same. Use a new key for a new request.',
  },
  'idempotency.in_progress': {
    status: 409,
    title: 'The first call with this Idempotency-Key is still open',
    blame: 'caller',
    detail: () => 'Wait until it ends; the same request then gets its answer.',
  },
  'idempotency.outcome_unknown': {
    status: 409,
    title: 'Nobody saw how the first call with this Idempotency-Key ended',
    blame: 'connection',
    detail: (r) =>
      r.resolved
        ? 'It was settled by hand and is not sent again. Use a new key for a new request.'
        : 'It may have been executed, so it is not sent again. Settle or free its record, or use a new key.',
    members: (r) => ({ record_id: r.recordId, resolved: r.resolved }),
  },
  'idempotency.not_unknown': {
    status: 409,
    title: 'The record has nothing to resolve',
    blame: 'caller',
    detail: (r) =>
      `Only a record whose outcome is unknown can be resolved; this one is ${r.state}.`,
    members: (r) => ({ state: r.state }),
  },
};
