/** The sections of the configuration that this module takes. */
import type { ConfigPlace } from "../../base/config-place.ts";
import type { ModuleContext } from "../../dispatch/module/module.ts";
import type { PoliciesConfig } from "../../dispatch/policy/policies-config.ts";
import type { ServerConfig } from "../../identity/server-section.ts";
import type { McpConfig } from "./mcp-section.ts";

/** They, and where the configuration lies. */
export interface McpSections extends ConfigPlace {
  readonly mcp: McpConfig;
  readonly policies: PoliciesConfig;
  readonly server: ServerConfig;
}

/** The input of this module. */
export type McpContext = ModuleContext<McpSections>;
