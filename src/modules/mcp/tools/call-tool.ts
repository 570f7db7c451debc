/**
 * `tools/call`: calls the tool's endpoint as the caller, with the given arguments; arguments that violate the input
 * schema are refused by the pipeline.
 * MCP "Tools"
 */
import { recordIn } from "../../../base/json-value.ts";
import { actionNotFound } from "../../../dispatch/refusals/floor-refusals.ts";
import { badRequest, schemaViolation, violationAt } from "../../../dispatch/refusals/refusal.ts";
import { fillPath } from "../../../endpoint/path-template.ts";
import { isDone } from "../../../wire/message.ts";
import { type Asking, ask, type ToolCall } from "../ask.ts";
import { acceptedResult, decisionOf, offerResult } from "../contracts/contract-question.ts";
import { PRESENTED } from "../contracts/front-contracts.ts";
import {
  APPROVED_CALL,
  askForApproved,
  askToPropose,
  askToSettle,
  PROPOSE,
} from "../contracts/own-tools.ts";
import type { McpRequest } from "../front.ts";
import { challengeFor } from "../identify.ts";
import { challenged, internalError, invalidParams, UNRECORDED } from "../protocol-errors.ts";
import { beginTask } from "../tasks/run-task.ts";
import type { Following } from "../tasks/task.ts";
import { taskView } from "../tasks/task-requests.ts";
import { followingOf } from "../tasks/work-state.ts";
import { metaFields } from "./answer-meta.ts";
import {
  laterResult,
  type Result,
  refusalResult,
  stateRefused,
  successResult,
  unknownTool,
} from "./call-result.ts";
import type { McpTool } from "./toolbox.ts";

/** Calls a tool. @throws protocol errors */
export async function callTool(request: McpRequest, call: ToolCall): Promise<Result> {
  const { front } = request;
  const meta = recordIn(call.meta);
  const fields = metaFields(meta);
  if (typeof fields === "string") throw invalidParams(fields);
  const { tool, asking, isKnown } = resolveCall(request, call, fields);
  for (const [name, value] of asking.fields ?? []) fields.set(name, value);
  const { onLeave, progress } = call;
  const refusal = asking.refusal ?? (request.lost && schemaViolation(request.lost));
  const answer = await ask(request, { ...asking, refusal, fields, onLeave, progress });
  if (answer === undefined) throw internalError(UNRECORDED, {});
  const context = { answer, serverId: front.serverId, meta, isCurrent: call.isCurrent };
  const following = followingOf(answer);
  if (following !== undefined) {
    const { route } = answer.exchange;
    // A task stores the call that it will make, which endpoints with concealment forbid.
    const isKept = following.kind === "work" || route?.concealment === undefined;
    const task = isKept && (await taskFor(request, call, { ...asking, fields }, following));
    return task || laterResult(tool, context, following);
  }
  const { status } = answer.response;
  if (status === 263) return acceptedResult(request, context);
  if (isDone(status)) return successResult(tool, context);
  if (status === 461) return offerResult(request, call, context);
  const challenge = challengeFor(front.protection, answer);
  if (challenge !== undefined) {
    request.challenge = challenge;
    throw challenged(challenge);
  }
  const isStateRefused = status === 400 && answer.exchange.frontRefusal?.code === STATE_INVALID;
  if (isStateRefused) throw stateRefused(context);
  if (!isKnown) throw unknownTool(call.name, context);
  return refusalResult(context);
}

/** Begins a task; undefined if the client does not support tasks, or there is no room. */
async function taskFor(
  request: McpRequest,
  { name, knowsTasks }: ToolCall,
  { method, path, input, fields }: Asking,
  following: Following,
): Promise<Result | undefined> {
  if (!knowsTasks) return undefined;
  const asked =
    following.kind === "work"
      ? { method: following.method, path: following.path, input: {} }
      : { method, path, input, contract: fields?.get(PRESENTED) };
  const task = await beginTask(request, name, asked, following);
  return task && ({ resultType: "task", ...taskView(task) } as unknown as Result);
}

interface ResolvedCall {
  readonly asking: Asking;
  /** Undefined if the name has no tool description. */
  readonly tool: McpTool | undefined;
  /** False if the caller has no tool of this name. */
  readonly isKnown: boolean;
}

const ANYWHERE = { method: "EXECUTE", path: "/" };

/**
 * Resolves a tool name to a pipeline request. Endpoints come first, then the server's own tools, the caller's
 * contracts, and pairs that a recipe would answer, for which a contract is negotiated. Any other name goes to EXECUTE,
 * which refuses it and leaves the record. `fields` are those of the call's `_meta`; the ones handled here are removed.
 */
