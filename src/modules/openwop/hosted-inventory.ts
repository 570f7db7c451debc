/** The inventory of OpenWOP agents, as DESCRIBE and QUERY of agents show it.   OpenWOP RFC 0072 §A */
import { isDisclosedTo } from "../../dispatch/caller/disclosure.ts";
import type { HostedInventory } from "../../dispatch/module/module.ts";
import { agentNotInstalled } from "../../dispatch/refusals/openwop-refusals.ts";
import type { Refusal } from "../../dispatch/refusals/refusal.ts";
import type { AgentDocument } from "../../identity/agent-document.ts";
import type { OpenwopContext } from "./config.ts";
import type { OpenwopAgents } from "./host-agents.ts";

/** A name of the form that OpenWOP's are of, which nobody else's is meant to be. */
const OPENWOP_NAME = /^(?:core|vendor|community|private|local)\.[^.]+\./;
const AGENT_ID = /^[0-9a-f]{64}$/;

/** Tells whether a caller may learn which agents there are. */
export function disclosing({
  config,
  deployment,
}: OpenwopContext): (agentId: string | undefined) => boolean {
  const { disclosure } = config.agents;
  return (agentId) => isDisclosedTo({ agents: deployment().directory, disclosure }, agentId);
}

/** The agents of the tenant that AGTP callers belong to. */
export function hostedInventory(context: OpenwopContext, openwop: OpenwopAgents): HostedInventory {
  const { inventory, settings } = openwop;
  const isDisclosed = disclosing(context);
  const isEmpty = inventory.list(settings.tenant).total === 0;
  const find = (name: string, callerId: string | undefined): object | Refusal | undefined => {
    // Where there is an inventory, a name that is nobody's is no name in it.
    if (!OPENWOP_NAME.test(name) && (isEmpty || AGENT_ID.test(name))) return undefined;
    const entry = isDisclosed(callerId) ? inventory.find(name, settings.tenant) : undefined;
    if (entry !== undefined) return entry;
    return context.deployment().directory.resolve(name) === undefined
      ? agentNotInstalled()
      : undefined;
  };
  return { isEmpty, find, toolsOf: toolsOf(openwop) };
}

/** The tools of an agent that came in a pack, by who it is here. */
function toolsOf({
  registry,
  inventory,
  settings: { tenant },
  documentOf,
}: OpenwopAgents): (agent: AgentDocument) => readonly string[] {
  const tools = new Map(
    registry.list(tenant).map((agent) => {
      const entry = inventory.find(agent.agentId, tenant);
      return [documentOf(agent)?.agentId, entry?.toolAllowlist ?? []];
    }),
  );
  return ({ agentId }) => tools.get(agentId) ?? [];
}
