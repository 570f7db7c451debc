/**
 * A caller's contracts as tools of its own, named like all tools and listed beside the common ones. A method and path
 * are one tool, which calls the newest of their contracts. A name is reused once no contract that had it is
 * remembered.   AGTP-API §10.1.1, §10.1.4
 */

import { recentlyUsed } from "../../../base/recently-used.ts";
import { pairText } from "../../../catalog/pair.ts";
import type { ContractRoutes } from "../../../dispatch/contracts/contract-routes.ts";
import { type CallRules, type Candidate, mayCall } from "../../../dispatch/routes/may-call.ts";
import { nextToolName } from "../../../dispatch/tools/tool-names.ts";
import { type Contract, contractDefinition } from "../../../endpoint/contract.ts";
import type { ContractRegister } from "../../../state/registers/contract-register.ts";
import { describeTool } from "../tools/tool-description.ts";
import { byName, type ListedTool, type McpTool } from "../tools/toolbox.ts";

interface ContractTool extends ListedTool {
  readonly contract: Contract;
}

interface ContractToolsParts {
  readonly register: Pick<ContractRegister, "ofAgent" | "revisionOf">;
  readonly routes: Pick<ContractRoutes, "routeOf">;
  readonly rules: CallRules;
  /** True if another tool has the name. */
  isTaken(name: string): boolean;
  now(): number;
}

/** A caller's further contracts can be called over AGTP, but are no tools. */
const MAX_TOOLS = 200;
/** Maximal length of their definitions together. */
const MAX_CHARACTERS = 1_048_576;
/** Number of agents whose tools are cached. */
const READY = 1_000;

/** The cached tools of one agent, valid while its revision is unchanged. */
interface OwnTools {
  readonly revision: number;
  /** Expiry of the first tool, in milliseconds since the epoch. */
  readonly validUntil: number;
  readonly byName: ReadonlyMap<string, ContractTool>;
  /** Complete lists by the authority that they are for. */
  readonly lists: WeakMap<object, WholeList>;
}

/** The common tools merged with a caller's own. */
interface WholeList {
  readonly others: readonly ListedTool[];
  readonly isAnonymous: boolean;
  readonly list: readonly ListedTool[];
}

/** The tools of a deployment's contracts. */
export class ContractTools {
  readonly #parts: ContractToolsParts;
  readonly #own = recentlyUsed<OwnTools>(READY);

  constructor(parts: ContractToolsParts) {
    this.#parts = parts;
  }

  /** Returns an agent's own tool by name, with its route. */
  find(agentId: string, name: string): (McpTool & ContractTool) | undefined {
    const tool = this.#of(agentId).byName.get(name);
    return tool && { ...tool, route: this.#parts.routes.routeOf(tool.contract) };
  }

  /** Returns the tool name of a contract; undefined if it is no tool. */
  nameOf(agentId: string, synthesisId: string): string | undefined {
    const tools = [...this.#of(agentId).byName.values()];
    return tools.find(({ contract }) => contract.synthesisId === synthesisId)?.name;
  }

  /** Merges a caller's own tools into a list, by name; returns the same list while nothing changes. */
  withOwn(others: readonly ListedTool[], candidate: Candidate): readonly ListedTool[] {
    const { document, authority, principalId } = candidate.caller;
    if (document === undefined) return others;
    const own = this.#of(document.agentId);
    if (own.byName.size === 0) return others;
    const isAnonymous = principalId === undefined;
    const known = own.lists.get(authority);
    if (known?.others === others && known.isAnonymous === isAnonymous) return known.list;
    const callable = [...own.byName.values()].filter(({ contract: { endpoint } }) => {
      const { method, required_scopes: requiredScopes } = endpoint;
      const route = { method, requiredScopes, tier: "C" as const, startsWork: false };
      return mayCall(route, candidate, this.#parts.rules);
    });
    const list = [...others, ...callable].sort(byName);
    own.lists.set(authority, { others, isAnonymous, list });
    return list;
  }

  /** Returns the time at which the first of an agent's tools expires. */
  validUntil(agentId: string): number {
    return this.#of(agentId).validUntil;
  }

  #of(agentId: string): OwnTools {
    const { register, now } = this.#parts;
    const revision = register.revisionOf(agentId);
    const known = this.#own.get(agentId);
    if (known?.revision === revision && now() < known.validUntil) return known;
    const contracts = register.ofAgent(agentId);
    const active = contracts.filter(({ state }) => state === "active");
    const made: OwnTools = {
      revision,
      validUntil: Math.min(...active.map(({ expiresAt }) => expiresAt)),
      byName: toolsOf(newest(active), this.#names(contracts)),
      lists: new WeakMap(),
    };
    this.#own.set(agentId, made);
    return made;
  }

  /** Names the pairs in order of age, so that an older one keeps its name. */
  #names(contracts: readonly Contract[]): ReadonlyMap<string, string> {
    const names = new Map<string, string>();
    const taken = new Set<string>();
    for (const { endpoint } of contracts) {
      const pair = pairText(endpoint);
      if (names.has(pair)) continue;
      const isTaken = (name: string): boolean => taken.has(name) || this.#parts.isTaken(name);
      const name = nextToolName(endpoint, isTaken);
      names.set(pair, name);
      taken.add(name);
    }
    return names;
  }
}

/** The newest contract of each pair, the newest pair first, up to the limits. */
function newest(active: readonly Contract[]): readonly Contract[] {
  const chosen = new Map<string, Contract>();
  let characters = 0;
  for (const contract of active.toReversed()) {
    const pair = pairText(contract.endpoint);
    if (chosen.has(pair)) continue;
    characters += JSON.stringify(contract.endpoint).length;
    if (chosen.size >= MAX_TOOLS || characters > MAX_CHARACTERS) break;
    chosen.set(pair, contract);
  }
  return [...chosen.values()];
}

function toolsOf(
  contracts: readonly Contract[],
  names: ReadonlyMap<string, string>,
): ReadonlyMap<string, ContractTool> {
  const tools = contracts.map((contract) => {
    const name = names.get(pairText(contract.endpoint)) ?? "";
    const description = describeTool(name, contractDefinition(contract.endpoint));
    return [name, { name, description, contract }] as const;
  });
  return new Map(tools);
}
