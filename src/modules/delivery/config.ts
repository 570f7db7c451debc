/** `[webhooks]` and `[groups]`: webhook destinations, and groups of recipients notified together. */
import type { ModuleContext } from "../../dispatch/module/module.ts";
import type { Taking } from "../../dispatch/module/shared-sections.ts";
import {
  list,
  map,
  optional,
  path,
  recipientName,
  type Schema,
  safeUrl,
  secret,
  table,
  text,
} from "../../schema/section-field.ts";

/** `[webhooks]`, with every default filled in. */
export interface WebhooksConfig {
  readonly escalations?: string;
  readonly secret?: string;
  /** An absolute path. */
  readonly ca?: string;
  /** URLs by name. */
  readonly recipients: Readonly<Record<string, string>>;
}

/** Members by group name: agents by name or Agent-ID, and webhooks as `webhook:NAME`. */
export type GroupsConfig = Readonly<Record<string, readonly string[]>>;

/** The schema of `[webhooks]`. */
export const webhooksSection: Schema = table("Where people are sent what waits for them", {
  escalations: optional(safeUrl("Receives escalations as JSON")),
  secret: optional(secret("Signs what is sent there; best taken from the environment")),
  ca: optional(path("", "Certificates to trust there instead of the system's, in PEM")),
  recipients: map(
    recipientName,
    safeUrl(""),
    "Where NOTIFY reaches people, by the name after webhook:",
  ),
});

/** The schema of `[groups]`. */
export const groupsSection: Schema = map(
  recipientName,
  list(text("", "", { maxLength: 512 }), "Names or Agent-IDs of agents, or webhook:NAME"),
  "Who is notified together, by the name after group:",
);

export interface DeliverySections extends Taking<"agents" | "policies" | "server"> {
  readonly groups: GroupsConfig;
  readonly webhooks: WebhooksConfig;
}

export type DeliveryContext = ModuleContext<DeliverySections>;
