/** The sections of the configuration that this module takes. */
import type { ConfigPlace } from "../../base/config-place.ts";
import type { ModuleContext } from "../../dispatch/module/module.ts";
import type { AgentsConfig } from "../../identity/agents-section.ts";
import type { ServerConfig } from "../../identity/server-section.ts";
import type { StoreConfig } from "../../state/state-sections.ts";
import type { LimitsConfig } from "../../wire/limits-section.ts";
import type { OpenwopConfig } from "./openwop-section.ts";

/** They, and where the configuration lies. */
export interface OpenwopSections extends ConfigPlace {
  readonly agents: AgentsConfig;
  readonly limits: LimitsConfig;
  readonly openwop: OpenwopConfig;
  readonly server: ServerConfig;
  readonly store: StoreConfig;
  readonly webhooks: { readonly secret?: string };
}

/** The input of this module. */
export type OpenwopContext = ModuleContext<OpenwopSections>;
