CREATE TABLE `tasks` (
	`hold_id` text PRIMARY KEY NOT NULL,
	`ledger_tenant_id` text NOT NULL,
	`home_region` text,
	`provider` text NOT NULL,
	`task_id` text NOT NULL,
	`next_poll_at` integer NOT NULL,
	`polls` integer DEFAULT 0 NOT NULL,
	`failures` integer DEFAULT 0 NOT NULL
);
--> statement-breakpoint
CREATE INDEX `tasks_due` ON `tasks` (`next_poll_at`);