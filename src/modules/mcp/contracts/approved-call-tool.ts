/**
 * `agtp_approved_call`: makes the call that an operator has approved, with the arguments that were
 * approved, and gives its result. It is for clients that cannot wait for a task: the refusal that
 * asked for the approval names the escalation.   docs/approvals.md
 */
import type { Tool } from "@modelcontextprotocol/server";
import { isRecord } from "../../../base/json-value.ts";
import { approvalMismatch } from "../../../dispatch/refusals/approval-refusals.ts";
import { schemaViolation } from "../../../dispatch/refusals/refusal.ts";
import type { Asking } from "../ask.ts";
import type { McpFront } from "../front.ts";
import type { AskedCall } from "../tasks/task.ts";
import { PRESENTED } from "./front-contracts.ts";

/** Its name. */
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
    const violation = { path: "/escalation_id", keyword: "type", message: "must be a string" };
    return { ...place, refusal: schemaViolation([violation]) };
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
