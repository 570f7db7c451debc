/**
 * Reads `[endpoint.handler]`: the handler type, and everything that the type needs. Functions and
 * recipes are resolved when handlers are bound.   AGTP-API §12
 */
import type { DocumentPlace } from "../base/document-place.ts";
import type { Problem } from "../base/problem.ts";
import { isTable, type TomlTable, toJson } from "../base/toml-document.ts";
import {
  DEFINITION_CHANGED,
  type HandlerBinding,
  type McpToolBinding,
  UPSTREAM_ERRORS,
} from "./endpoint.ts";
import { COMPOSITION_KEYS, FUNCTION_KEYS, MCP_TOOL_KEYS } from "./endpoint-file-schema.ts";
import {
  type HandlerContext,
  readExternalService,
  requireUpstreamErrors,
} from "./external-service-table.ts";
import { propertiesOf } from "./input-shape.ts";
import { argumentFields } from "./tool-arguments.ts";

const HANDLER_TYPES = [
  "registered_function",
  "composition",
  "external_service",
  "mcp_tool",
] as const;
const COMPOSITION_ERROR = "composition_failed";
/** The form `a.b.c`: at least a module and an export, each part an identifier. */
const FUNCTION = /^[A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*)+$/;
/** The form `process:function`. */
const PROCESS_FUNCTION = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}:[^\s\p{Cc}]{1,256}$/u;

/** Reads the binding; undefined with problems. */
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

const PIN = /^sha256:[0-9a-f]{64}$/;
const TOOL_ERROR = "tool_error";

/**
 * Reads the handler table of an MCP tool. Refuses an invalid pin, arguments from unknown input
 * fields and undeclared errors. The server is looked up when handlers are bound.   AGTP-API §12.3
 */
function readMcpTool(endpoint: DocumentPlace, context: HandlerContext): McpToolBinding | undefined {
  const table = endpoint.at("handler").record(Object.keys(MCP_TOOL_KEYS));
  if (table === undefined) return undefined;
  const { errors } = context;
  requireUpstreamErrors(endpoint, errors, [...UPSTREAM_ERRORS, DEFINITION_CHANGED]);
  const server = table.at("server").text();
  const tool = table.at("tool").text();
  const definition = readPin(table);
  const template = readArguments(table, context);
  const errorMap = readToolErrors(table, errors);
  if (server === undefined || tool === undefined || definition === undefined) return undefined;
  return {
    type: "mcp_tool",
    ...{ server, tool, definition, errorMap },
    ...(template === undefined ? {} : { arguments: template }),
  };
}

function readPin(table: DocumentPlace): string | undefined {
  const pin = table.at("definition").text();
  if (pin === undefined || PIN.test(pin)) return pin;
  const hint = "agtp-mcp import names the pin of a tool, agtp-mcp pins lists all of them";
  const message = "is no pin, expected sha256: and 64 hexadecimal digits";
  return table.at("definition").fail(message, hint);
}

function readArguments(
  table: DocumentPlace,
  { inputSchema }: HandlerContext,
): Readonly<Record<string, unknown>> | undefined {
  const template = table.at("arguments").optional?.record();
  if (template === undefined) return undefined;
  const fields = propertiesOf(inputSchema);
  const values = template.names.map((name) => [name, toJson(template.at(name).value)] as const);
  for (const [name, value] of values) {
    if (value === undefined) {
      template.at(name).fail("is inf, nan or nested too deeply, expected a JSON value");
    }
    for (const field of argumentFields(value)) {
      if (Object.hasOwn(fields, field)) continue;
      template.at(name).fail(`{${field}} is no field of the input schema`);
    }
  }
  return Object.fromEntries(values);
}

/** Reads the error map, whose only key is `tool_error`, since a tool has no statuses. */
function readToolErrors(
  table: DocumentPlace,
  errors: readonly string[],
): Readonly<Record<string, string>> {
  const map = table.at("error_map").optional?.record([TOOL_ERROR]);
  if (!map?.has(TOOL_ERROR)) return {};
  const name = map.at(TOOL_ERROR).text();
  if (name === undefined) return {};
  if (!errors.includes(name))
    map.at(TOOL_ERROR).fail(`is "${name}", which errors does not declare`);
  return { [TOOL_ERROR]: name };
}

type OlderName = readonly [older: string, newer: string];

/** The key that `reference` stands for, by handler type. */
const REFERENCES: ReadonlyMap<unknown, string> = new Map([
  ["registered_function", "function"],
  ["composition", "recipe"],
  ["external_service", "url"],
]);
const TRANSFORMS: readonly OlderName[] = [
  ["input_map", "input_transform"],
  ["output_map", "output_transform"],
];

/** Renames the older keys of a handler in a file, and reports each. */
export function readOlderHandlerKeys(
  root: TomlTable,
  file: string,
): { readonly table: TomlTable; readonly problems: readonly Problem[] } {
  const { endpoint } = root;
  const handler = isTable(endpoint) ? endpoint["handler"] : undefined;
  if (!isTable(endpoint) || !isTable(handler)) return { table: root, problems: [] };
  const older = olderNames(handler["type"]).filter(([name]) => Object.hasOwn(handler, name));
  if (older.length === 0) return { table: root, problems: [] };
  const members = new Map(Object.entries(handler));
  const problems = older.map(([name, newer]): Problem => {
    const place = { file, key: `endpoint.handler.${name}` };
    const value = members.get(name);
    members.delete(name);
    if (members.has(newer)) {
      return { ...place, message: `stands beside ${newer}, of which it is the older name` };
    }
    members.set(newer, value);
    const hint = `write ${newer} instead`;
    return { ...place, message: `is the older name of ${newer}`, hint, severity: "warning" };
  });
  const renamed = { ...endpoint, handler: Object.fromEntries(members) };
  return { table: { ...root, endpoint: renamed }, problems };
}

/** Returns the older names of a handler type; for other types they are unknown keys. */
function olderNames(type: unknown): readonly OlderName[] {
  const reference = REFERENCES.get(type);
  if (reference === undefined) return [];
  return [["reference", reference], ...(type === "external_service" ? TRANSFORMS : [])];
}
