/**
 * Reads the tools that an AGTP server lists in DISCOVER /tools, which is untrusted, sorted by name.
 * Entries that cannot be called, or that clients would reject, are left out.   AGTP-API §5.8.4
 */

import type { Tool } from "@modelcontextprotocol/server";
import { isRecord, type JsonRecord, recordIn } from "../../base/json-value.ts";
import { isTooDeep } from "../../base/nesting.ts";
import { pairText } from "../../catalog/pair.ts";
import type { ClientRequest, ClientResponse } from "../../client/agtp-client.ts";
import { toolHints } from "../../dispatch/tools/tool.ts";
import { nextToolName } from "../../dispatch/tools/tool-names.ts";
import { isPassing, saidIn } from "../../modules/mcp/tasks/work-state.ts";
import { toolInputSchema, withOutput } from "../../modules/mcp/tools/tool-description.ts";
import { byName as inOrder, type ListedTool } from "../../modules/mcp/tools/toolbox.ts";
import type { JsonSchema } from "../../schema/json-schema.ts";

/** A tool, with its method and path. */
export interface ServerTool extends ListedTool {
  readonly method: string;
  /** May contain parameters. */
  readonly path: string;
  /** The contract that calls present. */
  readonly contract?: string;
}

export interface ServerTools {
  /** The tools that the caller is shown. */
  readonly sorted: readonly ServerTool[];
  /** Every tool: the server decides which may be called. */
  readonly byName: ReadonlyMap<string, ServerTool>;
  /** The number of entries that are no callable tools. */
  readonly leftOut: number;
}

const NAME = /^[A-Za-z0-9_-]{1,64}$/;
const ACTION = /^([^\s]{1,64}) (\/\S{0,2047})$/;
const HINTS = ["readOnlyHint", "destructiveHint", "idempotentHint"];

interface ToolFacts {
  outputOf(pair: string): JsonSchema | undefined;
  /** Returns true if the caller holds these scopes. */
  isGranted(requiredScopes: readonly unknown[]): boolean;
}

/** Reads a body of DISCOVER /tools; undefined if it is not a list. */
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

/** The output schema in the list, which some servers include. */
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

interface ContractParts {
  ask(request: ClientRequest): Promise<ClientResponse>;
  /** The caller's Agent-ID; if undefined, every listed contract counts as its own. */
  readonly agentId: string | undefined;
}

interface Entry {
  readonly synthesisId: string;
  readonly method: string;
  readonly path: string;
}

type Described = Omit<ServerTool, "name"> & { readonly tool: Omit<Tool, "name"> };

/** The maximum number of contracts that become tools; the others remain callable. */
const MAX_TOOLS = 50;
const TIMEOUT_MS = 30_000;
/** The result for a contract whose description has to be requested again. */
const NOT_NOW = "not now";
const METHOD = /^[A-Z][A-Z_-]{0,63}$/;
const PATH = /^\/\S{0,2047}$/;

/**
 * The caller's contracts as tools: those that `DISCOVER /contracts` lists as its own, with
 * INSPECT's description. Contracts for the same method and path are one tool, which uses the newest
 * and keeps its name while the program runs.   AGTP-API §5.8.7
 */
export class ServerContracts {
  readonly #parts: ContractParts;
  /** Descriptions by contract id, so that each is requested once. */
  #described: ReadonlyMap<string, Described | undefined> = new Map();
  /** Tool names by method and path. */
  readonly #names = new Map<string, string>();
  /** The last listed contracts, used while the server cannot list them. */
  #listed: readonly Entry[] = [];

  constructor(parts: ContractParts) {
    this.#parts = parts;
  }

