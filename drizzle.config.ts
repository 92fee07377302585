import { defineConfig } from 'drizzle-kit';

export default defineConfig({
  dialect: 'sqlite',
  schema: [
    './src/adapters/d1/schema.ts',
    './src/adapters/d1/schema-capacity.ts',
    './src/adapters/d1/schema-ledger.ts',
  ],
  out: './d1-migrations',
});
