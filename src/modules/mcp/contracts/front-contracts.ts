/** Contracts as MCP's clients meet them: tools of their own, offers, and calls that lead to one. */

import type { Paced } from "../../../base/paced.ts";
import type { Pair } from "../../../catalog/pair.ts";
import type { ContractOffers } from "../../../dispatch/contracts/contract-offers.ts";
import type { AssembledDeployment } from "../../../dispatch/module/module.ts";
import type { CallRules } from "../../../dispatch/routes/may-call.ts";
import { nextToolName } from "../../../dispatch/tools/tool-names.ts";
import type { Contract } from "../../../endpoint/contract.ts";
import { matchTemplate } from "../../../endpoint/endpoint-registry.ts";
import type { McpContext } from "../config.ts";
import type { Toolbox } from "../tools/toolbox.ts";
import { ContractTools } from "./contract-tools.ts";
import type { RequestStates } from "./request-state.ts";

/** The header field that presents a contract. */
export const PRESENTED = "contract-synthesized";

/** The contracts of a deployment. */
export interface FrontContracts {
  readonly tools: ContractTools;
  /** Undefined: nothing is negotiated. */
  readonly offers: ContractOffers | undefined;
  /** Pairs that a recipe answers, by the name that a tool for them would have. */
  readonly negotiable: ReadonlyMap<string, Pair>;
  readonly states: RequestStates;
  /** A contract of the agent that can be called or accepted. */
  find(synthesisId: string, agentId: string): Contract | undefined;
  /** The agent's newest contract or offer for a pair that no endpoint answers. */
  unregistered(agentId: string, pair: Pair): string | undefined;
}

/** Put together when the deployment is. */
interface FrontContractsParts {
  readonly context: McpContext;
  readonly toolbox: Toolbox;
  readonly rules: CallRules;
  readonly states: RequestStates;
  /** Of tools that are no endpoints. */
  readonly ownNames: ReadonlySet<string>;
}

/** The contracts of a deployment that has these tools. */
export function* creatingFrontContracts(parts: FrontContractsParts): Paced<FrontContracts> {
  const { context, toolbox, rules, states, ownNames } = parts;
  const { negotiation, contracts: register, registry } = context.deployment();
  const isTaken = (name: string): boolean => ownNames.has(name) || toolbox.find(name) !== undefined;
  const { contracts } = context.state;
  const { offers } = negotiation;
  const none: FrontContracts["negotiable"] = new Map();
  return {
    ...{ states, offers },
    tools: new ContractTools({
      ...{ register, rules, isTaken, routes: negotiation.routes, now: () => contracts.now() },
    }),
    negotiable: offers === undefined ? none : yield* negotiablePairs(context, isTaken),
    find: (synthesisId, agentId) => {
      const found = register.present(synthesisId, agentId);
      return found.kind === "usable" ? found.contract : undefined;
    },
    unregistered: (agentId, { method, path }) => {
      if (registry.find(method, path) !== undefined) return undefined;
      const newest = register.openOf(agentId).find(({ endpoint }) => {
        return endpoint.method === method && matchTemplate(endpoint.path, path) !== undefined;
      });
      return newest?.synthesisId;
    },
  };
}

/** The pairs that recipes answer by method and path alone, where no endpoint does. */
function* negotiablePairs(
  { recipes, methodPolicy, deployment }: McpContext,
  isTaken: (name: string) => boolean,
): Paced<FrontContracts["negotiable"]> {
  const { registry }: AssembledDeployment = deployment();
  const pairs = new Map<string, Pair>();
  for (const { pattern } of recipes.values()) {
    yield;
    if (pattern?.pathExact === undefined) continue;
    const pair = { method: pattern.methodExact, path: pattern.pathExact };
    const isAnswered = registry.find(pair.method, pair.path) !== undefined;
    if (isAnswered || !methodPolicy.isAllowed(pair.method)) continue;
    const name = nextToolName(pair, (one) => isTaken(one) || isOther(pairs.get(one), pair));
    pairs.set(name, pair);
  }
  return pairs;
}

function isOther(known: Pair | undefined, { method, path }: Pair): boolean {
  return known !== undefined && (known.method !== method || known.path !== path);
}
