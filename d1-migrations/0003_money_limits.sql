ALTER TABLE `access_keys` ADD `daily_call_cap` integer;--> statement-breakpoint
ALTER TABLE `tenants` ADD `daily_cap_micros` integer;--> statement-breakpoint
ALTER TABLE `tenants` ADD `budgets` text DEFAULT '[]' NOT NULL;--> statement-breakpoint
ALTER TABLE `tenants` ADD `ledger_config_version` integer DEFAULT 0 NOT NULL;