/** The sections of the configuration that this module takes. */
import type { ConfigPlace } from "../../base/config-place.ts";
import type { ModuleContext } from "../../dispatch/module/module.ts";
import type { PoliciesConfig } from "../../dispatch/policy/policies-config.ts";
import type { AgentsConfig } from "../../identity/agents-section.ts";
import type { ServerConfig } from "../../identity/server-section.ts";
import type { LimitsConfig } from "../../wire/limits-section.ts";
import type { AgntcyConfig } from "./agntcy-section.ts";

/** They, and where the configuration lies. */
export interface AgntcySections extends ConfigPlace {
  readonly agntcy: readonly AgntcyConfig[];
  readonly agents: AgentsConfig;
  readonly limits: LimitsConfig;
  readonly policies: PoliciesConfig;
  readonly server: ServerConfig;
}

/** The input of this module. */
export type AgntcyContext = ModuleContext<AgntcySections>;
