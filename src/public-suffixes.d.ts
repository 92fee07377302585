/** Made by scripts/lib/public-suffixes.ts when the Worker is bundled: brotli in base64. */
declare module 'weir:public-suffixes' {
  const tree: string;
  export default tree;
}
