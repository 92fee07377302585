/** Bug: what may be logged of something that was thrown: its name and where, never its text, which can hold anything. Called by run-call. */

/** `where`: the nearest three frames. */
export function bugFacts(bug: unknown): { readonly error: string; readonly where: string } {
  if (!(bug instanceof Error)) return { error: typeof bug, where: '' };
  const frames = (bug.stack ?? '').split('\n').slice(1, 4);
  return { error: bug.name, where: frames.join(' ').replace(/\s+/g, ' ') };
}
