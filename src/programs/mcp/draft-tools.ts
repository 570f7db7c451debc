/**
 * Drafts endpoints for the tools of an MCP server, to be reviewed. A list of tools is similar to an
 * OpenAPI document, with less detail: it is converted to one, and imported. A server's statements
 * on its tools' effects are marked as unverified.
 */
import { given, type JsonRecord, recordIn, textsIn } from "../../base/json-value.ts";
import type { Catalog } from "../../catalog/catalog.ts";
import { methodNames } from "../../catalog/path-grammar.ts";
import { DEFINITION_CHANGED, type Impact, UPSTREAM_ERRORS } from "../../endpoint/endpoint.ts";
import { definitionPin, type ToolDefinition } from "../../handlers/mcp/tool-pins.ts";
import type { PairRules } from "../../openapi/assign-pairs.ts";
import { makePath } from "../../openapi/endpoint-path.ts";
import { SchemaComponents } from "../../openapi/export-schema.ts";
import { EXTENSION } from "../../openapi/extension.ts";
import { type ImportedEndpoint, importDocument } from "../../openapi/import-document.ts";
import { findEndpointFault, type Review, reviewedText } from "../../openapi/import-operation.ts";
import { containsNull, withoutNulls } from "../../openapi/schema-dialect.ts";
import { kebab, onOneLine, UniqueNames, wordsOf } from "../../openapi/words.ts";
import { mapSubschemas } from "../../schema/local-reference.ts";
import { closeInput } from "./close-input.ts";

interface DraftedTool {
  readonly tool: string;
  readonly pin: string;
  readonly method: string;
  readonly path: string;
  /** Relative to the directory of endpoints. */
  readonly file: string;
  /** The content of `[endpoint]`. */
  readonly table: JsonRecord;
  readonly text: string;
  readonly reviews: readonly Review[];
}

export interface DraftedTools {
  readonly tools: readonly DraftedTool[];
  readonly leftOut: readonly { readonly tool: string; readonly reason: string }[];
}

/** Verbs at the beginning of tool names, and the corresponding methods. */
const METHODS: Readonly<Record<string, string>> = {
  ...{ get: "FETCH", read: "FETCH", show: "FETCH", load: "FETCH", download: "FETCH" },
  ...{ list: "LIST", find: "SEARCH", lookup: "SEARCH", query: "SEARCH", add: "CREATE" },
  ...{ new: "CREATE", insert: "CREATE", make: "CREATE", delete: "REMOVE", edit: "MODIFY" },
  ...{ write: "REPLACE", put: "REPLACE", patch: "MODIFY", change: "MODIFY", post: "SUBMIT" },
};
const READING = "FETCH";
const ACTING = "PROCESS";
/** The server of the interim document: it is never called, because the handler is replaced. */
const NOWHERE = "https://mcp.invalid";

/** The options of drafting. */
export interface Drafting {
  readonly server: string;
  readonly catalog: Catalog;
  /** True if MCP clients of the daemon see the tools under the server's own names. */
  readonly keepsNames: boolean;
  /** True if the server's name is put before the tools' names, to distinguish those of several servers. */
  readonly isPrefixed: boolean;
}

/** The form of names that `[endpoint] tool` accepts. */
const TOOL_NAME = /^[A-Za-z0-9_-]{1,64}$/;

