/**
 * PROPOSE: asks for an endpoint that does not exist. 263 with the contract, 261 while it is being
 * evaluated, else why not: 463 `synthesis-disabled` before anything else where the policy switches
 * synthesis off, and 463 once more when a negotiation has had its three turns.   AGTP-API §8.7, §10
 */
import type { SynthesisConfig } from "../config/config.ts";
import type { Caller } from "../dispatch/caller.ts";
import { badRequest, proposalRejected, type Refusal } from "../dispatch/refusal.ts";
import type { RouteHandler } from "../dispatch/route.ts";
import type { Call, HandlerSuccess } from "../handlers/handler.ts";
import type { ContractRegister } from "../synthesis/contract-register.ts";
import type { Negotiations } from "../synthesis/negotiations.ts";
import { readProposal } from "../synthesis/proposal.ts";
import { approve } from "./approval.ts";
import { checkProposal, type EvaluationParts, planProposal } from "./proposal-evaluation.ts";
import type { ProposalRequest } from "./proposal-request.ts";
import type { Proposals } from "./proposals.ts";

/** What PROPOSE works with. */
export interface ProposeOptions extends EvaluationParts {
  readonly synthesisEnabled: boolean;
  readonly synthesis: SynthesisConfig;
  readonly register: Pick<ContractRegister, "add">;
  readonly negotiations: Negotiations;
  /** Evaluates later, and answers with 261 meanwhile. */
  readonly proposals: Proposals;
}

/** Parameters of PROPOSE; its forms are too many for a schema, and are read by hand. */
export const PROPOSE_SCHEMA: Readonly<Record<string, unknown>> = { type: "object" };

type Answer = HandlerSuccess | Refusal;

/** The handler of PROPOSE on "/". */
export function proposeHandler(options: ProposeOptions): RouteHandler {
  return (call, exchange) => {
    if (!options.synthesisEnabled) {
      return proposalRejected("synthesis-disabled", "this server does not synthesize endpoints");
    }
    return propose(options, call, exchange.caller, exchange.header("negotiation-id"));
  };
}

async function propose(
  options: ProposeOptions,
  call: Call,
  caller: Caller,
  negotiation: string | undefined,
): Promise<Answer> {
  const agentId = caller.agentId ?? "";
  const turn = options.negotiations.turn(agentId, negotiation);
  if (turn.kind === "unknown") {
    const message = "no negotiation of this agent has this Negotiation-ID";
    return badRequest("unknown-negotiation", message, { reason: "unknown-negotiation" });
  }
  const { negotiationId } = turn;
  if (turn.kind === "exhausted") return withNegotiation(exhausted(), negotiationId);
  const answer = await evaluate(options, call, caller, negotiationId);
  if ("kind" in answer && answer.status === 463)
    options.negotiations.reject(agentId, negotiationId);
  return withNegotiation(answer, negotiationId);
}

async function evaluate(
  options: ProposeOptions,
  call: Call,
  caller: Caller,
  negotiationId: string,
): Promise<Answer> {
  const reading = readProposal(call.input);
  if (reading.kind === "fault") {
    const { reason, message, field } = reading;
    const code = reason === "ambiguous-body" ? reason : "invalid-proposal";
    return badRequest(code, message, { reason, issue: reason, field });
  }
  const checked = checkProposal(reading.proposal, options);
  if (checked.kind === "refusal") return checked;
  const { proposal } = checked;
  const request = {
    agentId: caller.agentId ?? "",
    sessionId: call.sessionId,
    negotiationId,
    scopes: caller.authority.scopes,
    proposal,
  };
  if (options.synthesis.asyncEvaluation) return options.proposals.submit(request);
  return settle(options, request, caller.authority);
}

/** Plans, and makes the contract. */
export async function settle(
  options: Omit<ProposeOptions, "proposals">,
  request: ProposalRequest,
  authority: Parameters<typeof planProposal>[1],
): Promise<Answer> {
  const planned = planProposal(request.proposal, authority, options);
  if (planned.kind === "refusal") return planned;
  return approve(options, request, planned.plan);
}

function exhausted(): Refusal {
  const explanation = "three proposals were rejected: escalate";
  return proposalRejected("policy-refused", explanation, { escalate: true });
}

/** Every answer of a negotiation says which one it belongs to.   AGTP "Negotiation-ID" */
function withNegotiation(answer: Answer, negotiationId: string): Answer {
  const headers = { ...answer.headers, "Negotiation-ID": negotiationId };
  if (!("kind" in answer)) return { ...answer, headers };
  const carried = { ...answer.carried, negotiation_id: negotiationId };
  return { ...answer, carried, headers };
}
