/**
 * The Public Suffix List (the data of the `psl` package, both sections) as one compact text that the bundle carries under the name
 * `weir:public-suffixes`: a third smaller than any library's own form of it. Read back by src/domain/egress/public-suffix.ts.
 * Called by build.ts (esbuild) and vitest.config.ts (vite).
 */
import { domainToASCII } from 'node:url';
import type { Plugin } from 'esbuild';

const moduleName = 'weir:public-suffixes';

interface Node {
  isRule: boolean;
  readonly children: Map<string, Node>;
}

/** `com,jp(co,!city)` …: labels from the right, children in brackets, `-` behind a label that is no rule itself. */
export async function publicSuffixTree(): Promise<string> {
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
  return printed(root);
}

function asciiLabel(label: string): string {
  return label.startsWith('!')
    ? `!${domainToASCII(label.slice(1))}`
    : label === '*'
      ? label
      : domainToASCII(label);
}

function printed(node: Node): string {
  const labels = [...node.children].sort(([a], [b]) => (a < b ? -1 : 1));
  return labels
    .map(
      ([label, child]) =>
        label + (child.isRule ? '' : '-') + (child.children.size > 0 ? `(${printed(child)})` : ''),
    )
    .join(',');
}

const source = async (): Promise<string> =>
  `export default ${JSON.stringify(await publicSuffixTree())};`;

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
