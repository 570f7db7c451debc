/**
 * The contract that a proposal comes to. 263: it is made, and the body says so; 461: it is offered,
 * to be seen first.   AGTP-API §10.1.3, §10.4.3, §10.8
 */

import { grantDuration } from "../../../base/duration.ts";
import { type RecordEvents, recordAccepted } from "../../../dispatch/contracts/contract-events.ts";
import type { CausingRequest } from "../../../dispatch/stream-events.ts";
import type { SemanticBlock } from "../../../endpoint/endpoint.ts";
import type { SynthesisPlan } from "../../../endpoint/synthesis-plan.ts";
import type { HandlerSuccess } from "../../../handlers/handler.ts";
import type { ContractRegister } from "../../../state/registers/contract-register.ts";
import type { SynthesisConfig } from "../config.ts";
import type { SubmittedProposal } from "../propose/submitted-proposal.ts";
import { strongestImpact } from "../synthesis/impact.ts";
import { grantedBody, previewContract } from "./contract-bodies.ts";
import { makeContract } from "./make-contract.ts";

/** The parts that make and keep a contract. */
export interface GrantParts {
  readonly synthesis: SynthesisConfig;
  readonly register: Pick<ContractRegister, "add" | "now">;
  readonly record: RecordEvents;
}

/** Makes and keeps the contract. */
export async function grantContract(
  { synthesis, register, record }: GrantParts,
  submitted: SubmittedProposal,
  plan: SynthesisPlan,
  cause: CausingRequest | undefined,
): Promise<HandlerSuccess> {
  const { negotiationId, proposal } = submitted;
  const lifetimeSeconds = lifetimeOf(submitted, synthesis);
  const contract = makeContract(
    {
      ...{ ...agreementOf(submitted), lifetimeSeconds, state: "active", now: register.now() },
      semantic: honestSemantic(proposal.semantic, plan),
    },
    plan,
  );
  await register.add(contract);
  await recordAccepted(record, contract, cause);
  const body = grantedBody(contract, plan, { negotiationId, lifetimeSeconds });
  return { status: 263, body };
}

/** Keeps the contract as an offer, which says of its effects what the plan has. */
export async function offerContract(
  { synthesis, register }: Omit<GrantParts, "record">,
  submitted: SubmittedProposal,
  plan: SynthesisPlan,
): Promise<HandlerSuccess> {
  const { semantic } = submitted.proposal;
  const contract = makeContract(
    {
      ...{ ...agreementOf(submitted), state: "offered", now: register.now() },
      lifetimeSeconds: lifetimeOf(submitted, synthesis),
      semantic: { ...semantic, impact: plan.impact, is_idempotent: plan.isIdempotent },
    },
    plan,
  );
  await register.add(contract);
  return previewContract(contract);
}

function agreementOf({ agentId, sessionId, proposal }: SubmittedProposal) {
  const { raw, description, inputSchema, outputSchema } = proposal;
  const { method, path, requiredScopes, isPersistent } = raw;
  return {
    ...{ agentId, sessionId, method, path, description, inputSchema, outputSchema },
    ...{ requiredScopes, isPersistent, origin: "propose" as const },
  };
}

function lifetimeOf({ proposal: { raw } }: SubmittedProposal, synthesis: SynthesisConfig): number {
  return grantDuration(raw.requestedSeconds, limitsOf(raw.isPersistent, synthesis));
}

/**
 * The semantic block of a contract, which never promises less than its steps may leave
 * behind.   AGTP-API §16.1
 */
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
