/**
 * The schema of an endpoint file for editors, including the handler table. Its key tables are those
 * of the readers; `agtpd --check` reports problems that depend on the deployment, such as a method
 * that the catalog lacks.   AGTP-API §5, §6, §12, §13.2
 */
import { SCHEMA_TYPES } from "../schema/schema-vocabulary.ts";
import {
  agtpPath,
  choice,
  count,
  dottedPath,
  flag,
  list,
  map,
  methodName,
  optional,
  type Properties,
  path,
  type Schema,
  scopeToken,
  table,
  word,
} from "../schema/section-field.ts";
import { CAPABILITIES, IMPACTS, UPSTREAM_METHODS } from "./endpoint.ts";
import { BODY_FORMATS, RESPONSE_FORMATS, VALUE_STYLES } from "./upstream-format.ts";

/** A non-blank text, as the file readers accept it: of any length, and possibly of several lines. */
export function anyText(description: string): Schema {
  return { type: "string", description, pattern: "\\S", expected: "text" };
}

function names(description: string, keys: Schema = {}): Schema {
  return optional(map(keys, { type: "string", pattern: "\\S" }, description));
}

/** A list without duplicates. */
export function distinct(items: Schema, description: string): Schema {
  return { ...optional(list(items, description)), uniqueItems: true };
}

/** The keys of `type = "registered_function"`. */
export const FUNCTION_KEYS: Properties = {
  type: { const: "registered_function", description: "A function of the deployment" },
  function: optional(
    dottedPath(
      'Module and export under [handlers] root, or a function of a process, "booking:book_room"',
    ),
  ),
};

/** The keys of `type = "composition"`. */
export const COMPOSITION_KEYS: Properties = {
  type: { const: "composition", description: "A recipe; errors must have composition_failed" },
  recipe: anyText("Name of the recipe"),
};

/** The keys of an external service that set the encoding of values. */
export const ENCODING_KEYS: Properties = {
  body_format: choice("json", BODY_FORMATS, "Format of the request body"),
  body_field: anyText("Input field whose value is the whole body"),
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
  url: anyText("https URL; {field} is a field of the input"),
  method: optional(choice("GET", UPSTREAM_METHODS, "HTTP method")),
  timeout_seconds: {
    ...{ type: "number", minimum: 0.001, maximum: 86_400, default: 30 },
    description: "Longest wait for the response",
  },
  ca: optional(path("", "PEM file of the CA to trust instead of the system's")),
  max_response_bytes: count(1_048_576, "Longest response body", 1_073_741_824),
  headers: names("Headers with a fixed value; secrets come from variables of the environment"),
  query: names("Input fields that travel in the query: field to parameter"),
  input_transform: names("Other names of input fields upstream: ours to theirs"),
  output_transform: names("Other names of output fields upstream: ours to theirs"),
  error_map: names('Declared errors by upstream status: "409" = "room_unavailable"', {
    pattern: "^[1-5]\\d\\d$",
  }),
  ...ENCODING_KEYS,
};

/** The keys of `type = "mcp_tool"`. */
export const MCP_TOOL_KEYS: Properties = {
  type: { const: "mcp_tool", description: "A tool of an MCP server of [[mcp.servers]]" },
  server: anyText("Name of the server"),
  tool: anyText("Name of the tool"),
  definition: optional(word("", "^sha256:[0-9a-f]{64}$", "a pin", "Pin of the tool's definition")),
  arguments: { type: "object", description: "Arguments of the tool, from fields of the input" },
  error_map: table("The declared error of a tool that fails", {
    tool_error: anyText("Name of the error"),
  }),
};

/** `[endpoint.handler]`, of one of the handler types. */
const handlerSchema: Schema = {
  description: "Who answers: a function, a recipe, an HTTPS API or a tool of an MCP server",
  oneOf: [
    table("", FUNCTION_KEYS, ["type", "function"]),
    table("", COMPOSITION_KEYS, ["type", "recipe"]),
    table("", EXTERNAL_SERVICE_KEYS, ["type", "url", "method"]),
    table("", MCP_TOOL_KEYS, ["type", "server", "tool", "definition"]),
  ],
};

