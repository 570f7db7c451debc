/** The sections of the configuration that this module takes. */
import type { ConfigPlace } from "../../base/config-place.ts";
import type { ModuleContext } from "../../dispatch/module/module.ts";
import type { ServerConfig } from "../../identity/server-section.ts";
import type { LimitsConfig } from "../../wire/limits-section.ts";
import type { AgentcliConfig } from "./agentcli-section.ts";

/** They, and where the configuration lies. */
export interface AgentcliSections extends ConfigPlace {
  readonly agentcli: AgentcliConfig;
  readonly limits: LimitsConfig;
  readonly server: ServerConfig;
}

/** The input of this module. */
export type AgentcliContext = ModuleContext<AgentcliSections>;
