/** 263: the contract that a proposal comes to, and the body that says so.   AGTP-API §10.4.3, §10.8 */
import type { SynthesisConfig } from "../config/config.ts";
import type { SemanticBlock } from "../contract/endpoint.ts";
import type { HandlerSuccess } from "../handlers/handler.ts";
import { type Contract, timestamp } from "../synthesis/contract.ts";
import type { ContractRegister } from "../synthesis/contract-register.ts";
import { grantDuration } from "../synthesis/duration.ts";
import { makeContract } from "../synthesis/make-contract.ts";
import type { SynthesisPlan } from "../synthesis/plan.ts";
import { strongestImpact } from "../synthesis/planner-impact.ts";
import type { ProposalRequest } from "../synthesis/proposal-request.ts";
import type { RecordEvents } from "./contract-events.ts";
import type { EventSource } from "./stream-events.ts";

interface ApprovalOptions {
  readonly synthesis: SynthesisConfig;
  readonly register: Pick<ContractRegister, "add">;
  readonly record: RecordEvents;
}

/** Makes and keeps the contract. */
export async function approve(
  { synthesis, register, record }: ApprovalOptions,
  { agentId, sessionId, negotiationId, proposal }: ProposalRequest,
  plan: SynthesisPlan,
  source: EventSource | undefined,
): Promise<HandlerSuccess> {
  const { raw, description, semantic, inputSchema, outputSchema } = proposal;
  const lifetimeSeconds = grantDuration(
    raw.requestedSeconds,
    limitsOf(raw.isPersistent, synthesis),
  );
  const contract = makeContract(
    {
      agentId,
      method: raw.method,
      path: raw.path,
      description,
      semantic: honestSemantic(semantic, plan),
      inputSchema,
      outputSchema,
      requiredScopes: raw.requiredScopes,
      origin: "propose",
      state: "active",
      sessionId,
      isPersistent: raw.isPersistent,
      lifetimeSeconds,
      now: Date.now(),
    },
    plan,
  );
  await register.add(contract);
  await record([{ type: "rcns_propose_accepted", contract, actorAgentId: agentId }], source);
  const body = approvalBody(contract, plan, { negotiationId, lifetimeSeconds });
  return { status: 263, body };
}

/** A contract does not promise less than what its steps may leave behind.   AGTP-API §16.1 */
function honestSemantic(semantic: SemanticBlock, plan: SynthesisPlan): SemanticBlock {
  return {
    ...semantic,
    impact: strongestImpact([semantic.impact, plan.impact]),
    is_idempotent: semantic.is_idempotent && plan.isIdempotent,
  };
}

function limitsOf(isPersistent: boolean, synthesis: SynthesisConfig) {
  return isPersistent
    ? { usual: synthesis.persistentDefaultSeconds, most: synthesis.persistentMaxSeconds }
    : { usual: synthesis.sessionTtlSeconds, most: synthesis.sessionTtlSeconds };
}

interface Grant {
  readonly negotiationId: string;
  readonly lifetimeSeconds: number;
}

/** The members that any draft has for it. */
function approvalBody(
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
