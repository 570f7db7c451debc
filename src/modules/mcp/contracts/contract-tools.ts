/**
 * The contracts of a caller as tools of its own: named by the rules of all tools, beside those that
 * everybody has. A pair is one tool, whatever contracts there are for it: the newest is called. A name
 * is given again once nothing of what had it is remembered.   AGTP-API §10.1.1, §10.1.4
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
  /** True if a name is another tool's. */
  isTaken(name: string): boolean;
  now(): number;
}

/** More of one caller are callable over AGTP, and are no tools. */
const MAX_TOOLS = 200;
/** The most that their definitions make together. */
const MAX_CHARACTERS = 1_048_576;
/** Agents whose tools are kept ready. */
const READY = 1_000;

/** The tools of one agent, as long as none of them changes. */
interface OwnTools {
  readonly revision: number;
  /** Milliseconds since the epoch: one of them is over then. */
  readonly validUntil: number;
  readonly byName: ReadonlyMap<string, ContractTool>;
  /** Whole lists, by the authority that they are for. */
  readonly lists: WeakMap<object, WholeList>;
}

/** A list of tools with those of its caller. */
interface WholeList {
  readonly others: readonly ListedTool[];
  readonly isAnonymous: boolean;
  readonly list: readonly ListedTool[];
}

/** The contracts of a deployment's agents. */
export class ContractTools {
  readonly #parts: ContractToolsParts;
  readonly #own = recentlyUsed<OwnTools>(READY);

  constructor(parts: ContractToolsParts) {
    this.#parts = parts;
  }

  /** The agent's own tool of that name, ready to be called. */
  find(agentId: string, name: string): (McpTool & ContractTool) | undefined {
    const tool = this.#of(agentId).byName.get(name);
    return tool && { ...tool, route: this.#parts.routes.routeOf(tool.contract) };
  }

  /** The name under which a contract is called; undefined: it is no tool. */
  nameOf(agentId: string, synthesisId: string): string | undefined {
    const tools = [...this.#of(agentId).byName.values()];
    return tools.find(({ contract }) => contract.synthesisId === synthesisId)?.name;
  }

  /** The tools of a caller, with those of its own, by name; the same list as long as it is so. */
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

  /** When the first of an agent's tools is over, unless something happens before. */
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

  /** By pair; the older keeps its name, so that no name comes to mean another one. */
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

/** The newest contract of each pair, the newest pair first, as many as may be tools. */
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