  /** The ids of the contracts that are tools, as one text for comparisons. */
  async ids(): Promise<string> {
    return (await this.#entries()).map(({ synthesisId }) => synthesisId).join(" ");
  }

  /** The tools, with names that are not taken. */
  async tools(isTaken: (name: string) => boolean): Promise<readonly ServerTool[]> {
    const entries = await this.#entries();
    const described = await Promise.all(
      entries.map(async (entry) => [entry.synthesisId, await this.#describe(entry)] as const),
    );
    this.#described = new Map(
      described.flatMap(([id, one]) => (one === NOT_NOW ? [] : [[id, one] as const])),
    );
    return described.flatMap(([, one]) =>
      typeof one === "object" ? [this.#named(one, isTaken)] : [],
    );
  }

  /** The newest contract for each method and path; none if the server does not list contracts. */
  async #entries(): Promise<readonly Entry[]> {
    const asking = { method: "DISCOVER", path: "/contracts", timeoutMs: TIMEOUT_MS };
    const { status, body } = await this.#parts.ask(asking);
    if (isPassing(status, body)) return this.#listed;
    this.#listed = status === 200 && Array.isArray(body) ? this.#newest(body) : [];
    return this.#listed;
  }

  #newest(body: readonly unknown[]): readonly Entry[] {
    const { agentId } = this.#parts;
    const newest = new Map<string, Entry & { readonly issuedAt: string }>();
    for (const one of body) {
      const entry = readEntry(one, agentId);
      if (entry === undefined) continue;
      const pair = pairText(entry);
      if ((newest.get(pair)?.issuedAt ?? "") <= entry.issuedAt) newest.set(pair, entry);
    }
    return [...newest.values()].slice(0, MAX_TOOLS);
  }

  /** The description of a contract; undefined if it cannot be a tool. */
  async #describe(entry: Entry): Promise<Described | typeof NOT_NOW | undefined> {
    const { synthesisId } = entry;
    if (this.#described.has(synthesisId)) return this.#described.get(synthesisId);
    const parameters = { target: "contract", synthesis_id: synthesisId };
    const asking = { method: "INSPECT", path: "/", parameters, timeoutMs: TIMEOUT_MS };
    const { status, body } = await this.#parts.ask(asking);
    if (isPassing(status, body)) return NOT_NOW;
    if (status !== 200 || !isRecord(body) || isTooDeep(body)) return undefined;
    const { endpoint } = saidIn(body);
    return isRecord(endpoint) ? describe(entry, endpoint) : undefined;
  }

  #named({ tool, ...rest }: Described, isTaken: (name: string) => boolean): ServerTool {
    const pair = pairText(rest);
    const others = new Set([...this.#names].flatMap(([one, name]) => (one === pair ? [] : [name])));
    const known = this.#names.get(pair);
    const name =
      known !== undefined && !isTaken(known)
        ? known
        : nextToolName(rest, (one) => others.has(one) || isTaken(one));
    this.#names.set(pair, name);
    const { description } = rest;
    const called = { ...description, current: { ...description.current, name } };
    return { ...rest, name, description: { ...called, older: { ...description.older, name } } };
  }
}

function readEntry(one: unknown, agentId: string | undefined) {
  if (!isRecord(one)) return undefined;
  const { synthesis_id: synthesisId, method, path, issued_at: issuedAt } = one;
  if (typeof synthesisId !== "string" || !METHOD.test(String(method))) return undefined;
  if (!PATH.test(String(path))) return undefined;
  // A privileged agent is also shown others' contracts, which only their agents can call.
  if (agentId !== undefined && one["originating_agent_id"] !== agentId) return undefined;
  return { synthesisId, method: String(method), path: String(path), issuedAt: String(issuedAt) };
}

function describe({ synthesisId, method, path }: Entry, endpoint: JsonRecord): Described {
  const { description, input_schema: input, output_schema: output, semantic } = endpoint;
  const { impact, is_idempotent: isIdempotent } = recordIn(semantic);
  const hints = { semantic: { impact, is_idempotent: isIdempotent === true } };
  const tool: Tool = {
    ...{ name: "", title: `${method} ${path}` },
    ...(typeof description === "string" ? { description } : {}),
    inputSchema: toolInputSchema(recordIn(input)) as Tool["inputSchema"],
    annotations: { ...toolHints(hints as Parameters<typeof toolHints>[0]) },
  };
  return {
    ...{ method, path, contract: synthesisId, tool },
    description: withOutput(tool, recordIn(output)),
  };
}
