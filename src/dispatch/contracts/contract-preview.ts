/** 461: what the caller would agree to, with the members of every draft.   AGTP-API §10.1.3 */

import { type Contract, timestamp } from "../../endpoint/contract.ts";
import type { HandlerSuccess } from "../../handlers/handler.ts";

/** The answer that offers a contract, and runs nothing. */
export function previewContract(contract: Contract): HandlerSuccess {
  const { synthesisId, endpoint, lineage, contractHash, expiresAt, plan } = contract;
  const { method, path } = endpoint;
  const steps = plan.steps.map((step) => `${step.method} ${step.path}`);
  return {
    status: 461,
    body: {
      status: 461,
      synthesis_id: synthesisId,
      method,
      path,
      endpoint,
      recipe_lineage: lineage ?? null,
      contract_hash: contractHash,
      expires_at: timestamp(expiresAt),
      proposed_synthesis_id: synthesisId,
      contract: {
        method,
        path,
        plan_summary: steps,
        recipe_name: lineage?.recipe_name ?? null,
        recipe_version: lineage?.recipe_version ?? null,
        // The reference has a name here, this server has none.
        policy_name: null,
      },
    },
  };
}
