/** DISCOVER /apis: the HTTP APIs beside this server, its own sidecar too.   AGTP-API §5.8.5 */
import { shareBody } from "../../base/shared-body.ts";
import { arrayOf, type Builtin } from "./builtin.ts";
import type { Inventory } from "./inventory.ts";

/** A bare array of `{name, description?, base_url?}`. */
export function apisBuiltin(inventory: Inventory): Builtin {
  return {
    name: "apis",
    description: "Lists the HTTP APIs that this server fronts.",
    outputSchema: arrayOf(["name"]),
    handler: () => ({ body: shareBody(inventory.apis()) }),
  };
}
