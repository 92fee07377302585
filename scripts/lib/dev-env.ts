/**
 * The local environment of `npm start`: secrets and demo facts in one KEY=VALUE file that only its
 * owner can read.
 * Promises: what is in the file is kept; what is missing is made once; a shell can source the file.
 * Must never: be used for a deployment. Called by start.
 */
import { randomBytes } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

/** Name → value. */
export type DevEnv = Readonly<Record<string, string>>;

/** Owner reads and writes, nobody else. */
const ownerOnly = 0o600;

/** The secrets that a Weir needs, freshly made. */
function newSecrets(): DevEnv {
  return {
    OPERATOR_KEY: `op_${randomBytes(24).toString('hex')}`,
    KEY_CHECK_SECRETS: `1:${randomBytes(32).toString('base64')}`,
    MASTER_KEYS: `1:${randomBytes(32).toString('base64')}`,
    DEMO_CREDENTIAL: `demo-${randomBytes(16).toString('hex')}`,
  };
}

/** Reads the file and adds the secrets that it lacks. */
export function loadDevEnv(file: string): DevEnv {
  const env = { ...newSecrets(), ...read(file) };
  saveDevEnv(file, env);
  return env;
}

/** The key to act with: during a rotation there are two, the new one first. */
export const operatorKeyOf = ({ OPERATOR_KEY: keys = '' }: DevEnv): string =>
  keys.split(',')[0]?.trim() ?? '';

/** Writes the whole file. */
export function saveDevEnv(file: string, env: DevEnv): void {
  const lines = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  const head =
    '# Local secrets of npm start. Worthless elsewhere; delete the folder to begin anew.';
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${[head, ...lines].join('\n')}\n`, { mode: ownerOnly });
  chmodSync(file, ownerOnly);
}

function read(file: string): DevEnv {
  if (!existsSync(file)) return {};
  const pairs = readFileSync(file, 'utf8').matchAll(/^([A-Z][A-Z0-9_]*)=(.+)$/gm);
  return Object.fromEntries([...pairs].map(([, name = '', value = '']) => [name, value]));
}
