/**
 * DISCOVER /tools: the tools this server makes available, in MCP's shape. EXECUTE takes each by its
 * name or by its action, also as a carried tool call.   AGTP-API §5.8.4
 */

import { shareBody } from "../../base/shared-body.ts";
import { listTools, toolEntry } from "../../dispatch/tool.ts";
import { arrayOf, type Builtin } from "./builtin.ts";
import type { Inventory } from "./inventory.ts";

/** A bare array of tool descriptors. */
export function toolsBuiltin(inventory: Pick<Inventory, "endpoints">): Builtin {
  let body: readonly unknown[] | undefined;
  return {
    name: "tools",
    description: "Lists the tools that this server makes available to EXECUTE.",
    outputSchema: arrayOf(["name"]),
    handler: () => {
      body ??= shareBody(listTools(inventory.endpoints()).map(toolEntry));
      return { body };
    },
  };
}
