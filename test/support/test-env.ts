/**
 * Values of the Worker's environment for tests: made up, worthless, the same everywhere.
 * Used by the workerd unit project, the e2e gateway harness and the proofs.
 */
const base64 = (fill: number): string =>
  btoa(String.fromCharCode(...new Array<number>(32).fill(fill)));

/** The operator key of every test gateway. */
export const operatorKey = 'operator-key-for-tests-0123456789abcdef';

/** Bindings of a development gateway without any egress; spread and override. */
export const testBindings: Record<string, string> = {
  WEIR_ENV: 'development',
  OPERATOR_KEY: operatorKey,
  KEY_CHECK_SECRETS: `1:${base64(17)}`,
  MASTER_KEYS: `1:${base64(34)}`,
  PLATFORM_SETTINGS: '{}',
  GATEWAY_HOSTS: 'gateway.test',
  EGRESS_RESOLVER: 'http://127.0.0.1:9/dns-query',
  EGRESS_ALLOW: '',
  CLIENT_IP_HEADERS: '',
  CONFIG_TTL_S: '10',
  CALL_RETENTION_DAYS: '30',
};
