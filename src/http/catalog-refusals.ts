/**
 * Rows of the refusal table for calls to catalog ids. Promises: a text names parameters and rules of the catalog, never a value that
 * the caller sent. Called by `refusal-table.ts` only.
 */
import { assertNever } from '../base/assert';
import { faultNamesMax } from '../base/limits-money';
import type { InputFault } from '../domain/catalog/input-contract';
import type { Alternative } from '../domain/catalog/near-ids';
import type { PlaceholderFault } from '../domain/catalog/placeholders';
import type { Expectation } from '../domain/catalog/value-rule';
import type { RefusalCode } from '../domain/refusal';
import type { RefusalRows } from './refusal-row';

const placeholderFaults: Record<PlaceholderFault['kind'], string> = {
  missing: 'is missing; give it in the query',
  repeated: 'is given twice; give it once',
  empty: 'is empty; a path segment needs a value',
  unsafe: 'would leave its path segment; send one segment without dots alone or backslashes',
};

/** Alternatives as they are shown. */
export const ofOthers = (alternatives: readonly Alternative[]) =>
  alternatives.map(({ id, access, guideMicros }) => ({ id, access, guide_micros: guideMicros }));

/** How an upstream of the caller's is called. */
const callOf = (upstream: string | null): readonly string[] =>
  upstream === null ? [] : [`/call/${upstream}/…`];

/** Refusals whose code starts with `catalog.`. */
export const catalogRefusals: RefusalRows<Extract<RefusalCode, `catalog.${string}`>> = {
  'catalog.not_found': {
    status: 404,
    title: 'No such catalog id',
    blame: 'caller',
    detail: ({ didYouMean, ownUpstream }) => {
      const meant = [...didYouMean, ...callOf(ownUpstream)];
      return meant.length === 0
        ? 'The catalog has no such id. GET /api/v1/catalog searches it.'
        : `The catalog has no such id. Did you mean ${meant.join(' or ')}?`;
    },
    members: (r) => ({ did_you_mean: [...r.didYouMean, ...callOf(r.ownUpstream)] }),
  },
  'catalog.retired': {
    status: 410,
    title: 'The catalog id can no longer be called',
    blame: 'caller',
    detail: ({ note, supersededBy }) =>
      supersededBy === null ? note : `${note.replace(/\.?$/, '.')} Call ${supersededBy} instead.`,
    members: (r) => ({
      tombstone: r.status,
      note: r.note,
      superseded_by: r.supersededBy,
      alternatives: ofOthers(r.alternatives),
    }),
  },
  'catalog.no_credential': {
    status: 404,
    title: 'No credential for this catalog id',
    blame: 'caller',
    detail: ({ ownUpstream }) =>
      [
        'No account of this gateway serves it. Register the upstream, or store a secret named like the provider.',
        ...callOf(ownUpstream).map((call) => `Did you mean ${call}?`),
      ].join(' '),
    members: (r) => ({
      did_you_mean: callOf(r.ownUpstream),
      alternatives: ofOthers(r.alternatives),
    }),
  },
  'catalog.path_not_allowed': {
    status: 400,
    title: 'A catalog id takes no path',
    blame: 'caller',
    detail: ({ parameters }) =>
      parameters.length === 0
        ? 'Call the id alone: nothing of its path is left to give.'
        : `Call the id alone and give its values in the query: ?${parameters.map((name) => `${name}=…`).join('&')}.`,
    members: (r) => ({ parameters: r.parameters }),
  },
  'catalog.placeholder_invalid': {
    status: 400,
    title: 'A path parameter is not valid',
    blame: 'caller',
    detail: ({ kind, name }) => `The path parameter ${name} ${placeholderFaults[kind]}.`,
    members: (r) => ({ kind: r.kind, name: r.name }),
  },
  'catalog.parameter_invalid': {
    status: 400,
    title: 'The call does not fit its catalog row',
    blame: 'caller',
    detail: ({ fault }) => inputFault(fault),
    members: ({ fault }) => ({
      fault: 'expected' in fault ? { ...fault, expected: snake(fault.expected) } : fault,
    }),
  },
  'catalog.base_unapproved': {
    status: 502,
    title: 'The catalog row has no approved base URL',
    blame: 'gateway',
    detail: () =>
      'Its host is none of the provider’s, or is not allowed out here. Nothing was sent or held.',
  },
  'catalog.task_not_owned': {
    status: 403,
    title: 'This task is not yours',
    blame: 'caller',
    detail: () =>
      'No task of this id was submitted by your organisation here. The vendor was not asked. A task that was submitted with a credential of your own is asked for with that credential.',
  },
  'catalog.websocket_not_metered': {
    status: 400,
    title: 'A WebSocket cannot be metered',
    blame: 'caller',
    detail: () => 'A platform account serves no WebSocket. Use a credential of your own.',
  },
};

function inputFault(fault: InputFault): string {
  switch (fault.kind) {
    case 'body_not_allowed':
      return 'This call takes no body.';
    case 'body_unreadable':
      return 'The body must be one plain JSON object without repeated members.';
    case 'undeclared':
      return `Not declared in the ${fault.in}: ${fault.names.join(', ')}. Remove them.`;
    case 'repeated':
      return `Given twice in the ${fault.in}: ${fault.names.join(', ')}. Give each once.`;
    case 'missing':
      return `Missing in the ${fault.in}: ${fault.names.join(', ')}.`;
    case 'separator':
      return 'The query has a semicolon; write it as %3B.';
    case 'value':
      return `${fault.name} in the ${fault.in} must be ${expectation(fault.expected)}.`;
    case 'option_refused':
      return `${fault.name} in the ${fault.in} cannot be used on a platform account.`;
    default:
      return assertNever(fault);
  }
}

function expectation(expected: Expectation): string {
  switch (expected.type) {
    case 'boolean':
      return 'true or false';
    case 'object':
      return 'an object';
    case 'string':
      if (expected.oneOf !== null) return `one of ${some(expected.oneOf)}`;
      return `a text${expected.charsMax === null ? '' : ` of at most ${expected.charsMax} characters`}`;
    case 'integer':
    case 'number':
      if (expected.oneOf !== null) return `one of ${some(expected.oneOf)}`;
      return `${expected.type === 'integer' ? 'an integer' : 'a number'}${range(expected.min, expected.max)}`;
    case 'array':
      return `an array with a length${range(expected.itemsMin, expected.itemsMax)}`;
    case 'items':
      return `an array of ${some(expected.oneOf)}`;
    case 'item_fields':
      return `an array of objects with ${expected.need} of ${some(expected.names)}`;
    case 'count':
      return `a number, or an array with a length,${range(expected.min, expected.max)}`;
    case 'exactly':
      return `exactly ${JSON.stringify(expected.value)}`;
    default:
      return assertNever(expected);
  }
}

const range = (min: number | null, max: number | null): string =>
  `${min === null ? '' : ` from ${min}`}${max === null ? '' : ` up to ${max}`}`;

const some = (all: readonly (string | number)[]): string =>
  all.length <= faultNamesMax ? all.join(', ') : `${all.slice(0, faultNamesMax).join(', ')}, …`;

const snake = (expected: Expectation): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(expected).map(([name, value]) => [
      name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      value,
    ]),
  );
