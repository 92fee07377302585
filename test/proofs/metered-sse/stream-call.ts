/**
 * One streamed call under a proof's hands: the vendor writes what it is told, the client says what
 * has come. Promises: whatever is written has reached the client before the next bytes are, so a
 * gateway that kept anything back would never get to the end. Called by ../metered-sse.ts.
 */
import { type MoneyTenant, type MoneyWorld, newCase } from '../../support/money-world.ts';
import {
  chunk,
  lastChunk,
  silent,
  streamHead,
  type VendorCall,
} from '../../support/priced-origin.ts';
import { holds } from '../../support/proof.ts';
import { type RawConnection, readAnswer } from '../../support/raw-client.ts';

/** What a call may have beside its endpoint. */
export interface StreamOptions {
  readonly headers?: readonly string[];
  readonly key?: string;
  /** Head of the vendor's answer; chunked unless a case has its own framing. */
  readonly head?: string;
}

export class StreamCall {
  readonly client: RawConnection;
  readonly vendor: VendorCall;
  /** What has been written. */
  #sent = Buffer.alloc(0);

  private constructor(client: RawConnection, vendor: VendorCall) {
    this.client = client;
    this.vendor = vendor;
  }

  /** Sends the call; the vendor has answered with its head. */
  static async start(
    { origin }: MoneyWorld,
    tenant: MoneyTenant,
    endpoint: string,
    { head = streamHead, ...options }: StreamOptions = {},
  ): Promise<StreamCall> {
    const caseId = newCase();
    origin.planFor(caseId, silent);
    const client = await tenant.open(endpoint, { caseId, body: '{"stream":true}', ...options });
    await origin.until(() => origin.arrivals(caseId) > 0);
    const vendor = origin.calls.findLast((call) => call.caseId === caseId) as VendorCall;
    vendor.write(head);
    return new StreamCall(client, vendor);
  }

  /** The body that the client has so far. */
  get received(): Buffer {
    return readAnswer(this.client.bytes, 'POST', this.client.ended).body;
  }

  /** Writes one chunk and waits until the client has it. */
  async write(bytes: Buffer): Promise<void> {
    if (bytes.length === 0) return;
    this.#sent = Buffer.concat([this.#sent, bytes]);
    this.vendor.write(chunk(bytes));
    const { length } = this.#sent;
    await this.client.until(() => this.received.length >= length);
    holds(this.received.equals(this.#sent), 'other bytes reached the client');
  }

  /** Ends the vendor's answer; gives the client's lines once it has the end too. */
  async end(): Promise<readonly string[]> {
    this.vendor.complete(lastChunk);
    const answer = await this.client.answer('POST');
    this.client.close();
    holds(answer.status === 200 && answer.complete, `status ${answer.status}, no clean end`);
    holds(answer.body.equals(this.#sent), 'other bytes reached the client');
    return answer.lines;
  }
}
