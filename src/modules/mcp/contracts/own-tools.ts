/**
 * The server's own tools. `agtp_approved_call` makes the call that an operator has approved, for clients that
 * cannot wait for a task: the refusal that asked for the approval names the escalation. The other one proposes an
 * endpoint.   docs/approvals.md, AGTP-API §10
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

/** As `tools/list` describes it. */
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

/** The call that an escalation is about; whether it may be made is for the gates to say. */
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

/** A call that may have been approved by now. */
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
 * `agtp_propose`: asks for an endpoint that does not exist. What can be had is offered, and is a tool
 * of its caller once that is accepted; what cannot is refused as PROPOSE refuses it.   docs/negotiation.md
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

/** The tool where nobody is shown an offer before: over AGTP, PROPOSE agrees to what it composes. */
export const PROPOSE_AT_ONCE: Tool = {
  ...PROPOSE_TOOL,
  description:
    "Proposes an endpoint that this server does not have. It is composed of those that it has, and is a contract and a tool of this client with the answer.",
};

/** Tells a client the name of the tool that a contract of its own has become. */
export function contractToolText(name: string): string {
  return `The contract is the tool "${name}" of this client.`;
}

const PLACE = { method: "PROPOSE", path: "/" };

/** The proposal; PROPOSE says what is wrong with it. */
export function askToPropose({ propose }: ContractOffers, input: Asking["input"]): Asking {
  return { ...PLACE, input: proposalOf(input), route: propose };
}

/** The parameters of PROPOSE for the arguments of the tool. */
export function proposalOf(input: JsonRecord): JsonRecord {
  const { method, path, description, input_schema, output_schema } = input;
  const endpoint = { method, path, description, semantic: semanticOf(description) };
  return { endpoint: { ...endpoint, input_schema, output_schema } };
}

/** The client's decision on an offer, in the place of the call that it was made for. */
export function askToSettle(
  { decide }: ContractOffers,
  word: { readonly synthesisId: string; readonly decision: OfferDecision },
  place: Pick<Asking, "method" | "path"> = PLACE,
): Asking {
  const input = { synthesis_id: word.synthesisId, decision: word.decision };
  return { ...place, input, route: decide };
}

/** It sets no bound to what the steps leave behind: the offer says that before anything is agreed. */
function semanticOf(description: unknown): Asking["input"] {
  return {
    ...{ intent: description, actor: "agent", outcome: description },
    ...{ capability: "domain_spanning", confidence: 0.5 },
    ...{ impact: "irreversible", is_idempotent: false },
  };
}
