/**
 * The tools of this server: the operator's endpoints and the executable agents, under names that
 * MCP accepts.   AGTP-API §5.8.4
 */
import { filterPaced, mapPaced, type Paced } from "../../base/paced.ts";
import type { EndpointDefinition } from "../../endpoint/endpoint.ts";
import type { Route } from "../routes/route.ts";
import { namingTools } from "./tool-names.ts";

export interface Tool {
  readonly name: string;
  readonly definition: EndpointDefinition;
}

export interface ListedDefinition {
  readonly tier: "A" | "B";
  readonly definition: EndpointDefinition;
}

/** Lists the endpoints that are tools, one a step. */
export function* listingTools(endpoints: readonly ListedDefinition[]): Paced<readonly Tool[]> {
  const listed = yield* filterPaced(endpoints, isTool);
  const definitions = yield* mapPaced(listed, ({ definition }) => definition);
  const names = yield* namingTools(definitions);
  return yield* mapPaced(definitions.entries(), ([index, definition]) => ({
    name: names[index] ?? "",
    definition,
  }));
}

/** Tells whether an endpoint is a tool; of the protocol's own, only those that execute an agent are. */
export function isTool({
  tier,
  definition: { method, path },
}: Pick<Route, "tier" | "definition">): boolean {
  return tier === "B" || (method === "EXECUTE" && path !== "/");
}

interface ToolHints {
  readonly readOnlyHint: boolean;
  readonly destructiveHint: boolean;
  readonly idempotentHint: boolean;
}

/** Converts the semantic block to hints. */
export function toolHints({ semantic }: EndpointDefinition): ToolHints {
  return {
    readOnlyHint: semantic.impact === "informational",
    destructiveHint: semantic.impact === "irreversible",
    idempotentHint: semantic.is_idempotent,
  };
}

/** Returns the entry in DISCOVER /tools: MCP's own shape, with the input of EXECUTE. */
export function toolEntry({ name, definition }: Tool): Readonly<Record<string, unknown>> {
  const { method, path, description, inputSchema, requiredScopes } = definition;
  return {
    name,
    description,
    inputSchema,
    annotations: toolHints(definition),
    action: `${method} ${path}`,
    method,
    path,
    required_scopes: requiredScopes,
  };
}
