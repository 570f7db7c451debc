/**
 * DISCOVER /tools: the tools this server makes available, in MCP's shape. EXECUTE takes each by its
 * name or by its action, also as a carried tool call.   AGTP-API §5.8.4
 */

import { mapPaced, type Paced } from "../../base/paced.ts";
import { listingTools, toolEntry } from "../../dispatch/tools/tool.ts";
import { arrayOf, type Builtin } from "./builtin.ts";
import type { Inventory } from "./inventory.ts";
import { Listing } from "./listing.ts";

/** A bare array of tool descriptors. */
export function toolsBuiltin(inventory: Pick<Inventory, "endpoints" | "drive">): Builtin {
  const tools = new Listing(() => listing(inventory), inventory.drive);
  return {
    name: "tools",
    description: "Lists the tools that this server makes available to EXECUTE.",
    outputSchema: arrayOf(["name"]),
    prepare: () => tools.prepare(),
    handler: () => tools.answer(),
  };
}

function* listing({ endpoints }: Pick<Inventory, "endpoints">): Paced<readonly object[]> {
  return yield* mapPaced(yield* listingTools(endpoints()), toolEntry);
}
