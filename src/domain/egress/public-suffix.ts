/**
 * Public suffixes: which names can be registered by somebody, and which are shared by strangers (`co.uk`, `pages.dev`).
 * Promises: the algorithm of publicsuffix.org over both sections of the list: longest rule wins, `*` and `!` rules included, an unknown
 * top label is a suffix. The list comes with the bundle (scripts/lib/public-suffixes.ts) and is read at first use.
 * Pure. Called by alias.ts.
 */
import { brotliDecompressSync } from 'node:zlib';
import tree from 'weir:public-suffixes';
import { assert } from '../../base/assert';
import { bytesOfBase64 } from '../../base/text-codings';

interface Node {
  readonly isRule: boolean;
  readonly children: Map<string, Node>;
}

let list: Node | null = null;

/** Whether `host` (lower-case ASCII, no trailing dot) is a name below a public suffix, or such a name's subdomain. */
export function isRegistrable(host: string): boolean {
  list ??= readTree(treeText());
  const labels = host.split('.').reverse();
  return labels.length > suffixLength(list, labels);
}

/** Labels of the public suffix of a name, given from the right. */
function suffixLength(root: Node, labels: readonly string[]): number {
  let longest = 1;
  let node: Node | undefined = root;
  for (let i = 0; i < labels.length; i++) {
    const label = labels[i] ?? '';
    if (node.children.has(`!${label}`)) return i;
    const wildcard: Node | undefined = node.children.get('*');
    const exact: Node | undefined = node.children.get(label);
    if (exact?.isRule || wildcard?.isRule) longest = i + 1;
    node = exact ?? wildcard;
    if (node === undefined) break;
  }
  return longest;
}

function treeText(): string {
  return new TextDecoder().decode(brotliDecompressSync(bytesOfBase64(tree)));
}

/** Reads the text of the build script: a capital for what a label shares with its neighbour, `-` for "no rule", brackets for children. */
function readTree(text: string): Node {
  const root: Node = { isRule: false, children: new Map() };
  const path = [{ node: root, label: '' }];
  for (const [token, capital = '', rest = ''] of text.matchAll(/([A-Z])([^A-Z()]*)|[()]/g)) {
    const above = path.at(-1);
    assert(above !== undefined, 'every bracket of the tree is closed once');
    const { node, label } = above;
    if (token === ')') path.pop();
    else if (token === '(') path.push({ node: node.children.get(label) ?? node, label: '' });
    else {
      const isRule = !rest.endsWith('-');
      above.label =
        label.slice(0, capital.charCodeAt(0) - 'A'.charCodeAt(0)) +
        (isRule ? rest : rest.slice(0, -1));
      node.children.set(above.label, { isRule, children: new Map() });
    }
  }
  return root;
}
