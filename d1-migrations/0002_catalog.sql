CREATE TABLE `catalog_endpoints` (
	`id` text PRIMARY KEY NOT NULL,
	`provider` text NOT NULL,
	`capability` text NOT NULL,
	`summary` text NOT NULL,
	`access` text NOT NULL,
	`guide_micros` integer,
	`retired` integer NOT NULL,
	`document` text NOT NULL,
	FOREIGN KEY (`provider`) REFERENCES `catalog_providers`(`slug`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `catalog_endpoints_provider` ON `catalog_endpoints` (`provider`,`id`);--> statement-breakpoint
CREATE INDEX `catalog_endpoints_capability` ON `catalog_endpoints` (`capability`,`id`);--> statement-breakpoint
CREATE TABLE `catalog_providers` (
	`slug` text PRIMARY KEY NOT NULL,
	`name` text NOT NULL,
	`document` text NOT NULL
);
--> statement-breakpoint
CREATE TABLE `catalog_state` (
	`id` integer PRIMARY KEY NOT NULL,
	`version` integer NOT NULL,
	`applied_at` integer NOT NULL
);
