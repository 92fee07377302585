import { cloudflareTest, readD1Migrations } from '@cloudflare/vitest-plugin';
import { defineConfig } from 'vitest/config';
import { publicSuffixesForVite } from './scripts/lib/public-suffixes.ts';
import { testBindings } from './test/support/test-env.ts';

/** A project inside the real runtime. */
const insideWorkerd = (
  name: string,
  test: {
    readonly include: string[];
    readonly exclude?: string[];
    readonly setupFiles?: string[];
    readonly testTimeout?: number;
  },
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
  // One worker a core: vitest itself would leave one of two cores idle.
  test: { name, isolate: false, maxWorkers: 2, ...test },
});

const storeTests = [
  'test/unit/{adapters,control-plane,durable-objects,jobs}/**/*.test.ts',
  'test/contract/**/*.test.ts',
];

/** A project in Node that drives the built bundle; `order`: the projects run one after the other. */
const overSockets = (
  name: string,
  order: number,
  test: {
    readonly include: string[];
    readonly exclude?: string[];
    readonly maxWorkers: number;
  },
) => ({
  test: {
    name,
    globalSetup: ['./test/support/build-bundle.ts'],
    testTimeout: 60_000,
    hookTimeout: 120_000,
    sequence: { groupOrder: order },
    ...test,
  },
});

const socketTests = ['test/e2e/**/*.test.ts', 'test/fault/**/*.test.ts'];

/** What measures time or needs all cores: alone on the machine. */
const timedTests = [
  'test/e2e/overflow.test.ts',
  'test/fault/{bounds,breaker,disconnect,spacer}.test.ts',
];

/** `rules` and `stores` run inside workerd; `sockets` and `timed` drive the built bundle over real sockets, from Node. */
export default defineConfig({
  test: {
    projects: [
      // The files of a project share one isolate; each of `stores` begins with empty objects and a migrated, empty D1.
      insideWorkerd('rules', {
        include: ['test/{unit,property}/**/*.test.ts'],
        exclude: storeTests,
      }),
      insideWorkerd('stores', {
        include: storeTests,
        setupFiles: ['./test/support/apply-migrations.ts'],
        testTimeout: 30_000,
      }),
      overSockets('sockets', 1, { include: socketTests, exclude: timedTests, maxWorkers: 2 }),
      overSockets('timed', 2, { include: timedTests, maxWorkers: 1 }),
    ],
  },
});
