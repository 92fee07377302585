/**
 * Fault: why a command did not do its work, in one sentence for the terminal. Promises: it never
 * carries a key. `usage` (exit code 2): the command was not understood and nothing was sent;
 * `refused` (exit code 1): the gateway said no, for good; `failed` (exit code 1): it did not answer,
 * or could not, and a repeat may succeed.
 */
export type FaultKind = 'usage' | 'refused' | 'failed';

export class Fault extends Error {
  override readonly name = 'Fault';
  readonly kind: FaultKind;

  constructor(message: string, kind: FaultKind) {
    super(message);
    this.kind = kind;
  }
}
