/**
 * Fault: why a command did not do its work, in one sentence for the terminal. Promises: it never
 * carries a key. `usage` (exit code 2): the command was not understood and nothing was sent;
 * `failed` (exit code 1): the gateway refused it or did not answer.
 */
export class Fault extends Error {
  override readonly name = 'Fault';
  readonly kind: 'usage' | 'failed';

  constructor(message: string, kind: 'usage' | 'failed') {
    super(message);
    this.kind = kind;
  }
}
