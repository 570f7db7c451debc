/**
 * Describes a tool for `tools/list` in both protocols: the semantic block gives the hints, and the schemas are the
 * endpoint's.   MCP "Tools", AGTP-API §7.1
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
  /** True if the older protocol gets the output schema. */
  readonly isOutputTold: boolean;
  /** True if the tool returns MCP content, which needs no output schema. */
  readonly isContent: boolean;
  /** Arguments that are repeated in header fields. */
  readonly headers: readonly ParamHeader[];
}

const texts = new WeakMap<Tool, string>();

/** Encodes a tool as JSON; cached for every list. */
export function toolText(tool: Tool): string {
  const text = texts.get(tool) ?? JSON.stringify(tool);
  texts.set(tool, text);
  return text;
}

/** Describes the tool of an endpoint. */
export function describeTool(name: string, definition: EndpointDefinition): ToolDescription {
  return withOutput(baseOf(name, definition), definition.outputSchema);
}

/** Describes a tool with a known output schema. */
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

/** Replaces boolean property schemas, which the older protocol lacks; returns the tool itself if there are none. */
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

/** Converts a boolean schema: `true` admits any value, `false` none.   JSON Schema "Boolean JSON Schemas" */
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
    // The library's type admits only JSON values, and a TOML schema has no others.
    inputSchema: withToldHeaders(toolInputSchema(inputSchema)) as Tool["inputSchema"] & JsonSchema,
    annotations: { ...toolHints(definition) },
  };
}

/**
 * Input schema of an endpoint in MCP's form. Both are JSON Schema 2020-12, so nothing is translated: MCP only requires
 * that an input is declared an object, which each one here is. The older protocol requires the same of an output, so
 * any other output is left out there.
 * MCP "Tools", AGTP-API §13
 */
export function toolInputSchema(schema: JsonSchema): JsonSchema {
  if (schema["type"] === "object") return schema;
  const { type, ...rest } = schema;
  // A type without objects admits no input at all, and must stay so.
  const isNever = type !== undefined && ![type].flat().includes("object");
  return { type: "object", ...rest, ...(isNever ? { not: {} } : {}) };
}

/** True if the older protocol can carry the output schema. */
export function isObjectSchema(schema: JsonSchema): boolean {
  return schema["type"] === "object";
}
