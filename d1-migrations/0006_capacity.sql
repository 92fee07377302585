CREATE TABLE `capacity_policies` (
	`provider` text PRIMARY KEY NOT NULL,
	`capacity_type` text NOT NULL,
	`funding_mode` text NOT NULL,
	`source` text NOT NULL,
	`usd_per_unit_micros` integer,
	`low_remaining` real,
	`overflow_allowed` integer DEFAULT true NOT NULL,
	`note` text,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `capacity_snapshots` (
	`id` text PRIMARY KEY NOT NULL,
	`provider` text NOT NULL,
	`account` text NOT NULL,
	`sweep_at` integer NOT NULL,
	`observed_at` integer NOT NULL,
	`state` text NOT NULL,
	`remaining` real,
	`total` real,
	`unit` text,
	`resets_at` integer,
	`source` text NOT NULL,
	`confidence` text NOT NULL,
	`note` text,
	`error` text
);
--> statement-breakpoint
CREATE INDEX `capacity_snapshots_provider` ON `capacity_snapshots` (`provider`,`observed_at`);--> statement-breakpoint
CREATE UNIQUE INDEX `capacity_snapshots_sweep` ON `capacity_snapshots` (`sweep_at`,`provider`,`account`);--> statement-breakpoint
CREATE TABLE `job_leases` (
	`job` text PRIMARY KEY NOT NULL,
	`scheduled_at` integer NOT NULL,
	`leased_until` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `overflow_routes` (
	`endpoint_id` text NOT NULL,
	`aggregator` text NOT NULL,
	`vendor` text NOT NULL,
	`operation` text NOT NULL,
	`price_micros` integer,
	`unit` text NOT NULL,
	`single_result` integer NOT NULL,
	`ratio_milli` integer,
	`last_verified_at` integer,
	`failure` text,
	`enabled` integer NOT NULL,
	`disabled_reason` text,
	`synced_at` integer NOT NULL,
	PRIMARY KEY(`endpoint_id`, `aggregator`)
);
--> statement-breakpoint
CREATE TABLE `overflow_state` (
	`id` integer PRIMARY KEY NOT NULL,
	`version` integer NOT NULL,
	`synced_at` integer NOT NULL
);
--> statement-breakpoint
ALTER TABLE `calls` ADD `account` text;--> statement-breakpoint
ALTER TABLE `calls` ADD `signal` text;--> statement-breakpoint
ALTER TABLE `calls` ADD `served_via` text;--> statement-breakpoint
ALTER TABLE `tenants` ADD `platform_overflow` integer DEFAULT true NOT NULL;