/** Drafts an endpoint for each tool of a server. */
export function draftTools(
  definitions: readonly ToolDefinition[],
  drafting: Drafting,
): DraftedTools {
  const { server, catalog } = drafting;
  if (definitions.length === 0) return { tools: [], leftOut: [] };
  const names = methodNames(catalog, []);
  const document = toolsDocument(server, definitions, { catalog, names });
  const result = importDocument(document, { catalog });
  if (result.kind === "fault") {
    return {
      tools: [],
      leftOut: definitions.map(({ name }) => ({ tool: name, reason: result.message })),
    };
  }
  const { endpoints, leftOut } = result.imported;
  const files = new UniqueNames("-");
  const tools: DraftedTool[] = [];
  const missing = leftOut.map(({ operation, reason }) => ({
    tool: toolAt(operation, definitions)?.name ?? operation,
    reason,
  }));
  for (const endpoint of endpoints) {
    const definition = toolAt(endpoint.operation.path, definitions);
    if (definition === undefined) continue;
    const base = kebab(definition.name) || "tool";
    const file = `${files.take(drafting.isPrefixed ? `${kebab(server)}-${base}` : base)}.toml`;
    const draft = (one: ImportedEndpoint): DraftedTool =>
      draftTool(drafting, definition, one, file);
    const faultOf = (one: ImportedEndpoint): string | undefined =>
      isWrapped(one)
        ? UNNAMED
        : findEndpointFault(draft(one).text, { variables: [] }, { catalog, names });
    const { inputSchema } = definition;
    const own = [definition, { inputSchema }].map((schemas) => withOwnSchemas(endpoint, schemas));
    const chosen = own.find((one) => faultOf(one) === undefined) ?? endpoint;
    const fault = faultOf(chosen);
    if (fault === undefined) tools.push(draft(chosen));
    else missing.push({ tool: definition.name, reason: fault });
  }
  return { tools, leftOut: missing };
}

const UNNAMED = "its arguments cannot be named one by one, as those of an endpoint are";

/** True if the input was wrapped in a single field, which the tool does not have. */
function isWrapped({ table }: ImportedEndpoint): boolean {
  return recordIn(table["handler"])["body_field"] !== undefined;
}

function toolsDocument(
  server: string,
  definitions: readonly ToolDefinition[],
  vocabulary: PairRules,
): JsonRecord {
  const components = new SchemaComponents();
  const adopt = (schema: JsonRecord, name: string): JsonRecord => {
    const { $schema: _, $defs: __, definitions: ___, ...rest } = schema;
    return components.adopt(schema, name)(rest);
  };
  const operations = definitions.map((definition, index) => {
    const { name, title, description, inputSchema, outputSchema } = definition;
    const input = adopt(inputSchema, `${name}_input`);
    const output = outputSchema === undefined ? CONTENT : adopt(outputSchema, `${name}_output`);
    const { method, path } = pairOf(server, definition, vocabulary);
    const operation = {
      operationId: name,
      tags: [server],
      ...given({ summary: title, description }),
      ...{ [EXTENSION.method]: method, [EXTENSION.path]: path },
      requestBody: { required: true, content: { "application/json": { schema: input } } },
      responses: {
        200: { description: "", content: { "application/json": { schema: output } } },
      },
    };
    return [`/tools/${index}`, { post: operation }] as const;
  });
  return {
    openapi: "3.1.0",
    info: { title: server, version: "1.0.0" },
    servers: [{ url: NOWHERE }],
    paths: Object.fromEntries(operations),
    components: { schemas: components.schemas },
  };
}

/** The output schema of a result without structured content. */
const CONTENT = {
  type: "object",
  required: ["content"],
  properties: {
    content: { type: "array", items: { type: "object" }, description: "Parts, as MCP has them." },
  },
};

function pairOf(
  server: string,
  { name, annotations }: ToolDefinition,
  { catalog, names }: PairRules,
): { readonly method: string; readonly path: string } {
  const [first = "", ...rest] = wordsOf(name);
  const told = [first.toUpperCase(), METHODS[first] ?? ""].find((word) => isFree(word, catalog));
  const guessed = annotations?.["readOnlyHint"] === true ? READING : ACTING;
  const method = told ?? guessed;
  const subject = (told === undefined ? [first, ...rest] : rest).join("-");
  const { path } = makePath(
    `/${kebab(server)}${subject === "" ? "" : `/${subject}`}`,
    method,
    names,
  );
  return { method, path };
}

/** Returns true unless the word is a floor method, which the protocol reserves. */
function isFree(word: string, catalog: Catalog): boolean {
  return catalog.verbs.has(word) && !catalog.embedded.includes(word);
}

/** Uses the tool's own schemas where they are valid for an endpoint. */
function withOwnSchemas(
  endpoint: ImportedEndpoint,
  { inputSchema, outputSchema }: Pick<ToolDefinition, "inputSchema" | "outputSchema">,
): ImportedEndpoint {
  const { schema, isNameless } = closeInput(inputSchema);
  const input = writable(schema);
  const own = {
    ...given({ input_schema: input, output_schema: writable(outputSchema) }),
  };
  const { handler, ...rest } = endpoint.table;
  const replaced = Object.keys(own).map((name) => `endpoint.${name}`);
  const kept = endpoint.reviews.filter(({ key }) => !replaced.some((name) => key.startsWith(name)));
  return {
    ...endpoint,
    table: { ...rest, ...own, ...(input === undefined ? { handler } : {}) },
    reviews: input !== undefined && isNameless ? [...kept, NAMELESS] : kept,
  };
}

