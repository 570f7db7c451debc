/** DISCOVER /contracts: the caller's active contracts; this server has issued none.   AGTP-API §5.8.7 */
import { arrayOf, type Builtin } from "./builtin.ts";

/** A bare array of contracts. */
export function contractsBuiltin(): Builtin {
  return {
    name: "contracts",
    description: "Lists the active synthesized contracts of the calling agent.",
    outputSchema: arrayOf(["synthesis_id", "method", "path"]),
    handler: () => ({ body: [] }),
  };
}
