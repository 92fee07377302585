/**
 * A plain client of the management API on loopback. Promises: gives every answer as it came; {@link
 * must} turns a refusal into one sentence without the key. Called by start, the test gateway and
 * the proofs.
 */

/** An answer of the management API. */
export interface ApiAnswer {
  readonly status: number;
  /** The parsed JSON, `null` when there was none. */
  readonly body: unknown;
  readonly headers: Headers;
}

/** One request: `key` is the operator key or an access key. */
export interface ApiRequest {
  readonly port: number;
  readonly key: string;
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
}

/** Sends one management request. Throws when nothing answers or the answer is not JSON. */
export async function callManagement({
  port,
  key,
  method,
  path,
  body,
}: ApiRequest): Promise<ApiAnswer> {
  const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${key}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    body: body === undefined ? null : JSON.stringify(body),
  });
  const text = await answer.text();
  return {
    status: answer.status,
    body: text === '' ? null : JSON.parse(text),
    headers: answer.headers,
  };
}

/** The document of a 2xx answer; throws with method, path and problem otherwise. */
export async function must(request: ApiRequest): Promise<Record<string, unknown>> {
  const { status, body } = await callManagement(request);
  if (status < 300 && typeof body === 'object' && body !== null)
    return body as Record<string, unknown>;
  throw new Error(`${request.method} ${request.path}: ${status} ${JSON.stringify(body)}`);
}

/**
 * Whether the gateway on this loopback port knows one of our operator keys, which no other Weir does. There are two during a rotation,
 * and the gateway may have been started with the older one alone.
 */
export async function isOurs(port: number, operatorKeys: string): Promise<boolean> {
  for (const key of operatorKeys.split(',').map((each) => each.trim())) {
    if (key !== '' && (await knows(port, key))) return true;
  }
  return false;
}

async function knows(port: number, key: string): Promise<boolean> {
  try {
    const { status } = await callManagement({ port, key, method: 'GET', path: '/api/v1/tenants' });
    return status === 200;
  } catch {
    return false;
  }
}

/** A text field of a document; throws when it is not there. */
export function textField(document: Record<string, unknown>, name: string): string {
  const value = document[name];
  if (typeof value !== 'string') throw new Error(`the answer has no ${name}`);
  return value;
}
