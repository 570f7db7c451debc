/**
 * The server's own tools. `agtp_approved_call` makes a call that an operator approved, for clients that cannot wait
 * for a task: the refusal that asked for the approval names the escalation. `agtp_propose` proposes an endpoint.
 * docs/approvals.md, AGTP-API §10
 */
import type { Tool } from "@modelcontextprotocol/server";
import { isRecord, type JsonRecord } from "../../../base/json-value.ts";
import type { ContractOffers, OfferDecision } from "../../../dispatch/module/module.ts";
import { approvalMismatch } from "../../../dispatch/refusals/approval-refusals.ts";
import { violationAt } from "../../../dispatch/refusals/refusal.ts";
import type { Asking } from "../ask.ts";
import type { McpFront } from "../front.ts";
import type { AskedCall } from "../tasks/task.ts";
import { PRESENTED } from "./front-contracts.ts";

export const APPROVED_CALL = "agtp_approved_call";

/** The tool's entry in `tools/list`. */
export const APPROVED_CALL_TOOL: Tool = {
  name: APPROVED_CALL,
  title: "Run an approved call",
  description:
    "Runs a call that an operator has approved, with the arguments that were approved, and gives its result.",
  inputSchema: {
    type: "object",
    properties: {
      escalation_id: { type: "string", description: "As the refusal of the call named it" },
    },
    required: ["escalation_id"],
    additionalProperties: false,
  },
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false },
};

/** Asks for the call of an escalation; the gates decide if it may be made. */
export function askForApproved(
  { approvedCallOf, contracts }: McpFront,
  agentId: string,
  input: Readonly<Record<string, unknown>>,
): Asking {
  const { escalation_id: escalationId } = input;
  const place = { method: "EXECUTE", path: "/", input };
  if (typeof escalationId !== "string") {
    return { ...place, refusal: violationAt("/escalation_id", "type", "must be a string") };
  }
  const call = approvedCallOf(escalationId, agentId);
  if (call === undefined || !isRecord(call.input)) {
    return { ...place, refusal: approvalMismatch(escalationId, []) };
  }
  const contract = contracts.unregistered(agentId, call);
  return approvedCall({ ...call, contract }, escalationId);
}

/** Asks for a call that may be approved by now. */
export function approvedCall(
  { method, path, input, contract }: AskedCall,
  escalationId: string,
): Asking {
  const fields = new Map([["escalation-id", escalationId]]);
  if (contract !== undefined) fields.set(PRESENTED, contract);
  return { method, path, input, fields };
}

export const PROPOSE = "agtp_propose";

/**
 * `agtp_propose`: asks for an endpoint that does not exist. A possible one is offered, and becomes a tool of its
 * caller once accepted; an impossible one is refused as by PROPOSE.   docs/negotiation.md
 */
export const PROPOSE_TOOL: Tool = {
  name: PROPOSE,
  title: "Propose an endpoint",
  description:
    "Proposes an endpoint that this server does not have. It is composed of those that it has, offered as a contract, and a tool of this client once that is accepted.",
  inputSchema: {
    type: "object",
    properties: {
      method: { type: "string", description: "A method of the server's catalog, such as EVALUATE" },
      path: { type: "string", description: "Its path; parameters stand in braces" },
      description: { type: "string", description: "What it is to do, in a sentence" },
      input_schema: { type: "object", description: "A JSON Schema of what it takes" },
      output_schema: { type: "object", description: "A JSON Schema of what it gives" },
    },
    required: ["method", "path", "description"],
    additionalProperties: false,
  },
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false },
};

/** The tool if no offer is shown first: PROPOSE then makes the contract at once, as over AGTP. */
export const PROPOSE_AT_ONCE: Tool = {
  ...PROPOSE_TOOL,
  description:
    "Proposes an endpoint that this server does not have. It is composed of those that it has, and is a contract and a tool of this client with the answer.",
};

/** Tells a client the tool name of its contract. */
export function contractToolText(name: string): string {
  return `The contract is the tool "${name}" of this client.`;
}

const PLACE = { method: "PROPOSE", path: "/" };

/** Asks for a proposal; PROPOSE reports its faults. */
export function askToPropose({ propose }: ContractOffers, input: Asking["input"]): Asking {
  return { ...PLACE, input: proposalOf(input), route: propose };
}

/** Converts the tool's arguments to the parameters of PROPOSE. */
export function proposalOf(input: JsonRecord): JsonRecord {
  const { method, path, description, input_schema, output_schema } = input;
  const endpoint = { method, path, description, semantic: semanticOf(description) };
  return { endpoint: { ...endpoint, input_schema, output_schema } };
}

/** Asks to settle an offer, in place of the call that it was made for. */
export function askToSettle(
  { decide }: ContractOffers,
  word: { readonly synthesisId: string; readonly decision: OfferDecision },
  place: Pick<Asking, "method" | "path"> = PLACE,
): Asking {
  const input = { synthesis_id: word.synthesisId, decision: word.decision };
  return { ...place, input, route: decide };
}

/**
 * A semantic block with the strongest impact, so that it excludes no steps: the offer states their effects before
 * anything is agreed.
 */
function semanticOf(description: unknown): Asking["input"] {
  return {
    ...{ intent: description, actor: "agent", outcome: description },
    ...{ capability: "domain_spanning", confidence: 0.5 },
    ...{ impact: "irreversible", is_idempotent: false },
  };
}
