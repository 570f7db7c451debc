/** DISCOVER /genesis: 404 when no Agent Genesis is loaded for the agent.   AGTP-API §5.8.1 */
import { notFound } from "../dispatch/refusal.ts";
import type { Builtin } from "./builtin.ts";

/** The Genesis document of the addressed agent. */
export function genesisBuiltin(): Builtin {
  return {
    name: "genesis",
    description: "Returns the Agent Genesis of the addressed agent in its canonical form.",
    outputSchema: { type: "object", required: ["signature"] },
    handler: () => notFound("genesis-not-found", "no Agent Genesis is loaded for this agent"),
  };
}
