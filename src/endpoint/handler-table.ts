/**
 * Reads `[endpoint.handler]`: which of the three kinds realises the endpoint, and everything that
 * its kind needs. What a function or a recipe resolves to is decided where handlers are bound.
 * AGTP-API §12
 */

import type { TableReader } from "../base/table-reader.ts";
import type { HandlerBinding } from "./endpoint.ts";
import { type HandlerContext, readExternalService } from "./external-service-table.ts";

const HANDLER_TYPES = ["registered_function", "composition", "external_service"] as const;
const COMPOSITION_ERROR = "composition_failed";
/** `a.b.c`: at least a module and an export, each part an identifier. */
const FUNCTION = /^[A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*)+$/;

/** The binding, or nothing and problems. */
export function readHandler(
  endpoint: TableReader,
  context: HandlerContext,
): HandlerBinding | undefined {
  const table = endpoint.table("handler");
  switch (table?.word("type", HANDLER_TYPES)) {
    case undefined:
      return undefined;
    case "registered_function":
      return readRegisteredFunction(endpoint);
    case "composition":
      return readComposition(endpoint, context);
    case "external_service":
      return readExternalService(endpoint, context);
  }
}

function readRegisteredFunction(endpoint: TableReader): HandlerBinding | undefined {
  const table = endpoint.table("handler", ["type", "function"]);
  const name = table?.text("function");
  if (table === undefined || name === undefined) return undefined;
  if (FUNCTION.test(name)) return { type: "registered_function", function: name };
  const message = `is ${JSON.stringify(name)}, expected a dotted path such as "handlers.book_room"`;
  return table.fail("function", message);
}

function readComposition(
  endpoint: TableReader,
  { errors }: HandlerContext,
): HandlerBinding | undefined {
  const table = endpoint.table("handler", ["type", "recipe"]);
  if (!errors.includes(COMPOSITION_ERROR)) {
    endpoint.fail(
      "errors",
      `must include "${COMPOSITION_ERROR}", which a composition answers with`,
    );
  }
  const recipe = table?.text("recipe");
  return recipe === undefined ? undefined : { type: "composition", recipe };
}
