/**
 * A tool as `tools/list` describes it, in the words of each protocol: the semantic block is its
 * hints, the schemas are its own.   MCP "Tools", AGTP-API §7.1
 */
import type { Tool } from "@modelcontextprotocol/server";
import { isRecord, type JsonRecord, valueAt } from "../../../base/json-value.ts";
import { decodeUtf8 } from "../../../base/utf8.ts";
import { toolHints } from "../../../dispatch/tools/tool.ts";
import type { EndpointDefinition } from "../../../endpoint/endpoint.ts";
import type { JsonSchema } from "../../../schema/json-schema.ts";
import { isContentSchema } from "./content.ts";

/** Both descriptions of a tool. */
export interface ToolDescription {
  /** 2026-07-28 */
  readonly current: Tool;
  /** 2025-11-25 */
  readonly older: Tool;
  /** True if the older protocol is told what the tool gives. */
  readonly isOutputTold: boolean;
  /** True if it gives MCP's own content, of whose form nobody has to be told. */
  readonly isContent: boolean;
  /** Arguments that are told in header fields as well. */
  readonly headers: readonly ParamHeader[];
}

const texts = new WeakMap<Tool, string>();

/** A tool as JSON; encoded once, in whatever lists it stands. */
export function toolText(tool: Tool): string {
  const text = texts.get(tool) ?? JSON.stringify(tool);
  texts.set(tool, text);
  return text;
}

/** Describes the tool that an endpoint is. */
export function describeTool(name: string, definition: EndpointDefinition): ToolDescription {
  return withOutput(baseOf(name, definition), definition.outputSchema);
}

/** The descriptions of a tool whose output is known. */
export function withOutput(older: Tool, outputSchema: JsonSchema): ToolDescription {
  const isContent = isContentSchema(outputSchema);
  const headers = readParamHeaders(older.inputSchema);
  if (isContent || Object.keys(outputSchema).length === 0) {
    return { current: older, older, isOutputTold: false, isContent, headers };
  }
  const isOutputTold = isObjectSchema(outputSchema);
  const current = { ...older, outputSchema } as Tool;
  return { current, older: isOutputTold ? current : older, isOutputTold, isContent, headers };
}

function baseOf(name: string, definition: EndpointDefinition): Tool {
  const { method, path, description, inputSchema, deprecated } = definition;
  return {
    name,
    title: `${method} ${path}`,
    description: deprecated === undefined ? description : `${description} (deprecated)`,
    // The library's type has JSON values alone in it; what a file of TOML says is nothing else.
    inputSchema: toolInputSchema(inputSchema) as Tool["inputSchema"] & JsonSchema,
    annotations: { ...toolHints(definition) },
  };
}

/**
 * Schemas of endpoints as MCP wants them of tools. Both are JSON Schema 2020-12, so that nothing is
 * translated: MCP only wants an input to say that it is an object, which every input here is; and
 * the older protocol wants the same of an output, so that of any other it is told nothing.
 * MCP "Tools", AGTP-API §13
 */
export function toolInputSchema(schema: JsonSchema): JsonSchema {
  if (schema["type"] === "object") return schema;
  const { type, ...rest } = schema;
  // A type that admits no object admits no input at all, and must go on doing so.
  const isNever = type !== undefined && ![type].flat().includes("object");
  return { type: "object", ...rest, ...(isNever ? { not: {} } : {}) };
}

/** True if the older protocol can be told of an output. */
export function isObjectSchema(schema: JsonSchema): boolean {
  return schema["type"] === "object";
}

/** An argument with a header field of its own. */
interface ParamHeader {
  /** Names of the properties that lead to it. */
  readonly path: readonly string[];
  /** As clients are told it, with the prefix. */
  readonly field: string;
  readonly isInteger: boolean;
}

const PREFIX = "Mcp-Param-";
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,128}$/;
const TYPES: ReadonlySet<unknown> = new Set(["string", "integer", "boolean"]);
const MAX_DEPTH = 8;

/**
 * Arguments that are told in header fields as well, so that what stands between client and server can
 * route by them: properties of an input schema with `x-mcp-header`. Where both say something, they must
 * say the same.   MCP "Streamable HTTP" (Custom Headers)
 */
function readParamHeaders(schema: JsonSchema): readonly ParamHeader[] {
  return headersIn(schema, []);
}

function headersIn({ properties }: JsonRecord, at: readonly string[]): readonly ParamHeader[] {
  if (!isRecord(properties) || at.length >= MAX_DEPTH) return [];
  return Object.entries(properties).flatMap(([name, property]) => {
    if (!isRecord(property)) return [];
    const path = [...at, name];
    const { type, "x-mcp-header": header } = property;
    const isTold = typeof header === "string" && TOKEN.test(header) && TYPES.has(type);
    const own = { path, field: `${PREFIX}${String(header)}`, isInteger: type === "integer" };
    return [...(isTold ? [own] : []), ...headersIn(property, path)];
  });
}

/** In what the fields and the arguments disagree; undefined: in nothing. */
export function disagreement(
  headers: readonly ParamHeader[],
  args: unknown,
  fieldOf: (name: string) => unknown,
): string | undefined {
  for (const header of headers) {
    const text = textOf(valueAt(args, header.path));
    if (text === undefined) continue;
    const field = fieldOf(header.field.toLowerCase());
    const name = header.path.join(".");
    if (typeof field !== "string") return `${header.field} is absent, and ${name} is not`;
    const told = decode(field);
    if (told === undefined) return `${header.field} is not encoded as it must be`;
    if (!isSame(told, text, header)) return `${header.field} says another thing than ${name}`;
  }
  return undefined;
}

function isSame(told: string, text: string, { isInteger }: ParamHeader): boolean {
  if (told === text) return true;
  return isInteger && /^-?\d+(?:\.\d+)?$/.test(told) && Number(told) === Number(text);
}

/** Other values are told in no field. */
function textOf(value: unknown): string | undefined {
  if (typeof value === "string" || typeof value === "boolean") return String(value);
  return Number.isSafeInteger(value) ? String(value) : undefined;
}

const ENCODED = /^=\?base64\?((?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?)\?=$/;

/** Values that cannot stand in a field are in base64; undefined: not in any that there is. */
function decode(field: string): string | undefined {
  if (!field.startsWith("=?base64?") || !field.endsWith("?=")) return field;
  const [, base64] = ENCODED.exec(field) ?? [];
  return base64 === undefined ? undefined : decodeUtf8(Buffer.from(base64, "base64"));
}
