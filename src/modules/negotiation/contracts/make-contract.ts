/**
 * Makes a contract of a plan: one that is agreed upon, or one that is offered.   AGTP-API §10.1.4,
 * §10.5, §10.7
 */

import {
  type Contract,
  type ContractEndpoint,
  type ContractState,
  hashContract,
  type NegotiationOrigin,
} from "../../../endpoint/contract.ts";
import type { Proposal, SynthesisPlan } from "../../../endpoint/synthesis-plan.ts";
import { uuidv7 } from "../../../identity/uuid.ts";

/** The request, as far as the contract says it. */
interface Agreement extends Proposal {
  readonly agentId: string;
  readonly requiredScopes: readonly string[];
  readonly origin: NegotiationOrigin;
  readonly state: Extract<ContractState, "offered" | "active">;
  readonly sessionId: string | undefined;
  readonly isPersistent: boolean;
  readonly lifetimeSeconds: number;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** A new contract over a plan; the recipe's version is captured with its steps. */
export function makeContract(agreement: Agreement, plan: SynthesisPlan): Contract {
  const { name, version, steps, aggregation } = plan.recipe;
  const scopes = new Set([...agreement.requiredScopes, ...plan.requiredScopes]);
  const endpoint: ContractEndpoint = {
    method: agreement.method,
    path: agreement.path,
    description: agreement.description,
    semantic: agreement.semantic,
    input_schema: agreement.inputSchema,
    output_schema: agreement.outputSchema,
    errors: ["composition_failed"],
    required_scopes: [...scopes].sort(),
    handler: { type: "composition" },
  };
  return {
    synthesisId: `syn-${uuidv7()}`,
    agentId: agreement.agentId,
    endpoint,
    plan: { name, version, steps, aggregation },
    lineage: plan.lineage,
    contractHash: hashContract(endpoint, plan.lineage),
    origin: agreement.origin,
    sessionId: agreement.sessionId,
    isPersistent: agreement.isPersistent,
    issuedAt: agreement.now,
    expiresAt: agreement.now + agreement.lifetimeSeconds * 1000,
    state: agreement.state,
  };
}
