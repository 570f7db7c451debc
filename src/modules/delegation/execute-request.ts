/**
 * A request of EXECUTE: an action and its input, or a carried tool call. 422 where that cannot
 * be told · 400 `unsupported-content-type` for a carried protocol that this server does not speak.
 * AGTP "EXECUTE"
 */

import { isRecord, type JsonRecord, quoteValue } from "../../base/json-value.ts";
import { badRequest, type Refusal, schemaViolation } from "../../dispatch/refusals/refusal.ts";
import { type Action, readAction } from "./action.ts";
import { isMcpType, MCP_TOOLS_CALL, type McpCall, readMcpCall } from "./carried-mcp.ts";

/** One execution. */
export interface ExecutionRequest {
  readonly action: Action;
  readonly input: JsonRecord;
  /** Set: the result is one of MCP. */
  readonly carried: McpCall | undefined;
}

/** Reads the parameters; `contentType` is the request's own. */
export function readExecution(
  parameters: JsonRecord,
  contentType?: string,
): ExecutionRequest | Refusal {
  // The older name of the action is the one of the plan that it stands in.
  const { action: written = parameters["plan_id"], payload_type: type } = parameters;
  const isTyped = typeof type === "string";
  const isMcp = isMcpType(isTyped ? type : contentType);
  // The type of the tool call is taken with that action or without one, and with no other.
  const mayCarry = written === undefined || written === MCP_TOOLS_CALL;
  if (isTyped && !isJsonType(type) && !(isMcp && mayCarry)) return unknownCarrier(type);
  if (mayCarry && (isMcp || written !== undefined)) {
    return readCarried(parameters, written === undefined);
  }
  if (written === undefined) return violation("/action", "required", "is required");
  const action = readAction(written);
  if (typeof action === "string") return violation("/action", "type", action);
  const input = readInput(parameters);
  return "kind" in input ? input : { action, input: input.input, carried: undefined };
}

/** The message stands in `payload`, in `parameters`, or is the whole body. */
function readCarried(parameters: JsonRecord, mayBeWhole: boolean): ExecutionRequest | Refusal {
  const { payload, parameters: inner } = parameters;
  const place = payload !== undefined ? "/payload" : inner !== undefined ? "/parameters" : "";
  if (place === "" && !mayBeWhole) return violation("/payload", "required", "is required");
  const call = readMcpCall(payload ?? inner ?? parameters);
  if ("message" in call) return violation(place + call.path, "type", call.message);
  const action = readAction(call.tool);
  if (typeof action === "string") return violation(`${place}/name`, "type", action);
  return { action, input: call.arguments, carried: call };
}

/** An ordinary action has its input in one place. */
function readInput({ parameters, payload }: JsonRecord): { readonly input: JsonRecord } | Refusal {
  if (parameters !== undefined && payload !== undefined) {
    return violation("/payload", "not", "must not stand beside parameters");
  }
  const input = parameters ?? payload ?? {};
  if (isRecord(input)) return { input };
  const place = parameters === undefined ? "/payload" : "/parameters";
  return violation(place, "type", `must be an object, got ${quoteValue(input)}`);
}

function isJsonType(type: string): boolean {
  return /^(?:application|text)\/(?:json|vnd\.agtp\+json|agtp\+json)$/.test(type.toLowerCase());
}

function unknownCarrier(type: string): Refusal {
  const message = `payload_type must be JSON or "application/vnd.mcp.tools+json", got ${quoteValue(type)}`;
  return badRequest("unsupported-content-type", message, { parameter: "payload_type" });
}

function violation(path: string, keyword: string, message: string): Refusal {
  return schemaViolation([{ path, keyword, message }]);
}
