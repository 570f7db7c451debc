/**
 * The caller's own contracts, as QUERY shows them: pairs that were negotiated and that it alone can
 * call, with what to call them by.   AGTP-API §5.8.7, §10.1.4
 */

import {
  MAX_SOURCE_ENTRIES,
  type QueryEntry,
  type QuerySource,
} from "../../../dispatch/module/query-source.ts";
import { type Contract, contractEntry } from "../../../endpoint/contract.ts";

/** The register of contracts. */
interface ActiveContracts {
  active(agentId: string): readonly Contract[];
}

/** Operators see others' contracts by DISCOVER and INSPECT; here everybody sees its own. */
export function contractSource(contracts: ActiveContracts): QuerySource {
  return {
    name: "contract",
    entries: async ({ caller: { agentId } }) =>
      agentId === undefined
        ? []
        : contracts
            .active(agentId)
            .toSorted((one, other) => other.issuedAt - one.issuedAt)
            .slice(0, MAX_SOURCE_ENTRIES)
            .map(foundContract),
  };
}

function foundContract(contract: Contract): QueryEntry {
  const { endpoint, synthesisId } = contract;
  const { method, path, description, semantic } = endpoint;
  return {
    id: synthesisId,
    texts: [`${method} ${path}`, semantic.intent, description, semantic.outcome],
    content: {
      ...contractEntry(contract),
      ...endpoint,
      tier: "C",
      callable: true,
      headers: { "Contract-Synthesized": synthesisId },
    },
  };
}
