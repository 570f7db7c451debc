/** DISCOVER /methods: the compact inventory of every registered endpoint.   AGTP-API §5.8 */
import { arrayOf, type Builtin } from "./builtin.ts";
import type { Inventory, ListedEndpoint } from "./inventory.ts";

/** A bare array of `{method, path, description, tier}`. */
export function methodsBuiltin(inventory: Inventory): Builtin {
  let body: readonly object[] | undefined;
  return {
    name: "methods",
    description: "Lists all registered endpoints on this server.",
    outputSchema: arrayOf(["method", "path", "description", "tier"]),
    handler: () => {
      body ??= inventory.endpoints().map(methodEntry);
      return { body };
    },
  };
}

function methodEntry({ tier, definition }: ListedEndpoint): object {
  const { method, path, description } = definition;
  return { method, path, description, tier };
}
