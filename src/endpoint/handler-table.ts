/**
 * Reads `[endpoint.handler]`: which of the kinds realises the endpoint, and everything that
 * its kind needs. What a function or a recipe resolves to is decided where handlers are bound.
 * AGTP-API §12
 */

import type { DocumentPlace } from "../base/document-place.ts";
import type { HandlerBinding } from "./endpoint.ts";
import { type HandlerContext, readExternalService } from "./external-service-table.ts";
import { COMPOSITION_KEYS, FUNCTION_KEYS } from "./handler-schema.ts";
import { readMcpTool } from "./mcp-tool-table.ts";

const HANDLER_TYPES = [
  "registered_function",
  "composition",
  "external_service",
  "mcp_tool",
] as const;
const COMPOSITION_ERROR = "composition_failed";
/** `a.b.c`: at least a module and an export, each part an identifier. */
const FUNCTION = /^[A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*)+$/;
/** `process:function` */
const PROCESS_FUNCTION = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}:[^\s\p{Cc}]{1,256}$/u;

/** The binding, or nothing and problems. */
export function readHandler(
  endpoint: DocumentPlace,
  context: HandlerContext,
): HandlerBinding | undefined {
  const table = endpoint.at("handler").record();
  switch (table?.at("type").word(HANDLER_TYPES)) {
    case undefined:
      return undefined;
    case "registered_function":
      return readRegisteredFunction(endpoint);
    case "composition":
      return readComposition(endpoint, context);
    case "external_service":
      return readExternalService(endpoint, context);
    case "mcp_tool":
      return readMcpTool(endpoint, context);
  }
}

function readRegisteredFunction(endpoint: DocumentPlace): HandlerBinding | undefined {
  const table = endpoint.at("handler").record(Object.keys(FUNCTION_KEYS));
  const name = table?.at("function").text();
  if (table === undefined || name === undefined) return undefined;
  const isReference = FUNCTION.test(name) || PROCESS_FUNCTION.test(name);
  if (isReference) return { type: "registered_function", function: name };
  const message = `is ${JSON.stringify(name)}, expected a dotted path such as "handlers.book_room", or "booking:book_room" of a process`;
  return table.at("function").fail(message);
}

function readComposition(
  endpoint: DocumentPlace,
  { errors }: HandlerContext,
): HandlerBinding | undefined {
  const table = endpoint.at("handler").record(Object.keys(COMPOSITION_KEYS));
  if (!errors.includes(COMPOSITION_ERROR)) {
    endpoint
      .at("errors")
      .fail(`must include "${COMPOSITION_ERROR}", which a composition answers with`);
  }
  const recipe = table?.at("recipe").text();
  return recipe === undefined ? undefined : { type: "composition", recipe };
}
