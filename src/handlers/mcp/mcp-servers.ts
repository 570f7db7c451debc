/**
 * The MCP servers of a deployment, as endpoints see them. Whoever has none loads nothing of MCP.
 */
import type { McpToolBinding } from "../../endpoint/endpoint.ts";
import type { JsonSchema } from "../../schema/json-schema.ts";
import type { UpstreamHandler } from "../call-upstream.ts";

/** The servers by name. */
export interface McpServers {
  readonly names: readonly string[];
  /** How long a call of a server's may take; undefined: there is no such server. */
  timeoutMs(server: string): number | undefined;
  /** The handler of a tool; undefined: there is no such server. */
  bind(binding: McpToolBinding, outputSchema: JsonSchema): UpstreamHandler | undefined;
}
