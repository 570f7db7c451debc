/** The sections of the configuration that this module takes. */
import type { ConfigPlace } from "../../base/config-place.ts";
import type { ApiEntry } from "../../dispatch/module/listing-sections.ts";
import type { ModuleContext } from "../../dispatch/module/module.ts";
import type { PoliciesConfig } from "../../dispatch/policy/policies-config.ts";
import type { ServerConfig } from "../../identity/server-section.ts";
import type { LimitsConfig } from "../../wire/limits-section.ts";
import type { GatewayConfig } from "./gateway-section.ts";

/** They, and where the configuration lies. */
export interface GatewaySections extends ConfigPlace {
  readonly apis: readonly ApiEntry[];
  readonly gateway: GatewayConfig;
  readonly limits: LimitsConfig;
  readonly policies: PoliciesConfig;
  readonly server: ServerConfig;
}

/** The input of this module. */
export type GatewayContext = ModuleContext<GatewaySections>;
