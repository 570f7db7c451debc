/** The sections of the configuration that this module takes. */
import type { ConfigPlace } from "../../base/config-place.ts";
import type { ModuleContext } from "../../dispatch/module/module.ts";
import type { PoliciesConfig } from "../../dispatch/policy/policies-config.ts";
import type { ServerConfig } from "../../identity/server-section.ts";
import type { GroupsConfig, WebhooksConfig } from "./delivery-sections.ts";

/** They, and where the configuration lies. */
export interface DeliverySections extends ConfigPlace {
  readonly groups: GroupsConfig;
  readonly policies: PoliciesConfig;
  readonly server: ServerConfig;
  readonly webhooks: WebhooksConfig;
}

/** The input of this module. */
export type DeliveryContext = ModuleContext<DeliverySections>;
