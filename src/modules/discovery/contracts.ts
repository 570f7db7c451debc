/**
 * DISCOVER /contracts: the caller's active contracts, or to a holder of `inspect:all` everybody's.
 * AGTP-API §5.8.7
 */
import { seesAll } from "../../dispatch/caller.ts";
import { contractEntry } from "../../endpoint/contract.ts";
import { arrayOf, type Builtin } from "./builtin.ts";
import type { Inventory } from "./inventory.ts";
import { answerWith } from "./listing.ts";

/** A bare array of contracts. */
export function contractsBuiltin({
  contracts,
  drive,
}: Pick<Inventory, "contracts" | "drive">): Builtin {
  return {
    name: "contracts",
    description: "Lists the active synthesized contracts of the calling agent.",
    outputSchema: arrayOf([
      ...["synthesis_id", "method", "path", "originating_agent_id", "recipe_lineage"],
      ...["contract_hash", "negotiation_origin"],
    ]),
    handler: ({ agentId }, { caller }) => {
      if (seesAll(caller)) return answerWith(contracts.active(), contractEntry, drive);
      const own = agentId === undefined ? [] : contracts.active(agentId);
      return answerWith(own, contractEntry, drive);
    },
  };
}
