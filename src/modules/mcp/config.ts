/** `[mcp]`: MCP on the listener of the HTTP sidecar. */
import type { ModuleContext } from "../../dispatch/module/module.ts";
import type { Taking } from "../../dispatch/module/shared-sections.ts";
import { type McpServerConfig, mcpServerSection } from "../../handlers/mcp/read-settings.ts";
import { choice, flag, list, type Schema, table, word } from "../../schema/section-field.ts";

/** `[mcp]`, with every default filled in. */
export interface McpConfig {
  readonly enabled: boolean;
  /** Path on the sidecar's listener. */
  readonly path: string;
  readonly tools: "operator" | "all";
  readonly anonymous: boolean;
  readonly servers: readonly McpServerConfig[];
}

export const mcpSection: Schema = table("MCP, on the listener of the HTTP sidecar", {
  enabled: flag(false, "Whether MCP clients are served; gateway.enabled must be true"),
  path: word(
    "/mcp",
    "^(?:/[A-Za-z0-9._~-]+)+$",
    "a path without parameters, such as /mcp",
    "Where MCP is served",
  ),
  tools: choice(
    "operator",
    ["operator", "all"],
    "Which endpoints are tools: the operator's, or the protocol's methods on \"/\" as well",
  ),
  anonymous: flag(false, "Whether a client without a token speaks as the sidecar's agent"),
  servers: list(mcpServerSection, "MCP servers behind endpoints"),
});

export interface McpSections extends Taking<"policies" | "server"> {
  readonly mcp: McpConfig;
}

export type McpContext = ModuleContext<McpSections>;
