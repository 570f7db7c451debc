/**
 * Tools of MCP servers: a tool behind an endpoint, with the definition that the operator reviewed or
 * not at all. What the server says about itself never reaches the caller; every way in which it can
 * fail is one of the `upstream_*` errors or an error that the operator mapped.   AGTP-API §12.3
 */
import { Deadline } from "../../base/deadline.ts";
import { reasonOf } from "../../base/thrown.ts";
import { DEFINITION_CHANGED, type McpToolBinding } from "../../endpoint/endpoint.ts";
import { propertiesOf } from "../../endpoint/input-shape.ts";
import { fillArguments } from "../../endpoint/tool-arguments.ts";
import type { JsonSchema } from "../../schema/json-schema.ts";
import type { Call, Handler, HandlerError, HandlerResult } from "../handler.ts";
import type { McpServer, PinnedAnswer } from "./mcp-server.ts";
import { toolFailure } from "./tool-failure.ts";
import type { ToolPins } from "./tool-pins.ts";
import { readToolResult } from "./tool-result.ts";

/** What a tool is bound with. */
export interface McpToolParts {
  readonly server: McpServer;
  readonly pins: Pick<ToolPins, "pinOf">;
  readonly outputSchema: JsonSchema;
}

/** Binds a tool of a server. */
export function createMcpTool(
  binding: McpToolBinding,
  { server, pins, outputSchema }: McpToolParts,
): Handler {
  const { secrets, settings } = server;
  const toolError = binding.errorMap["tool_error"] ?? "upstream_error";
  const reading = { toolError, isObjectWanted: wantsObject(outputSchema), secrets };

  return async (call) => {
    const deadline = new Deadline({ signals: [call.signal], timeoutMs: settings.timeoutMs });
    try {
      const answer = await server.call({
        tool: binding.tool,
        pin: pins.pinOf(binding),
        arguments: fillArguments(binding.arguments, call.input),
        signal: deadline.signal,
      });
      return answerOf(answer, (result) => readToolResult(result, reading));
    } catch (error) {
      const failure = toolFailure(error, deadline.signal.aborted, secrets);
      logFailure(call, failure, binding, secrets.conceal(reasonOf(error)));
      return failure;
    } finally {
      deadline.clear();
    }
  };
}

function answerOf(
  answer: PinnedAnswer,
  read: (result: Readonly<Record<string, unknown>>) => HandlerResult,
): HandlerResult {
  switch (answer.kind) {
    case "result":
      return read(answer.result);
    case "changed": {
      const message = "the tool is not the one that was reviewed; an operator has to look at it";
      return { error: DEFINITION_CHANGED, message };
    }
    case "input-required":
      return { error: "upstream_error", message: "the upstream asks for more input" };
  }
}

/** Tells whether a text that is a JSON object is what the endpoint answers with. */
function wantsObject(schema: JsonSchema): boolean {
  const properties = Object.keys(propertiesOf(schema));
  return properties.length > 0 && !properties.includes("content");
}

/** The operator gets what the caller does not: where the call went, and what the system said. */
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
