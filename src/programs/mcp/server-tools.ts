/**
 * The tools that a server lists, read as a stranger's: DISCOVER /tools of any AGTP server, in the order
 * of names. An entry that cannot be called, or that clients would not take, is left out.
 * AGTP-API §5.8.4
 */
import type { Tool } from "@modelcontextprotocol/server";
import { isRecord, type JsonRecord } from "../../base/json-value.ts";
import { isTooDeep } from "../../base/nesting.ts";
import { withOutput } from "../../modules/mcp/tool-description.ts";
import { toolInputSchema } from "../../modules/mcp/tool-schema.ts";
import { byName, type ListedTool } from "../../modules/mcp/toolbox.ts";

/** A tool, and the pair that it stands for. */
export interface ServerTool extends ListedTool {
  readonly method: string;
  /** May have parameters. */
  readonly path: string;
}

/** The tools of a server. */
export interface ServerTools {
  readonly sorted: readonly ServerTool[];
  readonly byName: ReadonlyMap<string, ServerTool>;
  /** How many entries are no tools that can be called. */
  readonly leftOut: number;
}

const NAME = /^[A-Za-z0-9_-]{1,64}$/;
const ACTION = /^([^\s]{1,64}) (\/\S{0,2047})$/;
const HINTS = ["readOnlyHint", "destructiveHint", "idempotentHint"];

/** Reads a body of DISCOVER /tools; undefined where it is no list. */
export function readServerTools(body: unknown): ServerTools | undefined {
  if (!Array.isArray(body)) return undefined;
  const tools = new Map<string, ServerTool>();
  for (const entry of body) {
    const tool = readTool(entry);
    if (tool !== undefined && !tools.has(tool.name)) tools.set(tool.name, tool);
  }
  const sorted = [...tools.values()].sort(byName);
  return { sorted, byName: tools, leftOut: body.length - sorted.length };
}

function readTool(entry: unknown): ServerTool | undefined {
  if (!isRecord(entry) || isTooDeep(entry)) return undefined;
  const { name, description, inputSchema = {}, outputSchema = {} } = entry;
  const [, method, path] = ACTION.exec(actionOf(entry)) ?? [];
  if (typeof name !== "string" || !NAME.test(name)) return undefined;
  if (method === undefined || path === undefined || !isRecord(inputSchema)) return undefined;
  const tool: Tool = {
    name,
    title: `${method} ${path}`,
    ...(typeof description === "string" ? { description } : {}),
    inputSchema: toolInputSchema(inputSchema) as Tool["inputSchema"],
    annotations: readHints(entry["annotations"]),
  };
  return {
    ...{ name, method, path },
    description: withOutput(tool, isRecord(outputSchema) ? outputSchema : {}),
  };
}

function actionOf({ method, path, action }: JsonRecord): string {
  return method === undefined ? String(action) : `${String(method)} ${String(path)}`;
}

function readHints(annotations: unknown): Record<string, boolean> {
  if (!isRecord(annotations)) return {};
  const hints = HINTS.map((hint) => [hint, annotations[hint]] as const);
  return Object.fromEntries(
    hints.filter((hint): hint is readonly [string, boolean] => typeof hint[1] === "boolean"),
  );
}
