/** The handler table of an endpoint file, as a schema for editors; its readers know the same keys.   AGTP-API §12 */
import {
  choice,
  count,
  map,
  optional,
  type Properties,
  path,
  type Schema,
  table,
  text,
  word,
} from "../schema/section-field.ts";
import { UPSTREAM_METHODS } from "./endpoint.ts";
import { BODY_FORMATS, RESPONSE_FORMATS, VALUE_STYLES } from "./upstream-format.ts";

/** A text that must be written. */
export function required(description: string): Schema {
  return optional(text("", description));
}

/** A text of any form, empty as well: a header's value, a name on the other side. */
const anyText: Schema = { type: "string" };

function names(description: string): Schema {
  return optional(map({}, anyText, description));
}

/** The keys of `type = "registered_function"`. */
export const FUNCTION_KEYS: Properties = {
  type: { const: "registered_function", description: "A function of the deployment" },
  function: required('Module and export under [handlers] root, such as "handlers.book_room"'),
};

/** The keys of `type = "composition"`. */
export const COMPOSITION_KEYS: Properties = {
  type: { const: "composition", description: "A recipe; errors must have composition_failed" },
  recipe: required("Name of the recipe"),
};

/** The keys of an external service that say how values are written. */
export const ENCODING_KEYS: Properties = {
  body_format: choice("json", BODY_FORMATS, "Format of the request body"),
  body_field: required("Input field whose value is the whole body"),
  response_format: choice("json", RESPONSE_FORMATS, "Format of the response body"),
  header_fields: names("Input fields that travel as headers: field to header name"),
  styles: optional(
    map({}, choice("comma", VALUE_STYLES, ""), "Lists and objects in a query or form, by field"),
  ),
};

/** The keys of `type = "external_service"`. */
export const EXTERNAL_SERVICE_KEYS: Properties = {
  type: {
    const: "external_service",
    description: "An HTTPS API; errors must have the upstream_* ones",
  },
  url: required("https URL; {field} is a field of the input"),
  method: optional(choice("GET", UPSTREAM_METHODS, "HTTP method")),
  timeout_seconds: {
    ...{ type: "number", exclusiveMinimum: 0, maximum: 86_400, default: 30 },
    description: "Longest wait for the response",
  },
  ca: optional(path("", "PEM file of the CA to trust instead of the system's")),
  max_response_bytes: count(1_048_576, "Longest response body", 1_073_741_824),
  headers: names("Headers with a fixed value; secrets come from variables of the environment"),
  query: names("Input fields that travel in the query: field to parameter"),
  input_transform: names("Other names of input fields upstream: ours to theirs"),
  output_transform: names("Other names of output fields upstream: ours to theirs"),
  error_map: names('Declared errors by upstream status: "409" = "room_unavailable"'),
  ...ENCODING_KEYS,
};

/** The keys of `type = "mcp_tool"`. */
export const MCP_TOOL_KEYS: Properties = {
  type: { const: "mcp_tool", description: "A tool of an MCP server of [[mcp.servers]]" },
  server: required("Name of the server"),
  tool: required("Name of the tool"),
  definition: optional(word("", "^sha256:[0-9a-f]{64}$", "a pin", "Pin of the tool's definition")),
  arguments: { type: "object", description: "Arguments of the tool, from fields of the input" },
  error_map: table("The declared error of a tool that fails", {
    tool_error: required("Name of the error"),
  }),
};

/** `[endpoint.handler]`: one of the kinds. */
export const handlerSchema: Schema = {
  description: "Who answers: a function, a recipe, an HTTPS API or a tool of an MCP server",
  oneOf: [
    table("", FUNCTION_KEYS, ["type", "function"]),
    table("", COMPOSITION_KEYS, ["type", "recipe"]),
    table("", EXTERNAL_SERVICE_KEYS, ["type", "url", "method"]),
    table("", MCP_TOOL_KEYS, ["type", "server", "tool", "definition"]),
  ],
};
