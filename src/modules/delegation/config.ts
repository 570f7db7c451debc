/** The sections of the configuration that this module takes. */
import type { ConfigPlace } from "../../base/config-place.ts";
import type { ModuleContext } from "../../dispatch/module/module.ts";
import type { AgentsConfig } from "../../identity/agents-section.ts";
import type { ServerConfig } from "../../identity/server-section.ts";
import type { LimitsConfig } from "../../wire/limits-section.ts";
import type { DelegationConfig, PeerConfig } from "./delegation-sections.ts";

/** They, and where the configuration lies. */
export interface DelegationSections extends ConfigPlace {
  readonly agents: AgentsConfig;
  readonly delegation: DelegationConfig;
  readonly limits: LimitsConfig;
  readonly peers: readonly PeerConfig[];
  readonly server: ServerConfig;
}

/** The input of this module. */
export type DelegationContext = ModuleContext<DelegationSections>;
