/**
 * Makes the contract of a proposal. 263: the contract is active and described; 461: it is offered for review first.
 * AGTP-API §10.1.3, §10.4.3, §10.8
 */

import { grantDuration } from "../../base/duration.ts";
import { recordAccepted } from "../../dispatch/contracts/contract-events.ts";
import { sessionEndOf } from "../../dispatch/contracts/end-contracts.ts";
import type { Refusal } from "../../dispatch/refusals/refusal.ts";
import { refuseHeldSession } from "../../dispatch/refusals/task-refusals.ts";
import { ENDPOINT_JSON } from "../../dispatch/reply.ts";
import type { CausingRequest } from "../../dispatch/stream-events.ts";
import {
  type Contract,
  type ContractEndpoint,
  type ContractState,
  contractEntry,
  hashContract,
  type NegotiationOrigin,
  timestamp,
} from "../../endpoint/contract.ts";
import type { SemanticBlock } from "../../endpoint/endpoint.ts";
import type { Proposal, SynthesisPlan } from "../../endpoint/synthesis-plan.ts";
import type { HandlerSuccess } from "../../handlers/handler.ts";
import { uuidv7 } from "../../identity/uuid.ts";
import type { NegotiationContext } from "./config.ts";
import type { SubmittedProposal } from "./propose/read-proposal.ts";
import type { NegotiationParts } from "./state.ts";
import { strongestImpact } from "./synthesis/impact.ts";

/** The request of a waiting agent, or the id of a pending proposal, which may be evaluated repeatedly. */
type ProposalCause = { readonly cause: CausingRequest } | { readonly proposalId: string };

/** Makes and stores the contract; repeated evaluations of a pending proposal yield the same one. */
export async function grantContract(
  { context, record }: NegotiationParts,
  submitted: SubmittedProposal,
  plan: SynthesisPlan,
  by: ProposalCause,
): Promise<HandlerSuccess | Refusal> {
  const semantic = honestSemantic(submitted.proposal.semantic, plan);
  const agreement = { ...agreementOf(submitted, context), state: "active" as const, semantic };
  const cause = "cause" in by ? by.cause : undefined;
  const named = "proposalId" in by ? { synthesisId: synthesisIdOf(by.proposalId) } : {};
  const contract = await keepContract(context, { ...makeContract(agreement, plan), ...named });
  if ("kind" in contract) return contract;
  await recordAccepted(record, contract, cause);
  const { lifetimeSeconds } = agreement;
  const { negotiationId } = submitted;
  return approved(grantedBody(contract, plan, { negotiationId, lifetimeSeconds }));
}

function approved(body: Record<string, unknown>): HandlerSuccess {
  return { status: 263, headers: { "Content-Type": ENDPOINT_JSON }, body };
}

/** Derives the contract's id from the pending proposal's UUID. */
function synthesisIdOf(proposalId: string): string {
  return proposalId.replace(/^prop-/, "syn-");
}

/** Stores the contract as an offer that states the plan's effects. */
export async function offerContract(
  context: NegotiationContext,
  submitted: SubmittedProposal,
  plan: SynthesisPlan,
): Promise<HandlerSuccess | Refusal> {
  const { impact, isIdempotent } = plan;
  const semantic = { ...submitted.proposal.semantic, impact, is_idempotent: isIdempotent };
  const agreement = { ...agreementOf(submitted, context), state: "offered" as const, semantic };
  const contract = await keepContract(context, makeContract(agreement, plan));
  return "kind" in contract ? contract : previewContract(contract);
}

/**
 * Stores a new contract and returns it, or the one already stored by its id. A session's contract ends with its
 * session, which may have just ended without seeing it.   AGTP-API §10.8
 */
export async function keepContract(
  { state: { contracts, suspensions } }: NegotiationContext,
  contract: Contract,
): Promise<Contract | Refusal> {
  const kept = await contracts.add(contract);
  const end = sessionEndOf(suspensions, kept);
  if (end === undefined) return kept;
  const refusal = refuseHeldSession(end);
  await contracts.change(kept.synthesisId, "released", refusal.code);
  return refusal;
}

function agreementOf(
  { agentId, sessionId, proposal }: SubmittedProposal,
  { config: { synthesis }, state }: NegotiationContext,
) {
  const { raw, description, inputSchema, outputSchema } = proposal;
  const { method, path, requiredScopes, isPersistent } = raw;
  return {
    ...{ agentId, sessionId, method, path, description, inputSchema, outputSchema },
    ...{ requiredScopes, isPersistent, origin: "propose" as const },
    lifetimeSeconds: grantDuration(
      raw.requestedSeconds,
      isPersistent
        ? { usual: synthesis.persistentDefaultSeconds, most: synthesis.persistentMaxSeconds }
        : { usual: synthesis.sessionTtlSeconds, most: synthesis.sessionTtlSeconds },
    ),
    now: state.contracts.now(),
  };
}

/** The semantic block of a contract, with effects at least as strong as its steps'.   AGTP-API §16.1 */
function honestSemantic(semantic: SemanticBlock, plan: SynthesisPlan): SemanticBlock {
  return {
    ...semantic,
    impact: strongestImpact([semantic.impact, plan.impact]),
    is_idempotent: semantic.is_idempotent && plan.isIdempotent,
  };
}

/** The request's part of a contract. */
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

/** Creates a contract for a plan; the recipe's version is captured with its steps. */
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

/** The answer that offers a contract without running it. */
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
        // The reference names a policy here; this server has none.
        policy_name: null,
      },
    },
  };
}

/** 263: the body that describes a granted contract. */
function grantedBody(
  contract: Contract,
  plan: SynthesisPlan,
  { negotiationId, lifetimeSeconds }: { negotiationId: string; lifetimeSeconds: number },
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

/** 263: the contract of an accepted offer. */
export function acceptedContract(contract: Contract): HandlerSuccess {
  const { endpoint } = contract;
  return approved({ status: 263, ...contractEntry(contract), proposed: true, endpoint });
}
