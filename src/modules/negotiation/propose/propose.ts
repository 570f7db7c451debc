/**
 * PROPOSE: asks for an endpoint that does not exist. 263 with the contract, 261 while it is being
 * evaluated, else why not: 463 `synthesis-disabled` before anything else where the policy switches
 * synthesis off, and 463 once more when a negotiation has had its three turns.   AGTP-API §8.7, §10
 */

import type { TaskOwner, TaskQueue } from "../../../base/task-queue.ts";
import type { RecordEvents } from "../../../dispatch/contracts/contract-events.ts";
import { payerOf } from "../../../dispatch/rates/payer.ts";
import {
  authorizationRequired,
  badRequest,
  proposalRejected,
  type Refusal,
  rateLimited,
} from "../../../dispatch/refusals/refusal.ts";
import type { RouteHandler } from "../../../dispatch/routes/route.ts";
import type { EventCause } from "../../../dispatch/stream-events.ts";
import type { HandlerSuccess } from "../../../handlers/handler.ts";
import type { ContractRegister } from "../../../state/registers/contract-register.ts";
import type { SynthesisConfig } from "../config.ts";
import { grantContract, offerContract } from "../contracts/grant-contract.ts";
import type { LatePlanning } from "../late-synthesis.ts";
import { checkProposal, type EvaluationParts, planProposal, refuseForm } from "./check-proposal.ts";
import type { Negotiations } from "./negotiation-turns.ts";
import type { Proposals } from "./pending-proposals.ts";
import { readProposal } from "./read-proposal.ts";
import type { ProposalRequest } from "./submitted-proposal.ts";

/** The parts that make a contract of a proposal. */
export interface GrantParts extends EvaluationParts {
  readonly synthesis: SynthesisConfig;
  readonly planning: LatePlanning;
  readonly register: Pick<ContractRegister, "add" | "now">;
  readonly negotiations: Negotiations;
  readonly record: RecordEvents;
  /** Plans, in turns with all else that takes long. */
  readonly work: TaskQueue;
}

/** The parts of PROPOSE. */
export interface ProposeOptions extends GrantParts {
  readonly synthesisEnabled: boolean;
  /** Evaluates later, and answers with 261 meanwhile. */
  readonly proposals: Proposals;
  /** Answers with 461 and an offer, at once: whoever proposes wants to see it first. */
  readonly isOffering?: boolean;
}

/** Parameters of PROPOSE; its forms are too many for a schema, and are read by hand. */
export const PROPOSE_SCHEMA: Readonly<Record<string, unknown>> = {
  type: "object",
  examples: [
    {
      endpoint: {
        method: "BOOK",
        path: "/stays",
        description: "Books a room and orders something for its guest.",
        semantic: {
          ...{ intent: "Book a room with a welcome.", actor: "agent", outcome: "Both are booked." },
          ...{ capability: "transaction", confidence: 0.8 },
          ...{ impact: "reversible", is_idempotent: false },
        },
        input_schema: { type: "object", properties: { guest_name: { type: "string" } } },
        output_schema: { type: "object" },
      },
    },
  ],
};

/**
 * The members that hold schemas: one that is nested too deeply is malformed like any other.   §10.6
 */
export const PROPOSED_SCHEMAS: ReadonlySet<string> = new Set(["input_schema", "output_schema"]);

type Answer = HandlerSuccess | Refusal;

/** The handler of PROPOSE on "/". */
export function proposeHandler(options: ProposeOptions): RouteHandler {
  return (call, exchange) => {
    if (!options.synthesisEnabled) {
      return proposalRejected("synthesis-disabled", "this server does not synthesize endpoints");
    }
    if (exchange.contract !== undefined) {
      return proposalRejected("policy-refused", "what runs under a contract makes no other one");
    }
    return propose(options, { call, exchange }, exchange.header("negotiation-id"));
  };
}

async function propose(
  options: ProposeOptions,
  cause: EventCause,
  negotiation: string | undefined,
): Promise<Answer> {
  const { agentId = "" } = cause.exchange.caller;
  const turn = options.negotiations.turn(agentId, negotiation);
  if (turn.kind === "unknown") {
    const message = "no negotiation of this agent has this Negotiation-ID";
    return badRequest("unknown-negotiation", message, { reason: "unknown-negotiation" });
  }
  const { negotiationId } = turn;
  if (turn.kind === "exhausted") return withNegotiation(exhausted(), negotiationId);
  const answer = await evaluate(options, cause, negotiationId);
  if ("kind" in answer && answer.status === 463)
    options.negotiations.reject(agentId, negotiationId);
  return withNegotiation(answer, negotiationId);
}

async function evaluate(
  options: ProposeOptions,
  cause: EventCause,
  negotiationId: string,
): Promise<Answer> {
  const { call, exchange } = cause;
  const { agentId = "", authority, document } = exchange.caller;
  const reading = readProposal(call.input);
  if (reading.kind === "fault") return refuseForm(reading);
  const owner = payerOf(exchange);
  if (!options.work.hasRoom(owner)) return rateLimited("work", 1);
  const checked = await options.work.run(() => checkProposal(reading.proposal, options), owner);
  if (checked.kind === "refusal") return checked;
  // Contracts are kept, and nobody whom this server does not know makes it write.
  if (document === undefined) return unknownAgent();
  const { proposal } = checked;
  const { scopes } = authority;
  const { sessionId } = call;
  const request = { agentId, sessionId, negotiationId, scopes, proposal };
  const { isOffering = false } = options;
  if (options.synthesis.asyncEvaluation && !isOffering) return options.proposals.submit(request);
  const planned = await plan(options, request, { authority, owner });
  if (planned.kind === "refusal") return planned;
  if (isOffering) return offerContract(options, request, planned.plan);
  return grantContract(options, request, planned.plan, cause);
}

function unknownAgent(): Refusal {
  const message = "contracts are made with agents that this server knows";
  return authorizationRequired("credentials-missing", message);
}

/** Plans what nobody waits for any more, and makes the contract. */
export async function planAndGrant(
  options: GrantParts,
  request: ProposalRequest,
  authority: Planning["authority"],
): Promise<Answer> {
  // It is done for an agent that this server knows.
  const owner = { key: request.agentId, isKnown: true };
  const planned = await plan(options, request, { authority, owner });
  if (planned.kind === "refusal") return planned;
  return grantContract(options, request, planned.plan, undefined);
}

/** Under which authority, and for whom. */
interface Planning {
  readonly authority: Parameters<typeof planProposal>[1];
  readonly owner: TaskOwner;
}

async function plan(
  options: GrantParts,
  { proposal }: ProposalRequest,
  { authority, owner }: Planning,
): Promise<ReturnType<typeof planProposal>> {
  const { synthesizer } = await options.planning();
  const parts = { ...options, synthesizer };
  return options.work.run(() => planProposal(proposal, authority, parts), owner);
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
