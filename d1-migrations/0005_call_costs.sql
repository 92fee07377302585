ALTER TABLE `calls` ADD `tier` integer;--> statement-breakpoint
ALTER TABLE `calls` ADD `catalog_id` text;--> statement-breakpoint
ALTER TABLE `calls` ADD `cost_micros` integer;--> statement-breakpoint
ALTER TABLE `calls` ADD `hold_id` text;