/** The keys of a semantic block, which are all required.   §7.1 */
export const SEMANTIC_KEYS: Properties = {
  intent: anyText("Purpose of a call, in a sentence"),
  actor: anyText("Who calls: agent, or another name"),
  outcome: anyText("Result of a call, in a sentence"),
  capability: optional(choice("retrieval", CAPABILITIES, "Kind of work")),
  confidence: { type: "number", minimum: 0, maximum: 1, description: "How sure the above is" },
  impact: optional(choice("informational", IMPACTS, "Lasting effect of a call")),
  is_idempotent: optional(flag(false, "A second call changes nothing more")),
};

export const semanticSchema: Schema = table(
  "Purpose and effect, by which agents choose",
  SEMANTIC_KEYS,
  Object.keys(SEMANTIC_KEYS),
);

/** The keys of a field of a field list.   §13.3 */
export const FIELD_KEYS: Properties = {
  name: anyText("Name of the field"),
  type: optional(
    choice(
      "string",
      SCHEMA_TYPES.filter((type) => type !== "null"),
      "JSON type",
    ),
  ),
  description: anyText("Meaning of the field"),
  format: anyText("Format of a string, such as uuid, date or email"),
  enum: { type: "array", minItems: 1, description: "The only values that it may have" },
  schema: { type: "object", description: "JSON Schema of an object or array" },
};

function version(description: string): Schema {
  const pattern = "^[\\x21-\\x3a\\x3c-\\x7e]{1,64}$";
  return optional(word("", pattern, 'a version like "2.1.0"', description));
}

/** The keys of `[endpoint.deprecated]`.   §6.5 */
export const DEPRECATION_KEYS: Properties = {
  deprecated_in: version("Version that this endpoint is deprecated since"),
  removed_in: version("Version that will not have it any more"),
  successor: {
    ...optional(
      table("The endpoint to call instead", {
        method: optional(methodName("Its method")),
        path: optional(agtpPath("Its path")),
      }),
    ),
    minProperties: 1,
  },
};

const fields = optional(list(table("", FIELD_KEYS, ["name"]), ""));
const errorName = word("", "^[A-Za-z][A-Za-z0-9_.-]{0,127}$", "an error name", "Name of an error");
const errorNames = distinct(errorName, "The only errors that the handler may answer with");

/** The keys of `[endpoint]`. */
export const ENDPOINT_KEYS: Properties = {
  method: optional(methodName("A method of the catalog, or of [policies.methods] custom")),
  path: optional(agtpPath("Path; {name} is a field of the input, and no part is a method's name")),
  description: anyText("What agents read of it"),
  namespace: anyText("Group in listings"),
  tool: optional(word("", "^[A-Za-z0-9_-]{1,64}$", "a tool name", "Name as a tool of MCP")),
  semantic: optional(semanticSchema),
  input_schema: { type: "object", description: "JSON Schema 2020-12 of the input" },
  output_schema: { type: "object", description: "JSON Schema 2020-12 of the output" },
  input: optional(
    table("Fields of the input, instead of input_schema", {
      required: { ...fields, description: "Fields that a call must have" },
      optional: { ...fields, description: "Fields that a call may have" },
    }),
  ),
  output: { ...fields, description: "Fields of the output, instead of output_schema" },
  errors: {
    description: "The only errors that the handler may answer with",
    oneOf: [errorNames, table("", { list: errorNames })],
  },
  handler: handlerSchema,
  required_scopes: distinct(
    scopeToken("domain:action"),
    "Scopes that a caller must hold, all of them",
  ),
  approval: optional(choice("operator", ["operator"], "Who approves each call before it runs")),
  deprecated: optional(table("Notice that it will go", DEPRECATION_KEYS, ["deprecated_in"])),
};

export const endpointFileSchema: Schema = {
  title: "An endpoint file",
  ...optional(
    table(
      "One method on one path: meaning, input, output, and who answers",
      {
        endpoint: table("The endpoint", ENDPOINT_KEYS, [
          "method",
          "path",
          "description",
          "semantic",
          "handler",
        ]),
      },
      ["endpoint"],
    ),
  ),
};

/** `[endpoints]` or `[recipes]` */
export interface FilesConfig {
  readonly dir: string;
}

/** The schema of `[endpoints]`. */
export const endpointsSection: Schema = table("Endpoint files", {
  dir: path("endpoints", "Directory of endpoint files, searched recursively"),
});

/** The schema of `[recipes]`. */
export const recipesSection: Schema = table("Composition recipes", {
  dir: path("recipes", "Directory of recipe files"),
});