const NAMELESS: Review = {
  key: "",
  message: "it takes arguments of any name, which are refused here",
};

/** Converts a schema to one that TOML can express; undefined if it needs null. */
function writable(schema: JsonRecord | undefined): JsonRecord | undefined {
  if (!containsNull(schema)) return schema;
  const written = schema && withoutAnyNull(schema);
  return containsNull(written) ? undefined : written;
}

function withoutAnyNull(schema: JsonRecord): JsonRecord {
  const members = Object.entries(schema).map(([keyword, value]) => [
    keyword,
    mapSubschemas(keyword, value, withoutAnyNull),
  ]);
  return withoutNulls(Object.fromEntries(members));
}

function draftTool(
  { server, keepsNames, isPrefixed }: Drafting,
  definition: ToolDefinition,
  endpoint: ImportedEndpoint,
  file: string,
): DraftedTool {
  const { method, path } = endpoint;
  const pin = definitionPin(definition);
  const { semantic, handler: _, errors: __, ...rest } = endpoint.table;
  const { impact, why } = impactOf(definition);
  const isIdempotent = isHinted(definition, "idempotentHint") || impact === "informational";
  const keptName = isPrefixed ? `${server}_${definition.name}` : definition.name;
  const isKept = keepsNames && TOOL_NAME.test(keptName);
  const table = {
    ...rest,
    required_scopes: scopesFor(impact, textsIn(rest["required_scopes"])),
    ...(isKept ? { tool: keptName } : {}),
    errors: [...UPSTREAM_ERRORS, DEFINITION_CHANGED],
    semantic: { ...(semantic as JsonRecord), impact, is_idempotent: isIdempotent },
    handler: { type: "mcp_tool", server, tool: definition.name, definition: pin },
  };
  const reviews = [
    ...endpoint.reviews.filter(({ key }) => key !== "endpoint.semantic.impact"),
    ...guessReview(definition, method),
    { key: "endpoint.semantic.impact", message: why },
    { key: "endpoint.semantic.is_idempotent", message: "the server's own word, or the strictest" },
    { key: "", message: "who may call it: required_scopes and approval" },
  ];
  const title = `The tool ${onOneLine(definition.name)} of the MCP server ${onOneLine(server)}.`;
  const text = reviewedText(title, table, reviews);
  return { tool: definition.name, pin, method, path, file, table, text, reviews };
}

/** Callers of read-only tools need the read scope only. */
function scopesFor(impact: Impact, scopes: readonly string[]): readonly string[] {
  return impact === "informational" ? scopes.map((one) => one.replace(/:write$/, ":read")) : scopes;
}

function guessReview({ name }: ToolDefinition, method: string): readonly Review[] {
  const [first = ""] = wordsOf(name);
  const isTold = first.toUpperCase() === method || METHODS[first] === method;
  const message = `${method} is a guess, the tool's name begins with no method`;
  return isTold ? [] : [{ key: "endpoint.method", message }];
}

function impactOf(definition: ToolDefinition): { readonly impact: Impact; readonly why: string } {
  if (isHinted(definition, "readOnlyHint")) {
    return { impact: "informational", why: "the server says that it changes nothing" };
  }
  if (definition.annotations?.["destructiveHint"] === false) {
    return { impact: "reversible", why: "the server says that it destroys nothing" };
  }
  return { impact: "irreversible", why: "the strictest there is, the server does not say" };
}

function isHinted({ annotations }: ToolDefinition, hint: string): boolean {
  return annotations?.[hint] === true;
}

/** The tool of an operation, by its position in the document: a blank name is not a valid operation id. */
function toolAt(
  operation: string,
  definitions: readonly ToolDefinition[],
): ToolDefinition | undefined {
  return definitions[Number(operation.slice(operation.lastIndexOf("/") + 1))];
}
