/**
 * Tools of MCP servers behind endpoints, called only with the definition that the operator
 * reviewed. The server's words about itself never reach the caller; every failure is one of the
 * `upstream_*` errors or an error that the operator mapped. Operators answer questions in the
 * middle of a call.   AGTP-API §12.3
 */
import { Deadline } from "../../base/deadline.ts";
import type { JsonRecord } from "../../base/json-value.ts";
import { tellingOf } from "../../base/leaving.ts";
import { reasonOf } from "../../base/thrown.ts";
import { DEFINITION_CHANGED, type McpToolBinding } from "../../endpoint/endpoint.ts";
import { propertiesOf } from "../../endpoint/input-shape.ts";
import { fillArguments } from "../../endpoint/tool-arguments.ts";
import type { JsonSchema } from "../../schema/json-schema.ts";
import { isStoreUnavailable } from "../../state/store-fault.ts";
import type {
  AwaitedAnswer,
  CallUpstream,
  UpstreamHandler,
  UpstreamProgress,
} from "../call-upstream.ts";
import type { Call, HandlerError, HandlerResult } from "../handler.ts";
import { askBack, resumptionOf } from "./ask-back.ts";
import type { CallListener } from "./held-calls.ts";
import type { McpServer, PinnedAnswer } from "./mcp-server.ts";
import type { Secrets } from "./read-settings.ts";
import type { ToolPins } from "./tool-pins.ts";
import { type ResultOptions, readToolResult, toolFailure } from "./tool-result.ts";

interface McpToolParts {
  readonly server: McpServer;
  readonly pins: Pick<ToolPins, "pinOf">;
  readonly outputSchema: JsonSchema;
}

/** Creates the handler of a server's tool. */
export function createMcpTool(binding: McpToolBinding, parts: McpToolParts): UpstreamHandler {
  const { server, outputSchema } = parts;
  const { secrets, settings } = server;
  const toolError = binding.errorMap["tool_error"] ?? "upstream_error";
  const reading = { toolError, isObjectWanted: wantsObject(outputSchema), secrets };

  return async (call, { upstream = {} } = {}) => {
    const deadline = new Deadline({ signals: [call.signal], timeoutMs: settings.timeoutMs });
    const { signal } = deadline;
    try {
      const onProgress = upstream.onProgress && progressReader(upstream.onProgress, secrets);
      const answer = await callServer(binding, parts, { call, upstream, signal, onProgress });
      return await outcomeOf(answer, { upstream, server, reading });
    } catch (error) {
      // A question that could not be stored is not a failure of the server.
      if (isStoreUnavailable(error)) throw error;
      const failure = toolFailure(error, signal.aborted, secrets);
      logFailure(call, failure, binding, secrets.conceal(reasonOf(error)));
      return failure;
    } finally {
      deadline.clear();
    }
  };
}

interface Calling extends CallListener {
  readonly call: Call;
  readonly upstream: CallUpstream;
}

/** Begins or resumes the call; undefined if the server's held call is gone. */
async function callServer(
  binding: McpToolBinding,
  { server, pins }: McpToolParts,
  { call, upstream, signal, onProgress }: Calling,
): Promise<PinnedAnswer | undefined> {
  const resumption = resumptionOf(upstream.answer);
  if (resumption?.kind === "held") {
    return server.resume(resumption.id, resumption.content, { signal, onProgress });
  }
  const { server: to, tool: operation } = binding;
  return tellingOf({ kind: "mcp", to, operation }, (trace) =>
    server.call({
      ...{ tool: operation, pin: pins.pinOf(binding), signal, trace },
      arguments: fillArguments(binding.arguments, call.input),
      ...(onProgress && { onProgress }),
      ...(resumption && { input: resumption.input }),
      ...(upstream.ask && call.agentId !== undefined ? { caller: call.agentId } : {}),
    }),
  );
}

interface Reading {
  readonly upstream: CallUpstream;
  readonly server: McpServer;
  readonly reading: ResultOptions;
}

async function outcomeOf(
  answer: PinnedAnswer | undefined,
  { upstream, server, reading }: Reading,
): Promise<HandlerResult | AwaitedAnswer> {
  switch (answer?.kind) {
    case undefined: {
      const message = "the call that asked is gone with its connection: call again without its id";
      return { error: "upstream_connection_error", message };
    }
    case "result":
      return readToolResult(answer.result, reading);
    case "changed": {
      const message = "the tool is not the one that was reviewed; an operator has to look at it";
      return { error: DEFINITION_CHANGED, message };
    }
    case "held":
    case "input-required":
      return askBack(answer, upstream, server);
  }
}

/** Returns true if the endpoint's body is the JSON object that a tool returns as text. */
function wantsObject(schema: JsonSchema): boolean {
  const properties = Object.keys(propertiesOf(schema));
  return properties.length > 0 && !properties.includes("content");
}

/** Logs for the operator what the caller is not told: the tool, and the system's error. */
function logFailure(
  call: Call,
  failure: HandlerError,
  { server, tool }: McpToolBinding,
  cause: string,
): void {
  if (call.signal.aborted) return;
  const fields = { mcp_server: server, mcp_tool: tool, error: failure.error, cause };
  call.log.warn(fields, "upstream call failed");
}

const MAX_MESSAGE = 256;
/** The burst of progress steps; later ones are GAP_MS apart, and those in between are dropped. */
const AT_ONCE = 10;
const GAP_MS = 100;
/** The maximum number of progress steps that a caller gets in one call. */
const MOST = 1_000;

/**
 * Forwards the progress of an MCP server's call, bounded in length and rate, increasing as the
 * protocol demands, with the server's secrets removed.   MCP "Progress"
 */
export function progressReader(
  tell: (progress: UpstreamProgress) => void,
  secrets: Secrets,
  now: () => number = () => performance.now(),
): (progress: JsonRecord) => void {
  let last = Number.NEGATIVE_INFINITY;
  let count = 0;
  // The time at which the steps sent so far have used up their gaps.
  let evenAt = Number.NEGATIVE_INFINITY;
  return ({ progress, total, message }) => {
    if (typeof progress !== "number" || !(progress > last)) return;
    const isEnd = typeof total === "number" && progress >= total && last < total;
    const at = Math.max(now(), evenAt);
    if (count >= MOST || (!isEnd && at - now() > (AT_ONCE - 1) * GAP_MS)) return;
    [evenAt, last, count] = [at + GAP_MS, progress, count + 1];
    tell({
      progress,
      ...(typeof total === "number" && Number.isFinite(total) ? { total } : {}),
      ...(typeof message === "string"
        ? { message: secrets.conceal(message).slice(0, MAX_MESSAGE) }
        : {}),
    });
  };
}
