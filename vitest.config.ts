import { cloudflareTest, readD1Migrations } from '@cloudflare/vitest-plugin';
import { defineConfig } from 'vitest/config';
import { testBindings } from './test/support/test-env.ts';

/** `workerd`: pure rules, stages and adapters inside the real runtime. `sockets`: the built bundle behind real sockets, from Node. */
export default defineConfig({
  test: {
    projects: [
      {
        plugins: [
          cloudflareTest(async () => ({
            wrangler: { configPath: './wrangler.toml' },
            miniflare: {
              stripCfConnectingIp: false,
              bindings: { ...testBindings, TEST_MIGRATIONS: await readD1Migrations('./d1-migrations') },
            },
          })),
        ],
        test: {
          name: 'workerd',
          include: ['test/unit/**/*.test.ts', 'test/contract/**/*.test.ts', 'test/property/**/*.test.ts'],
          setupFiles: ['./test/support/apply-migrations.ts'],
        },
      },
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
