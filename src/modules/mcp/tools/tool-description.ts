/**
 * A tool as `tools/list` describes it, in the words of each protocol: the semantic block is its
 * hints, the schemas are its own.   MCP "Tools", AGTP-API §7.1
 */
import type { Tool } from "@modelcontextprotocol/server";
import { isRecord } from "../../../base/json-value.ts";
import { toolHints } from "../../../dispatch/tools/tool.ts";
import type { EndpointDefinition } from "../../../endpoint/endpoint.ts";
import type { JsonSchema } from "../../../schema/json-schema.ts";
import { isContentSchema } from "./content.ts";
import { type ParamHeader, readParamHeaders, withToldHeaders } from "./param-headers.ts";

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
export function withOutput(tool: Tool, outputSchema: JsonSchema): ToolDescription {
  const isContent = isContentSchema(outputSchema);
  const headers = readParamHeaders(tool.inputSchema);
  if (isContent || Object.keys(outputSchema).length === 0) {
    const older = asOlder(tool);
    return { current: tool, older, isOutputTold: false, isContent, headers };
  }
  const isOutputTold = isObjectSchema(outputSchema);
  const current = { ...tool, outputSchema } as Tool;
  const older = asOlder(isOutputTold ? current : tool);
  return { current, older, isOutputTold, isContent, headers };
}

/** The older protocol has objects alone as the schemas of properties; the tool itself where they are. */
function asOlder(tool: Tool): Tool {
  const { inputSchema, outputSchema } = tool;
  const input = withObjects(inputSchema);
  const output = outputSchema && withObjects(outputSchema);
  if (input === inputSchema && output === outputSchema) return tool;
  return { ...tool, inputSchema: input, ...(output && { outputSchema: output }) } as Tool;
}

function withObjects(schema: JsonSchema): JsonSchema {
  const { properties } = schema;
  if (!isRecord(properties) || Object.values(properties).every(isRecord)) return schema;
  const entries = Object.entries(properties).map(([name, one]) => [name, objectOf(one)]);
  return { ...schema, properties: Object.fromEntries(entries) };
}

/** `true` takes any value, and `false` none.   JSON Schema "Boolean JSON Schemas" */
function objectOf(schema: unknown): unknown {
  if (isRecord(schema)) return schema;
  return schema === false ? { not: {} } : {};
}

function baseOf(name: string, definition: EndpointDefinition): Tool {
  const { method, path, description, inputSchema, deprecated } = definition;
  return {
    name,
    title: `${method} ${path}`,
    description: deprecated === undefined ? description : `${description} (deprecated)`,
    // The library's type has JSON values alone in it; what a file of TOML says is nothing else.
    inputSchema: withToldHeaders(toolInputSchema(inputSchema)) as Tool["inputSchema"] & JsonSchema,
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
