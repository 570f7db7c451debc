/**
 * `tools/call`: the tool's endpoint is asked, as its caller, with the arguments that it was given;
 * arguments that the input schema does not take are refused in the pipeline like any others.
 * MCP "Tools"
 */

import { type Asking, ask } from "../ask.ts";
import { challengeFor } from "../challenge.ts";
import { acceptedResult, offerResult } from "../contracts/contract-question.ts";
import { PRESENTED } from "../contracts/front-contracts.ts";
import type { McpRequest } from "../front.ts";
import { challenged, internalError, invalidParams } from "../protocol-errors.ts";
import { UNRECORDED } from "../refuse-request.ts";
import { followingOf } from "../tasks/following.ts";
import { beginTask } from "../tasks/run-task.ts";
import type { Following } from "../tasks/task.ts";
import { taskView } from "../tasks/task-requests.ts";
import { metaFields, readMeta } from "./answer-meta.ts";
import {
  isDone,
  laterResult,
  type Result,
  refusalResult,
  stateRefused,
  successResult,
  unknownTool,
} from "./call-result.ts";
import { resolveCall, STATE_INVALID } from "./resolve-call.ts";
import type { ToolCall } from "./tool-call.ts";

/** Calls a tool. Throws what is an error of the protocol. */
export async function callTool(request: McpRequest, call: ToolCall): Promise<Result> {
  const { front } = request;
  const meta = readMeta(call.meta);
  const fields = metaFields(meta);
  if (typeof fields === "string") throw invalidParams(fields);
  const { tool, asking, isKnown } = resolveCall(request, call, fields);
  for (const [name, value] of asking.fields ?? []) fields.set(name, value);
  const { onLeave, progress } = call;
  const answer = await ask(request, { ...asking, fields, onLeave, progress });
  if (answer === undefined) throw internalError(UNRECORDED, {});
  const context = { answer, serverId: front.serverId, meta, isCurrent: call.isCurrent };
  const following = followingOf(answer);
  if (following !== undefined) {
    const { route } = answer.exchange;
    // A call that will be made is kept; of some endpoints nothing of that may be.
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
  const isStateRefused = status === 400 && answer.exchange.entryRefusal?.code === STATE_INVALID;
  if (isStateRefused) throw stateRefused(context);
  if (!isKnown) throw unknownTool(call.name, context);
  return refusalResult(context);
}

/** Undefined: the client knows no tasks, or there is no room for one more. */
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
