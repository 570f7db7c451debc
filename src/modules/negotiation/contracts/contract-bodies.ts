/**
 * The bodies that tell a caller of a contract, with the members of every draft: 263 it is made, or
 * an offer of it accepted; 461 it is offered.   AGTP-API §10.1.3, §10.4.3
 */

import { type Contract, contractEntry, timestamp } from "../../../endpoint/contract.ts";
import type { SynthesisPlan } from "../../../endpoint/synthesis-plan.ts";
import type { HandlerSuccess } from "../../../handlers/handler.ts";

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

interface Grant {
  readonly negotiationId: string;
  readonly lifetimeSeconds: number;
}

/** 263: the contract that a proposal came to. */
export function grantedBody(
  contract: Contract,
  plan: SynthesisPlan,
  { negotiationId, lifetimeSeconds }: Grant,
): Record<string, unknown> {
  const { synthesisId, endpoint, lineage, contractHash, expiresAt, isPersistent } = contract;
  return {
    status: 263,
    method: endpoint.method,
    path: endpoint.path,
    proposed: true,
    synthesis_id: synthesisId,
    endpoint,
    instantiated_endpoint: endpoint,
    recipe_lineage: lineage ?? null,
    synthesis: {
      kind: plan.kind,
      recipe_name: lineage?.recipe_name ?? null,
      recipe_version: lineage?.recipe_version ?? null,
    },
    contract_hash: contractHash,
    negotiation_origin: contract.origin,
    negotiation_id: negotiationId,
    expires_at: timestamp(expiresAt),
    expires: isPersistent ? timestamp(expiresAt) : "session",
    persistent: isPersistent,
    granted_duration: lifetimeSeconds,
    synthesis_log: plan.log,
  };
}

/** 263: the contract whose offer was accepted. */
export function acceptedBody(contract: Contract): Record<string, unknown> {
  const { endpoint } = contract;
  return { status: 263, ...contractEntry(contract), proposed: true, endpoint };
}
