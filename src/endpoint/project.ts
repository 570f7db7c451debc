/**
 * The projection of an endpoint into the manifest: everything an agent reasons about, nothing of
 * how it is realised but the binding's kind.   AGTP-API §8.9
 */
import { given } from "../base/json-value.ts";
import type { EndpointDefinition } from "./endpoint.ts";
import type { Recipe } from "./recipe.ts";

/** An endpoint as the manifest shows it. */
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

/** A tool of an MCP server is an external service: the draft has no other word for it. */
function shownTypeOf({ handler: { type } }: EndpointDefinition): string {
  return type === "mcp_tool" ? "external_service" : type;
}

/** A recipe's pattern as DISCOVER /patterns lists it; undefined without one.   AGTP-API §5.8.6 */
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
