/**
 * The Public Suffix List (the data of the `psl` package, both sections) as the bundle carries it under the name `weir:public-suffixes`:
 * a tree of labels in front coding, compressed, a third smaller after gzip than the plain tree. What a reader of the algorithm knows
 * without the list is left out: a top label with nothing below it, since every unknown top label is a suffix too.
 * Read back by src/domain/egress/public-suffix.ts. Called by build.ts (esbuild) and vitest.config.ts (vite).
 */
import { domainToASCII } from 'node:url';
import { brotliCompressSync, constants } from 'node:zlib';
import type { Plugin } from 'esbuild';

const moduleName = 'weir:public-suffixes';

/** Of one label that are taken from the label before it: one letter, `A` to `Z`. */
const sharedCharsMax = 25;

interface Node {
  isRule: boolean;
  readonly children: Map<string, Node>;
}

/**
 * `AcomAjp(AcoAkobe-(A!city))` …: labels from the right, in order, children in brackets, `-` behind a label that is no rule itself. The
 * capital in front of a label counts what it shares with the one before it under the same parent: `AaichiCkita` are `aichi`, `aikita`.
 */
async function publicSuffixTree(): Promise<string> {
  const data = new URL('../../node_modules/psl/data/rules.js', import.meta.url);
  const { default: rules } = (await import(data.href)) as { default: readonly string[] };
  const root: Node = { isRule: false, children: new Map() };
  for (const rule of rules) {
    let node = root;
    for (const label of rule.split('.').reverse()) {
      const ascii = asciiLabel(label);
      const child = node.children.get(ascii) ?? { isRule: false, children: new Map() };
      node.children.set(ascii, child);
      node = child;
    }
    node.isRule = true;
  }
  for (const [label, top] of root.children) {
    if (top.children.size === 0) root.children.delete(label);
    top.isRule = true;
  }
  return printed(root);
}

/** Only what is not ASCII yet: node reads a label of digits as an address. */
function asciiLabel(label: string): string {
  return /^[ -~]+$/.test(label) ? label : domainToASCII(label);
}

function printed(node: Node): string {
  const labels = [...node.children].sort(([a], [b]) => (a < b ? -1 : 1));
  return labels
    .map(([label, child], at) => {
      const shared = sharedChars(labels[at - 1]?.[0] ?? '', label);
      const count = String.fromCharCode('A'.charCodeAt(0) + shared);
      const below = child.children.size > 0 ? `(${printed(child)})` : '';
      return count + label.slice(shared) + (child.isRule ? '' : '-') + below;
    })
    .join('');
}

function sharedChars(before: string, label: string): number {
  const most = Math.min(before.length, label.length, sharedCharsMax);
  let shared = 0;
  while (shared < most && before[shared] === label[shared]) shared++;
  return shared;
}

async function source(): Promise<string> {
  const text = Buffer.from(await publicSuffixTree());
  const { BROTLI_PARAM_QUALITY, BROTLI_PARAM_MODE, BROTLI_MODE_TEXT } = constants;
  const params = { [BROTLI_PARAM_QUALITY]: 11, [BROTLI_PARAM_MODE]: BROTLI_MODE_TEXT };
  return `export default '${brotliCompressSync(text, { params }).toString('base64')}';`;
}

/** For esbuild. */
export const publicSuffixesForEsbuild: Plugin = {
  name: moduleName,
  setup(build) {
    build.onResolve({ filter: /^weir:public-suffixes$/ }, () => ({
      path: moduleName,
      namespace: 'weir',
    }));
    build.onLoad({ filter: /.*/, namespace: 'weir' }, async () => ({
      contents: await source(),
      loader: 'js',
    }));
  },
};

/** For vite and vitest. */
export const publicSuffixesForVite = {
  name: moduleName,
  enforce: 'pre' as const,
  resolveId: (id: string): string | null => (id === moduleName ? `\0${moduleName}` : null),
  load: (id: string): Promise<string> | null => (id === `\0${moduleName}` ? source() : null),
};