function resolveCall(
  request: McpRequest,
  call: ToolCall,
  fields: Map<string, string>,
): ResolvedCall {
  const tool = request.front.toolbox.find(call.name);
  if (call.requestState !== undefined) return answeredCall(request, call, { tool, fields });
  if (tool === undefined) {
    return call.name === PROPOSE ? proposal(request, call, fields) : otherCall(request, call);
  }
  return { tool, isKnown: true, asking: askForTool(tool, call) };
}

function otherCall(request: McpRequest, call: ToolCall): ResolvedCall {
  const { front, caller } = request;
  const { name, arguments: input } = call;
  const { tools, negotiable } = front.contracts;
  const agentId = caller.fields.get("agent-id") ?? "";
  if (name === APPROVED_CALL) return known(askForApproved(front, agentId, input));
  const own = tools.find(agentId, name);
  if (own !== undefined) {
    const fields = presenting(own.contract.synthesisId);
    return { tool: own, isKnown: true, asking: { ...askForTool(own, call), fields } };
  }
  const pair = negotiable.get(name);
  if (pair !== undefined) return known({ ...pair, input, fields: OPT_IN });
  return unknown(call);
}

/** Resolves a proposal; a client that cannot ask its user returns the offer by its id. */
function proposal(
  { front }: McpRequest,
  call: ToolCall,
  fields: Map<string, string>,
): ResolvedCall {
  const { offers } = front.contracts;
  if (offers === undefined) return unknown(call);
  const synthesisId = fields.get(PRESENTED);
  if (synthesisId === undefined) return known(askToPropose(offers, call.arguments));
  fields.delete(PRESENTED);
  return settled(askToSettle(offers, { synthesisId, decision: "accept" }), fields);
}

function unknown({ name, arguments: input }: ToolCall): ResolvedCall {
  const asking = { ...ANYWHERE, input, refusal: actionNotFound(name, []) };
  return { tool: undefined, isKnown: false, asking };
}

const OPT_IN: ReadonlyMap<string, string> = new Map([["allow-rcns", "true"]]);

function presenting(synthesisId: string): ReadonlyMap<string, string> {
  return new Map([[PRESENTED, synthesisId]]);
}

function known(asking: Asking): ResolvedCall {
  return { tool: undefined, isKnown: true, asking };
}

/** Resolves a call that carries the user's answer to the server's question. */
function answeredCall(
  { front, caller }: McpRequest,
  call: ToolCall,
  { tool, fields }: Pick<ResolvedCall, "tool"> & { readonly fields: Map<string, string> },
): ResolvedCall {
  const { name, arguments: input, requestState = "" } = call;
  const { offers, states, find } = front.contracts;
  const asked = { caller: caller.key, tool: name, arguments: input };
  const synthesisId = states.read(requestState, asked);
  if (synthesisId === undefined || offers === undefined) {
    const place = tool === undefined ? ANYWHERE : tool.route;
    const { method, path } = place;
    return known({ method, path, input, refusal: badRequest(STATE_INVALID, INVALID) });
  }
  const decision = decisionOf(call) ?? "show";
  const word = { synthesisId, decision };
  if (name === PROPOSE) return settled(askToSettle(offers, word), fields);
  const contract = find(synthesisId, caller.fields.get("agent-id") ?? "");
  const { method, path } = contract?.endpoint ?? ANYWHERE;
  if (decision !== "accept") {
    return settled(askToSettle(offers, word, { method, path }), fields);
  }
  // The contract gate refuses a contract that has ended meanwhile.
  return known({ method, path, input, fields: presenting(synthesisId) });
}

/** Drops the idempotency key, which is for the call: an offer may be decided twice. */
function settled(asking: Asking, fields: Map<string, string>): ResolvedCall {
  fields.delete("idempotency-key");
  return known(asking);
}

/** The code of an invalid `requestState`. */
const STATE_INVALID = "request-state-invalid";
const INVALID =
  "the requestState is none that this client was given for this call, or its time is over";

function askForTool({ route }: Pick<McpTool, "route">, { arguments: input }: ToolCall): Asking {
  const { method, path } = route;
  const violations = route.input.check(input);
  if (violations !== undefined) {
    return { method, path, input, refusal: schemaViolation(violations) };
  }
  const filled = fillPath(path, new Map(Object.entries(input)));
  if (filled.fault === undefined) return { method, path: filled.path, input };
  const at = filled.parameter === undefined ? "" : `/${filled.parameter}`;
  return { method, path, input, refusal: violationAt(at, "pattern", filled.fault) };
}
