CREATE TABLE `access_keys` (
	`id` text PRIMARY KEY NOT NULL,
	`tenant_id` text NOT NULL,
	`principal_id` text NOT NULL,
	`name` text NOT NULL,
	`sha256` text NOT NULL,
	`hint` text NOT NULL,
	`permissions` text,
	`upstream_access` text,
	`project_access` text,
	`expires_at` integer,
	`revoked_at` integer,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	FOREIGN KEY (`tenant_id`) REFERENCES `tenants`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`principal_id`) REFERENCES `principals`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `access_keys_sha256` ON `access_keys` (`sha256`);--> statement-breakpoint
CREATE INDEX `access_keys_tenant` ON `access_keys` (`tenant_id`,`id`);--> statement-breakpoint
CREATE INDEX `access_keys_principal` ON `access_keys` (`principal_id`);--> statement-breakpoint
CREATE TABLE `calls` (
	`id` text PRIMARY KEY NOT NULL,
	`tenant_id` text NOT NULL,
	`key_id` text,
	`principal_id` text,
	`upstream_id` text,
	`surface` text NOT NULL,
	`method` text NOT NULL,
	`host` text,
	`path` text,
	`outcome` text NOT NULL,
	`status` integer NOT NULL,
	`code` text,
	`blame` text,
	`started_at` integer NOT NULL,
	`latency_ms` integer NOT NULL,
	`request_bytes` integer,
	`response_bytes` integer,
	`evidence` text
);
--> statement-breakpoint
CREATE INDEX `calls_tenant` ON `calls` (`tenant_id`,`id`);--> statement-breakpoint
CREATE INDEX `calls_started` ON `calls` (`started_at`);--> statement-breakpoint
CREATE TABLE `deny_rules` (
	`id` text PRIMARY KEY NOT NULL,
	`tenant_id` text NOT NULL,
	`host` text,
	`path` text,
	`method` text,
	`principal_id` text,
	`project_id` text,
	`note` text,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	FOREIGN KEY (`tenant_id`) REFERENCES `tenants`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `deny_rules_tenant` ON `deny_rules` (`tenant_id`,`id`);--> statement-breakpoint
CREATE TABLE `principals` (
	`id` text PRIMARY KEY NOT NULL,
	`tenant_id` text NOT NULL,
	`name` text NOT NULL,
	`role` text NOT NULL,
	`enabled` integer DEFAULT true NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	FOREIGN KEY (`tenant_id`) REFERENCES `tenants`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `principals_name` ON `principals` (`tenant_id`,`name`);--> statement-breakpoint
CREATE TABLE `projects` (
	`id` text PRIMARY KEY NOT NULL,
	`tenant_id` text NOT NULL,
	`name` text NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	FOREIGN KEY (`tenant_id`) REFERENCES `tenants`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `projects_name` ON `projects` (`tenant_id`,`name`);--> statement-breakpoint
CREATE TABLE `route_slots` (
	`upstream_id` text NOT NULL,
	`method` text NOT NULL,
	`priority` integer NOT NULL,
	`path` text NOT NULL,
	`tenant_id` text NOT NULL,
	`route_id` text NOT NULL,
	PRIMARY KEY(`upstream_id`, `method`, `priority`, `path`),
	FOREIGN KEY (`route_id`) REFERENCES `routes`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE INDEX `route_slots_route` ON `route_slots` (`route_id`);--> statement-breakpoint
CREATE TABLE `routes` (
	`id` text PRIMARY KEY NOT NULL,
	`tenant_id` text NOT NULL,
	`upstream_id` text NOT NULL,
	`methods` text NOT NULL,
	`path` text NOT NULL,
	`query_allowlist` text,
	`suffix_mode` text DEFAULT 'append' NOT NULL,
	`priority` integer DEFAULT 0 NOT NULL,
	`enabled` integer DEFAULT true NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	FOREIGN KEY (`upstream_id`) REFERENCES `upstreams`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE INDEX `routes_upstream` ON `routes` (`upstream_id`,`id`);--> statement-breakpoint
CREATE INDEX `routes_tenant` ON `routes` (`tenant_id`,`id`);--> statement-breakpoint
CREATE TABLE `secrets` (
	`id` text PRIMARY KEY NOT NULL,
	`tenant_id` text NOT NULL,
	`name` text NOT NULL,
	`visibility` text DEFAULT 'private' NOT NULL,
	`data_key_version` integer NOT NULL,
	`sealed` blob NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	FOREIGN KEY (`tenant_id`) REFERENCES `tenants`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`tenant_id`,`data_key_version`) REFERENCES `tenant_data_keys`(`tenant_id`,`version`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `secrets_name` ON `secrets` (`tenant_id`,`name`);--> statement-breakpoint
CREATE TABLE `tenant_data_keys` (
	`tenant_id` text NOT NULL,
	`version` integer NOT NULL,
	`master_version` integer NOT NULL,
	`wrapped` blob NOT NULL,
	`created_at` integer NOT NULL,
	PRIMARY KEY(`tenant_id`, `version`),
	FOREIGN KEY (`tenant_id`) REFERENCES `tenants`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `tenant_data_keys_master` ON `tenant_data_keys` (`master_version`,`tenant_id`);--> statement-breakpoint
CREATE TABLE `tenants` (
	`id` text PRIMARY KEY NOT NULL,
	`parent_id` text,
	`name` text NOT NULL,
	`depth` integer NOT NULL,
	`home_region` text,
	`ledger_tenant_id` text NOT NULL,
	`config_version` integer DEFAULT 1 NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	FOREIGN KEY (`parent_id`) REFERENCES `tenants`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `tenants_parent` ON `tenants` (`parent_id`,`id`);--> statement-breakpoint
CREATE TABLE `upstream_hosts` (
	`tenant_id` text NOT NULL,
	`host` text NOT NULL,
	`port` integer NOT NULL,
	`upstream_id` text NOT NULL,
	PRIMARY KEY(`tenant_id`, `host`, `port`, `upstream_id`),
	FOREIGN KEY (`upstream_id`) REFERENCES `upstreams`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE INDEX `upstream_hosts_upstream` ON `upstream_hosts` (`upstream_id`);--> statement-breakpoint
CREATE TABLE `upstreams` (
	`id` text PRIMARY KEY NOT NULL,
	`tenant_id` text NOT NULL,
	`project_id` text,
	`name` text NOT NULL,
	`alias` text NOT NULL,
	`scheme` text NOT NULL,
	`endpoints` text NOT NULL,
	`base_path` text NOT NULL,
	`bindings` text NOT NULL,
	`header_rules` text,
	`first_byte_timeout_ms` integer NOT NULL,
	`idle_timeout_ms` integer NOT NULL,
	`visibility` text DEFAULT 'private' NOT NULL,
	`enabled` integer DEFAULT true NOT NULL,
	`track_body` integer DEFAULT false NOT NULL,
	`needs_target_host` integer DEFAULT false NOT NULL,
	`tags` text NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	FOREIGN KEY (`tenant_id`) REFERENCES `tenants`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`project_id`) REFERENCES `projects`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `upstreams_name` ON `upstreams` (`tenant_id`,`name`);--> statement-breakpoint
CREATE UNIQUE INDEX `upstreams_alias` ON `upstreams` (`tenant_id`,`alias`);