/**
 * `tools/call`: the tool's endpoint is asked, as its caller, with the arguments that it was given.
 * A tool that is none is asked of EXECUTE, which says so and leaves the record; arguments that the
 * input schema does not take are refused in the pipeline like any others.   MCP "Tools"
 */
import type { JsonRecord } from "../../base/json-value.ts";
import { actionNotFound } from "../../dispatch/floor-refusals-execution.ts";
import { schemaViolation } from "../../dispatch/refusal.ts";
import { fillPath } from "../../endpoint/fill-path.ts";
import { metaFields, readMeta } from "./answer-meta.ts";
import { APPROVED_CALL, askForApproved } from "./approved-call-tool.ts";
import { type Asking, ask } from "./ask.ts";
import { challengeFor } from "./challenge.ts";
import { followingOf } from "./following.ts";
import type { McpRequest } from "./front.ts";
import { challenged, internalError, invalidParams } from "./protocol-errors.ts";
import { UNRECORDED } from "./refuse-request.ts";
import { beginTask } from "./run-task.ts";
import type { Following } from "./task.ts";
import { taskView } from "./task-requests.ts";
import {
  laterResult,
  type Result,
  refusalResult,
  successResult,
  unknownTool,
} from "./tool-result.ts";
import type { McpTool } from "./toolbox.ts";

/** One call, as the library read it. */
export interface ToolCall {
  readonly name: string;
  readonly arguments: JsonRecord;
  readonly meta: unknown;
  /** Calls back if its client leaves, or cancels it. */
  onLeave(listener: () => void): void;
  /** Whether it came by 2026-07-28. */
  readonly isCurrent: boolean;
  readonly knowsTasks: boolean;
  /** Tells its client how far it is; undefined: the client does not want to know. */
  progress?: ((done: number, total: number | undefined, message: string) => void) | undefined;
}

/** Calls a tool. Throws what is an error of the protocol. */
export async function callTool(request: McpRequest, call: ToolCall): Promise<Result> {
  const { front } = request;
  const meta = readMeta(call.meta);
  const fields = metaFields(meta);
  if (typeof fields === "string") throw invalidParams(fields);
  const tool = front.toolbox.find(call.name);
  const asking = askingFor(request, tool, call);
  for (const [name, value] of asking.fields ?? []) fields.set(name, value);
  const { onLeave, progress } = call;
  const answer = await ask(request, { ...asking, fields, onLeave, progress });
  if (answer === undefined) throw internalError(UNRECORDED, {});
  const context = { answer, serverId: front.serverId, meta, isCurrent: call.isCurrent };
  const following = followingOf(answer);
  if (following !== undefined) {
    // Tasks keep what they ask for; of some endpoints nothing of that may be kept.
    const isKept = answer.exchange.route?.concealment === undefined;
    const task = isKept && (await taskFor(request, call, asking, following));
    return task || laterResult(context, following);
  }
  if (answer.response.status < 300) return successResult(tool, context);
  const challenge = challengeFor(front.protection, answer);
  if (challenge !== undefined) {
    request.challenge = challenge;
    throw challenged(challenge);
  }
  if (tool === undefined && call.name !== APPROVED_CALL) throw unknownTool(call.name, context);
  return refusalResult(context);
}

/** What the call is to the pipeline. */
function askingFor(request: McpRequest, tool: McpTool | undefined, call: ToolCall): Asking {
  if (tool !== undefined) return askForTool(tool, call);
  if (call.name !== APPROVED_CALL) return askForName(call);
  return askForApproved(request.front, request.caller.fields.get("agent-id"), call.arguments);
}

/** Undefined: the client knows no tasks, or there is no room for one more. */
async function taskFor(
  request: McpRequest,
  { name, knowsTasks }: ToolCall,
  { method, path, input }: Asking,
  following: Following,
): Promise<Result | undefined> {
  if (!knowsTasks) return undefined;
  const task = await beginTask(request, name, { method, path, input }, following);
  return task && ({ resultType: "task", ...taskView(task) } as unknown as Result);
}

function askForTool({ route }: McpTool, { arguments: input }: ToolCall): Asking {
  const { method, path } = route;
  const violations = route.input.check(input);
  if (violations !== undefined) {
    return { method, path, input, refusal: schemaViolation(violations) };
  }
  const filled = fillPath(path, new Map(Object.entries(input)));
  if (filled.fault === undefined) return { method, path: filled.path, input };
  const at = filled.parameter === undefined ? "" : `/${filled.parameter}`;
  const violation = { path: at, keyword: "pattern", message: filled.fault };
  return { method, path, input, refusal: schemaViolation([violation]) };
}

/** Nobody is called so; asking EXECUTE for it leaves the record that AGTP would have left. */
function askForName({ name, arguments: input }: ToolCall): Asking {
  return { method: "EXECUTE", path: "/", input, refusal: actionNotFound(name, []) };
}
