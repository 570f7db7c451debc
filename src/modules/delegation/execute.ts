/**
 * EXECUTE: dispatches the named action through every gate, as its caller, and answers with the action's own status and
 * result; a refusal of the action is passed on unchanged. 400 unsupported carried protocol · 404 no such action · 422
 * malformed, or EXECUTE of itself.   AGTP "EXECUTE"
 */
import { makeAround } from "../../base/exact-numbers.ts";
import type { JsonRecord } from "../../base/json-value.ts";
import { sourceOf } from "../../base/kept-text.ts";
import type { Pair } from "../../catalog/pair.ts";
import type { Refusal } from "../../dispatch/refusals/refusal.ts";
import type { LeadsTo, RouteHandler } from "../../dispatch/routes/route.ts";
import type { CausingRequest } from "../../dispatch/stream-events.ts";
import type { DispatchResult, HandlerSuccess } from "../../handlers/handler.ts";
import { isDone } from "../../wire/message.ts";
import {
  describeAction,
  type ExecutionRequest,
  mcpResult,
  readExecution,
} from "./execute-request.ts";
import { type InnerAnswer, readInnerAnswer } from "./outcome.ts";
import type { RecentRuns, RunEnd } from "./recent-runs.ts";
import type { ActionResolver } from "./resolver.ts";

interface ExecuteOptions {
  readonly resolver: ActionResolver;
  readonly runs: RecentRuns;
  /** True if the protocol itself answers the pair. */
  isFloor(pair: Pair): boolean;
}

/** Parameters of EXECUTE; others are allowed, since a carried message may be the whole body. */
export const EXECUTE_SCHEMA: Readonly<Record<string, unknown>> = {
  type: "object",
  properties: {
    action: { type: ["string", "object"], description: "A pair, or the name of a tool or agent" },
    plan_id: { type: "string", description: "An older name of action" },
    parameters: { type: "object" },
    payload: {},
    payload_type: { type: "string", maxLength: 256 },
    idempotency_key: { type: "string", description: "The same as the Idempotency-Key header" },
    context: { type: "object" },
  },
  examples: [{ action: "QUERY", parameters: { intent: "free rooms" } }],
};

/** The handler of EXECUTE on "/". */
export function executeHandler(options: ExecuteOptions): RouteHandler {
  return async (call, exchange) => {
    const request = readExecution(call.input, exchange.header("content-type"));
    if ("kind" in request) return request;
    const pair = options.resolver.resolve(request.action, request.input, call.agentId);
    if ("kind" in pair) return pair;
    return execute(options, request, pair, { call, exchange });
  };
}

/** Returns the pair that a call of EXECUTE will dispatch, with its input. */
export function executionTarget(resolver: ActionResolver): LeadsTo {
  return (parameters, callerId) => {
    const request = readExecution(parameters);
    if ("kind" in request) return undefined;
    const pair = resolver.resolve(request.action, request.input, callerId);
    return "kind" in pair ? undefined : { ...pair, input: request.input };
  };
}

async function execute(
  options: ExecuteOptions,
  request: ExecutionRequest,
  pair: Pair,
  { call, exchange }: CausingRequest,
): Promise<HandlerSuccess | Refusal> {
  const { runs, resolver } = options;
  const { taskId, principalId } = call;
  const action = describeAction(request.action);
  const owner = exchange.caller.document?.agentId;
  const runId = await runs.begin(owner, { kind: "execute", action, taskId, principalId });
  let answer: InnerAnswer | undefined;
  try {
    const result = await call.dispatch(pair.method, pair.path, request.input);
    const isWrapped = options.isFloor(pair);
    answer = readInnerAnswer(result, isWrapped);
    if (answer.kind === "output")
      return success(request, pair, answer, { call, exchange, result, runId });
    if (answer.code !== "endpoint-not-found") return answer;
    answer = resolver.notFound(request.action, call.agentId);
    return answer;
  } finally {
    await runs.end(runId, outcomeOf(answer));
  }
}

/** The end of a run; an undefined answer is an internal fault, of which the caller learns only the id. */
function outcomeOf(answer: InnerAnswer | undefined): RunEnd {
  if (answer === undefined) return { state: "failed", status: 500, code: undefined };
  const { status } = answer;
  const code = answer.kind === "output" ? undefined : answer.code;
  if (answer.kind === "output" && isDone(status)) return { state: "completed", status, code };
  return { state: status === 500 ? "failed" : "refused", status, code };
}

interface Told extends CausingRequest {
  readonly result: DispatchResult;
  readonly runId: string;
}

/** Wraps the action's output in AGTP's envelope; 204 becomes 200, since it allows no body. */
function success(
  { carried }: ExecutionRequest,
  { method, path }: Pair,
  { status: inner, output }: Extract<InnerAnswer, { readonly kind: "output" }>,
  { call, exchange, result, runId }: Told,
): HandlerSuccess {
  const status = inner === 204 ? 200 : inner;
  const { taskId, agentId } = call;
  const { headers } = result;
  const hasHeaders = Object.keys(headers).length > 0;
  const bodyOf = (told: unknown): JsonRecord => ({
    status,
    ...(taskId === undefined ? {} : { task_id: taskId }),
    run_id: runId,
    action: { method, path, status: inner, ...(hasHeaders ? { headers } : {}) },
    attribution: { agent_id: agentId, response_id: exchange.responseId },
    result: told,
  });
  if (carried === undefined) return { status, headers, body: makeAround(output ?? null, bodyOf) };
  const text = sourceOf(output);
  const body = makeAround(output, (value) =>
    bodyOf(mcpResult(value, carried, { text, isError: !isDone(inner) })),
  );
  return { status, headers, body };
}
