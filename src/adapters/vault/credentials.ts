/**
 * VaultCredentials: opens the secrets of an upstream's bindings and renders them, at most once per CONFIG_TTL_S per isolate.
 * Promises: nothing opened outlives CONFIG_TTL_S or the configuration version it was opened for; one failing binding fails the call.
 * Must never: keep a promise across requests, put a value into an error. Implements ports/credentials.ts. Called by wiring.ts.
 */
import { jsonString } from '../../base/json';
import { openedSecretsMax } from '../../base/limits';
import { Lru } from '../../base/lru';
import { err, type MaybePromise, ok, type Result } from '../../base/result';
import type { Binding, Upstream } from '../../domain/catalog/upstream';
import { prepareMask } from '../../domain/credentials/masking';
import { type Rendered, render } from '../../domain/credentials/render';
import type { Refusal } from '../../domain/refusal';
import type { BoundSecrets, TenantView } from '../../ports/config';
import type { Credentials, PreparedCredentials } from '../../ports/credentials';
import type { Vault } from '../../ports/vault';

interface Opened {
  readonly credentials: PreparedCredentials;
  readonly untilMs: number;
}

export class VaultCredentials implements Credentials {
  readonly #vault: Pick<Vault, 'open'>;
  readonly #settings: ReadonlyMap<string, string>;
  readonly #ttlMs: number;
  /** By configuration object: a changed upstream or secret makes a new one, and each tenant that sees a shared upstream has its own. */
  readonly #opened = new Lru<Upstream, Opened>(openedSecretsMax);

  constructor(options: {
    vault: Pick<Vault, 'open'>;
    platformSettings: ReadonlyMap<string, string>;
    ttlMs: number;
  }) {
    this.#vault = options.vault;
    this.#settings = options.platformSettings;
    this.#ttlMs = options.ttlMs;
  }

  prepare(
    upstream: Upstream,
    tenant: TenantView,
    nowMs: number,
  ): MaybePromise<Result<PreparedCredentials, Refusal>> {
    const opened = this.#opened.get(upstream);
    if (opened !== undefined && opened.untilMs > nowMs) return ok(opened.credentials);
    return this.#open(upstream, tenant, nowMs);
  }

  async #open(
    upstream: Upstream,
    tenant: TenantView,
    nowMs: number,
  ): Promise<Result<PreparedCredentials, Refusal>> {
    this.#opened.purge((opened) => opened.untilMs <= nowMs);
    const sealed = await tenant.secretsOf(upstream);
    if (!sealed.ok) return sealed;
    const rendered: Record<Binding['location'], Rendered[]> = { header: [], query: [], json: [] };
    const secrets = new Set<string>();
    for (const binding of upstream.bindings) {
      const source = await this.#valueOf(binding, sealed.value);
      if (!source.ok) return source;
      const made = render(binding, source.value);
      if (!made.ok) return err({ code: 'credential.unavailable', reason: made.error });
      const value = binding.location === 'json' ? jsonString(made.value.value) : made.value.value;
      rendered[binding.location].push([binding.name, value]);
      for (const secret of made.value.secrets) secrets.add(secret);
    }
    const { header: headers, query, json } = rendered;
    const credentials: PreparedCredentials = {
      headers,
      query,
      json,
      masks: [...secrets].map(prepareMask),
    };
    this.#opened.set(upstream, { credentials, untilMs: nowMs + this.#ttlMs });
    return ok(credentials);
  }

  async #valueOf(binding: Binding, sealed: BoundSecrets): Promise<Result<string | null, Refusal>> {
    switch (binding.source.kind) {
      case 'constant':
        return ok(null);
      case 'platform_setting': {
        const value = this.#settings.get(binding.source.setting);
        return value === undefined
          ? err({ code: 'credential.unavailable', reason: 'platform_setting' })
          : ok(value);
      }
      case 'secret': {
        const secret = sealed.get(binding.source.secretId);
        if (secret === 'denied') return err({ code: 'auth.failed', reason: 'secret_denied' });
        return secret === undefined ? err({ code: 'secret.not_found' }) : this.#vault.open(secret);
      }
    }
  }
}
