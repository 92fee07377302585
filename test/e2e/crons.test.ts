/** The schedules of wrangler.toml and of src/jobs/schedules.ts are the same list: a Cron without jobs, or jobs without a Cron, never run. */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { schedules } from '../../src/jobs/schedules.ts';

it('every schedule has jobs, and every job a schedule', () => {
  const [, list = ''] = /^crons = \[(.*)\]$/m.exec(readFileSync('wrangler.toml', 'utf8')) ?? [];
  const known = [...list.matchAll(/"([^"]+)"/g)].map(([, schedule]) => schedule);
  expect(known).toEqual([...schedules]);
});

it('a day of the week is named: the platform counts them from 1, which is Sunday, and others from 0', () => {
  const days = schedules.map((schedule) => schedule.split(' ')[4] ?? '');
  expect(days.filter((day) => day !== '*' && !/^[A-Z]{3}$/.test(day))).toEqual([]);
});
