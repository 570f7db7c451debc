/**
 * DISCOVER /methods: the compact inventory of every registered endpoint, and of those that the
 * calling agent negotiated to stay.   AGTP-API §5.8, §10.8
 */

import { mapPaced } from "../../base/paced.ts";
import type { EndpointDefinition } from "../../endpoint/endpoint.ts";
import { arrayOf, type Builtin } from "./builtin.ts";
import type { Inventory, ListedEndpoint } from "./inventory.ts";
import { Listing } from "./listing.ts";
import { persistentEndpoints } from "./persistent-endpoints.ts";

/** A bare array of `{method, path, description, tier}`. */
export function methodsBuiltin(inventory: Inventory): Builtin {
  const methods = new Listing(() => mapPaced(inventory.endpoints(), methodEntry), inventory.drive);
  return {
    name: "methods",
    description: "Lists all registered endpoints on this server.",
    outputSchema: arrayOf(["method", "path", "description", "tier"]),
    prepare: () => methods.prepare(),
    handler: ({ agentId }) => {
      const own = persistentEndpoints(inventory, agentId);
      if (own.length === 0) return methods.answer();
      return methods.answer((all) => ({ body: [...all, ...own.map((one) => entryOf(one, "C"))] }));
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
