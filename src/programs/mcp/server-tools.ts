/**
 * The tools that a server lists, read as a stranger's: DISCOVER /tools of any AGTP server, in the order
 * of names. An entry that cannot be called, or that clients would not take, is left out.
 * AGTP-API §5.8.4
 */
import type { Tool } from "@modelcontextprotocol/server";
import { isRecord, type JsonRecord } from "../../base/json-value.ts";
import { isTooDeep } from "../../base/nesting.ts";
import { toolInputSchema, withOutput } from "../../modules/mcp/tools/tool-description.ts";
import { byName as inOrder, type ListedTool } from "../../modules/mcp/tools/toolbox.ts";
import type { JsonSchema } from "../../schema/json-schema.ts";

/** A tool, and the pair that it stands for. */
export interface ServerTool extends ListedTool {
  readonly method: string;
  /** May have parameters. */
  readonly path: string;
  /** The contract that it is called under. */
  readonly contract?: string;
}

/** The tools of a server. */
export interface ServerTools {
  /** The tools that the caller is shown. */
  readonly sorted: readonly ServerTool[];
  /** Every tool: whether one may be called is for the server to say. */
  readonly byName: ReadonlyMap<string, ServerTool>;
  /** How many entries are no tools that can be called. */
  readonly leftOut: number;
}

const NAME = /^[A-Za-z0-9_-]{1,64}$/;
const ACTION = /^([^\s]{1,64}) (\/\S{0,2047})$/;
const HINTS = ["readOnlyHint", "destructiveHint", "idempotentHint"];

/** Facts of tools that do not stand in their list. */
interface ToolFacts {
  /** The output schema of a method and path. */
  outputOf(pair: string): JsonSchema | undefined;
  /** True if the caller holds these scopes. */
  isGranted(requiredScopes: readonly unknown[]): boolean;
}

/** Reads a body of DISCOVER /tools; undefined where it is no list. */
export function readServerTools(body: unknown, facts: ToolFacts): ServerTools | undefined {
  if (!Array.isArray(body)) return undefined;
  const byName = new Map<string, ServerTool>();
  const shown: ServerTool[] = [];
  let leftOut = 0;
  for (const entry of body) {
    const tool = readTool(entry, facts);
    if (tool === undefined || byName.has(tool.name)) {
      leftOut += 1;
      continue;
    }
    byName.set(tool.name, tool);
    if (isGranted(entry, facts)) shown.push(tool);
  }
  return { sorted: shown.sort(inOrder), byName, leftOut };
}

function isGranted(entry: JsonRecord, facts: ToolFacts): boolean {
  const { required_scopes: required } = entry;
  return !Array.isArray(required) || facts.isGranted(required);
}

function readTool(entry: unknown, facts: ToolFacts): ServerTool | undefined {
  if (!isRecord(entry) || isTooDeep(entry)) return undefined;
  const { name, description, inputSchema = {} } = entry;
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
    description: withOutput(tool, outputOf(entry) ?? facts.outputOf(`${method} ${path}`) ?? {}),
  };
}

/** Some servers have it in the list already. */
function outputOf({ outputSchema }: JsonRecord): JsonSchema | undefined {
  return isRecord(outputSchema) ? outputSchema : undefined;
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
