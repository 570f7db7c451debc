/** DISCOVER /tools: the tools this server makes available; none of its agents has any yet.   AGTP-API §5.8.4 */
import { arrayOf, type Builtin } from "./builtin.ts";

/** A bare array of tool descriptors. */
export function toolsBuiltin(): Builtin {
  return {
    name: "tools",
    description: "Lists the tools that agents on this server make available.",
    outputSchema: arrayOf(["name"]),
    handler: () => ({ body: [] }),
  };
}
