/**
 * What DESCRIBE and the agents' own paths answer from: the directory, the live standing of agents,
 * the methods that are served, and the inventory of OpenWOP's agents. An operator's endpoint on an
 * agent's path takes the place of ours.
 * AGTP "DESCRIBE", "URI Resolution"
 */

import type { Config } from "../base/config.ts";
import type { Drive } from "../base/paced.ts";
import { FLOOR_METHODS } from "../catalog/catalog.ts";
import type { FloorOptions } from "../dispatch/floor.ts";
import { agentNotInstalled } from "../dispatch/floor-refusals-openwop.ts";
import type { MethodPolicy } from "../dispatch/method-policy.ts";
import type { Refusal } from "../dispatch/refusal.ts";
import type { Route } from "../dispatch/route.ts";
import { buildRegistry } from "../endpoint/endpoint-registry.ts";
import type { AgentDirectory } from "../identity/agent-directory.ts";
import type { AgentDocument } from "../identity/agent-document.ts";
import { createDescription, type Description } from "../modules/discovery/describe.ts";
import type { ServerState } from "../state/state.ts";
import type { OpenwopAgents } from "./openwop-agents.ts";

/** What a description is put together from. */
export interface DescriptionParts {
  readonly config: Config;
  readonly directory: AgentDirectory;
  readonly state: Pick<ServerState, "ledger" | "lifecycle">;
  readonly methodPolicy: Pick<MethodPolicy, "isAllowed">;
  readonly operatorRoutes: readonly Route[];
  readonly openwop: Pick<OpenwopAgents, "inventory" | "settings" | "registry" | "documentOf">;
  readonly drive: Drive;
  isDisclosedTo(agentId: string | undefined): boolean;
}

/** The description of this server's agents. */
export async function describeAgents(
  parts: DescriptionParts,
  describe: FloorOptions["describe"],
): Promise<Description> {
  const { config, directory, methodPolicy, operatorRoutes } = parts;
  const { ledger, lifecycle } = parts.state;
  const { server, agents } = config;
  const served = [
    ...FLOOR_METHODS,
    ...[...new Set(operatorRoutes.map(({ method }) => method))].sort(),
  ];
  const { method, endpoints } = createDescription(
    {
      directory,
      defaultAgent: agents.default === undefined ? undefined : directory.resolve(agents.default),
      isDisclosedTo: (agentId) => parts.isDisclosedTo(agentId),
      standing: {
        statusOf: (agent) => lifecycle.statusOf(agent),
        statusSince: (agent) => lifecycle.statusSince(agent),
        lastAction: (agentId) => ledger.headOf(agentId),
      },
      methods: [...new Set(served)].filter((name) => methodPolicy.isAllowed(name)),
      server,
      findEntry: (name, callerId) => findEntry(parts, name, callerId),
      listsEntries: parts.openwop.inventory.list(parts.openwop.settings.tenant).total > 0,
      toolsOf: toolsOf(parts.openwop),
    },
    describe,
  );
  const { registry } = await parts.drive(buildRegistry([...operatorRoutes, ...endpoints]));
  const kept = new Set<object>(registry.entries);
  return { method, endpoints: endpoints.filter((endpoint) => kept.has(endpoint)) };
}

/** The tools of an agent that came in a pack, by who it is here. */
function toolsOf({
  registry,
  inventory,
  settings: { tenant },
  documentOf,
}: DescriptionParts["openwop"]): (agent: AgentDocument) => readonly string[] {
  const tools = new Map(
    registry.list(tenant).map((agent) => {
      const entry = inventory.find(agent.agentId, tenant);
      return [documentOf(agent)?.agentId, entry?.toolAllowlist ?? []];
    }),
  );
  return ({ agentId }) => tools.get(agentId) ?? [];
}

/** A name of the form that OpenWOP's are of, which nobody else's is meant to be. */
const OPENWOP_NAME = /^(?:core|vendor|community|private|local)\.[^.]+\./;
const AGENT_ID = /^[0-9a-f]{64}$/;

function findEntry(
  { openwop, directory, isDisclosedTo }: DescriptionParts,
  name: string,
  callerId: string | undefined,
): object | Refusal | undefined {
  const { inventory, settings } = openwop;
  const { total } = inventory.list(settings.tenant);
  // Where there is an inventory, a name that is nobody's is no name in it.
  if (!OPENWOP_NAME.test(name) && (total === 0 || AGENT_ID.test(name))) return undefined;
  const entry = isDisclosedTo(callerId) ? inventory.find(name, settings.tenant) : undefined;
  if (entry !== undefined) return entry;
  return directory.resolve(name) === undefined ? agentNotInstalled() : undefined;
}
