import { cloudflareTest, readD1Migrations } from '@cloudflare/vitest-plugin';
import { defineConfig } from 'vitest/config';
import { publicSuffixesForVite } from './scripts/lib/public-suffixes.ts';
import { testBindings } from './test/support/test-env.ts';

/** A project inside the real runtime; `stores` files start with a migrated, empty D1 each, which pure rules need not wait for. */
const insideWorkerd = (
  name: string,
  include: string[],
  exclude: string[],
  setupFiles: string[],
) => ({
  plugins: [
    publicSuffixesForVite,
    cloudflareTest(async () => ({
      main: './test/support/workerd-main.ts',
      wrangler: { configPath: './wrangler.toml' },
      miniflare: {
        stripCfConnectingIp: false,
        durableObjects: {
          LEDGER: { className: 'OrgLedger', useSQLite: true },
          CAPACITY: { className: 'ProviderCapacity', useSQLite: true },
          OVERFLOW_BUDGET: { className: 'OverflowBudget', useSQLite: true },
          METRICS: { className: 'MetricsHub', useSQLite: true },
        },
        bindings: { ...testBindings, TEST_MIGRATIONS: await readD1Migrations('./d1-migrations') },
      },
    })),
  ],
  test: { name, include, exclude, setupFiles },
});

const storeTests = [
  'test/unit/{adapters,control-plane,durable-objects,jobs}/**/*.test.ts',
  'test/contract/**/*.test.ts',
];

/** `rules` and `stores` run inside workerd; `sockets` drives the built bundle over real sockets, from Node. */
export default defineConfig({
  test: {
    projects: [
      insideWorkerd('rules', ['test/{unit,property}/**/*.test.ts'], storeTests, []),
      insideWorkerd('stores', storeTests, [], ['./test/support/apply-migrations.ts']),
      {
        test: {
          name: 'sockets',
          include: ['test/e2e/**/*.test.ts', 'test/fault/**/*.test.ts'],
          globalSetup: ['./test/support/build-bundle.ts'],
          testTimeout: 60_000,
          hookTimeout: 120_000,
          fileParallelism: false,
        },
      },
    ],
  },
});
