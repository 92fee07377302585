CREATE TABLE `ledger_journal` (
	`tenant_id` text NOT NULL,
	`seq` integer NOT NULL,
	`at` integer NOT NULL,
	`available_micros` integer NOT NULL,
	`held_micros` integer NOT NULL,
	`settled_micros` integer NOT NULL,
	`ops` text NOT NULL,
	PRIMARY KEY(`tenant_id`, `seq`)
);
--> statement-breakpoint
CREATE TABLE `ledgers` (
	`tenant_id` text PRIMARY KEY NOT NULL,
	`home_region` text,
	`copied_seq` integer DEFAULT 0 NOT NULL,
	`seen_at` integer DEFAULT 0 NOT NULL,
	`fault` text,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `ledgers_seen` ON `ledgers` (`seen_at`,`tenant_id`);