/**
 * DISCOVER /methods: the compact inventory of every registered endpoint, and of those that the
 * calling agent negotiated to stay.   AGTP-API §5.8, §10.8
 */

import { shareBody } from "../../base/shared-body.ts";
import type { EndpointDefinition } from "../../endpoint/endpoint.ts";
import { arrayOf, type Builtin } from "./builtin.ts";
import type { Inventory, ListedEndpoint } from "./inventory.ts";
import { persistentEndpoints } from "./persistent-endpoints.ts";

/** A bare array of `{method, path, description, tier}`. */
export function methodsBuiltin(inventory: Inventory): Builtin {
  let body: readonly object[] | undefined;
  return {
    name: "methods",
    description: "Lists all registered endpoints on this server.",
    outputSchema: arrayOf(["method", "path", "description", "tier"]),
    handler: ({ agentId }) => {
      body ??= shareBody(inventory.endpoints().map(methodEntry));
      const own = persistentEndpoints(inventory, agentId);
      if (own.length === 0) return { body };
      return { body: [...body, ...own.map((one) => entryOf(one, "C"))] };
    },
  };
}

function methodEntry({ tier, definition }: ListedEndpoint): object {
  return entryOf(definition, tier);
}

function entryOf(
  { method, path, description }: EndpointDefinition,
  tier: ListedEndpoint["tier"] | "C",
): object {
  return { method, path, description, tier };
}
