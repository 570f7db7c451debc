/**
 * Resolves an action to the pair to dispatch: a pair as it is, a tool as its endpoint, an agent as the endpoint that
 * executes it. Paths are filled from the input. 404 `action-not-found` with close matches · 422 for a path that cannot
 * be filled, and for EXECUTE itself.   AGTP "EXECUTE"
 */

import {
  type CloseMatcher,
  compileCloseMatches,
  compilingCloseMatches,
} from "../../base/close-matches.ts";
import type { JsonRecord } from "../../base/json-value.ts";
import { atOnce, mapPaced, type Paced } from "../../base/paced.ts";
import { fillTemplate } from "../../base/template.ts";
import type { Pair } from "../../catalog/pair.ts";
import { actionNotFound } from "../../dispatch/refusals/floor-refusals.ts";
import { type Refusal, violationAt } from "../../dispatch/refusals/refusal.ts";
import { type ListedDefinition, listingTools, type Tool } from "../../dispatch/tools/tool.ts";
import { formerToolNames } from "../../dispatch/tools/tool-names.ts";
import { fillPath } from "../../endpoint/path-template.ts";
import type { AgentDirectory } from "../../identity/agent-directory.ts";
import type { AgentDocument } from "../../identity/agent-document.ts";
import { splitTarget } from "../../wire/message.ts";
import { type Action, describeAction } from "./execute-request.ts";

/** The sources that actions are resolved from. */
export interface ActionSources {
  /** Complete once everything is loaded. */
  endpoints(): readonly ListedDefinition[];
  /** The agents that a caller may see; undefined if none. */
  agents(callerId: string | undefined): DirectoryView | undefined;
  /** Finds any agent, because an Agent-ID cannot be guessed. */
  agentById(agentId: string): AgentDocument | undefined;
  /** Applies aliases and redirects to a pair. */
  canonical(pair: Pair): Pair;
}

type DirectoryView = Pick<AgentDirectory, "resolve" | "list">;

/** Resolves actions. */
export class ActionResolver {
  readonly #sources: ActionSources;
  #index: ActionIndex | undefined;
  #nearAgents: { readonly list: readonly AgentDocument[]; readonly near: CloseMatcher } | undefined;

  constructor(sources: ActionSources) {
    this.#sources = sources;
  }

  /** Builds the index, so that the first unknown name costs no more than later ones. */
  *prepare(): Paced<void> {
    this.#index ??= yield* indexingActions(this.#sources.endpoints());
  }

  /** Returns the pair with its path filled; agents are found by name only if the caller may see them. */
  resolve(action: Action, input: JsonRecord, callerId: string | undefined): Pair | Refusal {
    const found = action.kind === "pair" ? action : this.#lookUp(action.name, callerId);
    if (found === undefined) return this.notFound(action, callerId);
    const { method } = found;
    const filled = fillPath(found.path, new Map(Object.entries(input)));
    if (filled.fault !== undefined) {
      const path = filled.parameter === undefined ? "/action" : `/parameters/${filled.parameter}`;
      return violationAt(path, "required", filled.fault);
    }
    const pair = { method, path: filled.path };
    return this.#isExecute(pair) ? itself() : pair;
  }

  /** 404, with close matches among names and pairs. */
  notFound(action: Action, callerId: string | undefined): Refusal {
    const written = describeAction(action);
    const agent = action.kind === "pair" ? undefined : this.#findAgent(action.name, callerId);
    const near = [...this.#known().near(written), ...this.#agentsNear(written, callerId)].filter(
      (one) => one !== written,
    );
    const why =
      agent &&
      `the agent ${JSON.stringify(agent.name)} is not executed here: ${agent.notCallable ?? "it is known by its identity alone"}`;
    return actionNotFound(written, near.slice(0, MAX_SUGGESTIONS), why);
  }

  #isExecute(pair: Pair): boolean {
    const { path } = splitTarget(pair.path);
    const canonical = this.#sources.canonical({ method: pair.method, path });
    return canonical.method === "EXECUTE" && canonical.path === "/";
  }

  #lookUp(name: string, callerId: string | undefined): Pair | undefined {
    const tool = this.#known().tools.get(name);
    if (tool !== undefined) return tool.definition;
    const agent = this.#findAgent(name, callerId) ?? this.#sources.agentById(nameIn(name));
    if (agent === undefined) return undefined;
    const { agentPath = "" } = this.#known();
    const path = agent.executePath ?? fillTemplate(agentPath, () => agent.agentId);
    return path === "" ? undefined : { method: "EXECUTE", path };
  }

  #findAgent(name: string, callerId: string | undefined): AgentDocument | undefined {
    return this.#sources.agents(callerId)?.resolve(nameIn(name));
  }

  /** Callers see the same agents or none, so one list's matcher is cached. */
  #agentsNear(written: string, callerId: string | undefined): readonly string[] {
    const list = this.#sources.agents(callerId)?.list();
    if (list === undefined) return [];
    if (this.#nearAgents?.list !== list) {
      this.#nearAgents = { list, near: compileCloseMatches(list.map(({ name }) => name)) };
    }
    return this.#nearAgents.near(written);
  }

  #known(): ActionIndex {
    this.#index ??= atOnce(indexingActions(this.#sources.endpoints()));
    return this.#index;
  }
}

const MAX_SUGGESTIONS = 3;
const AGENT = /^\/?agents\/([^/]+)$/;
/** The name or Agent-ID of an agent, which may be written as a path. */
function nameIn(written: string): string {
  return AGENT.exec(written)?.[1] ?? written;
}
const AGENT_PATH = /^\/agents\/\{[^{}/]+\}$/;

interface ActionIndex {
  readonly tools: ReadonlyMap<string, Tool>;
  /** The path template under which agents are executed, if there is one. */
  readonly agentPath: string | undefined;
  readonly near: CloseMatcher;
}

function* indexingActions(endpoints: readonly ListedDefinition[]): Paced<ActionIndex> {
  const tools = yield* listingTools(endpoints);
  const agents = endpoints.find(
    ({ definition: { method, path } }) => method === "EXECUTE" && AGENT_PATH.test(path),
  );
  const definitions = yield* mapPaced(tools, ({ definition }) => definition);
  const names = yield* mapPaced(tools, ({ name }) => name);
  const pairs = yield* mapPaced(definitions, ({ method, path }) => `${method} ${path}`);
  const near = yield* compilingCloseMatches([...names, ...pairs]);
  const former = yield* formerToolNames(definitions);
  const byName = new Map<string, Tool>();
  for (const of of [former, names]) {
    for (const [index, tool] of tools.entries()) {
      byName.set(of[index] ?? tool.name, tool);
      yield;
    }
  }
  return { tools: byName, agentPath: agents?.definition.path, near };
}

/** 422: EXECUTE does not dispatch itself. */
function itself(): Refusal {
  return violationAt("/action", "not", "must not be EXECUTE on / itself");
}
