/** Endpoint definitions and recipes for tests that are about one part of them. */
import type {
  EndpointDefinition,
  ExternalServiceBinding,
  HandlerBinding,
} from "../../src/endpoint/endpoint.ts";
import type { Recipe, RecipeStep } from "../../src/endpoint/recipe.ts";

/** `BOOK /room`, with what a test is about in its place. */
export function makeEndpoint<const H extends HandlerBinding>(
  handler: H,
  rest: Partial<EndpointDefinition> = {},
): EndpointDefinition & { readonly handler: H } {
  return {
    file: "endpoints/x.toml",
    method: "BOOK",
    path: "/room",
    description: "Books a room.",
    semantic: {
      intent: "Book a room.",
      actor: "agent",
      outcome: "A room is booked.",
      capability: "transaction",
      confidence: 0.9,
      impact: "reversible",
      is_idempotent: false,
    },
    inputSchema: { type: "object" },
    outputSchema: { type: "object" },
    errors: [],
    requiredScopes: [],
    ...rest,
    handler,
  };
}

/** An upstream binding with the loader's defaults. */
export function makeUpstreamBinding(
  rest: Partial<ExternalServiceBinding> & { readonly url: string },
): ExternalServiceBinding {
  return {
    type: "external_service",
    method: "POST",
    timeoutMs: 5_000,
    maxResponseBytes: 1_048_576,
    headers: {},
    query: {},
    inputTransform: {},
    outputTransform: {},
    errorMap: {},
    ...rest,
  };
}

/** A recipe of the given steps. */
export function makeRecipe(
  steps: readonly (Partial<RecipeStep> & { readonly method: string })[],
  rest: Partial<Recipe> = {},
): Recipe {
  return {
    file: "recipes/x.toml",
    name: "x",
    version: "1",
    description: "",
    requiredScopes: [],
    aggregation: "last",
    ...rest,
    steps: steps.map((step) => ({ path: "/", parameters: {}, ...step })),
  };
}
