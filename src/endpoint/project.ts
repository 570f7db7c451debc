/**
 * The manifest entry of an endpoint: everything that an agent needs, and of its implementation only
 * the handler type.   AGTP-API §8.9
 */
import { given } from "../base/json-value.ts";
import type { EndpointDefinition } from "./endpoint.ts";
import type { Recipe } from "./recipe.ts";

/** Returns the manifest entry of an endpoint. */
export function projectEndpoint(definition: EndpointDefinition): Record<string, unknown> {
  const { namespace, requiredScopes, approval, deprecated } = definition;
  return {
    method: definition.method,
    path: definition.path,
    description: definition.description,
    ...given({ namespace }),
    semantic: definition.semantic,
    input_schema: definition.inputSchema,
    output_schema: definition.outputSchema,
    errors: definition.errors,
    handler: { type: shownTypeOf(definition) },
    ...(requiredScopes.length === 0 ? {} : { required_scopes: requiredScopes }),
    ...given({ approval, deprecated }),
  };
}

/** Returns the shown handler type; an MCP tool is an external service, since the draft has no other word. */
function shownTypeOf({ handler: { type } }: EndpointDefinition): string {
  return type === "mcp_tool" ? "external_service" : type;
}

/** Returns a recipe's pattern as in DISCOVER /patterns; undefined without one.   AGTP-API §5.8.6 */
export function patternEntry(recipe: Recipe): Readonly<Record<string, unknown>> | undefined {
  const { pattern } = recipe;
  if (pattern === undefined) return undefined;
  const path =
    pattern.pathExact === undefined
      ? { path_regex: pattern.pathRegex?.source ?? "^/" }
      : { path_exact: pattern.pathExact };
  return {
    recipe_name: recipe.name,
    recipe_version: recipe.version,
    method: pattern.methodExact,
    ...path,
    description: recipe.description,
    required_scopes: recipe.requiredScopes,
    ...(pattern.hasParameters.length === 0 ? {} : { has_parameters: pattern.hasParameters }),
  };
}
