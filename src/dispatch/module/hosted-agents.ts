/**
 * The agents that a module hosts, whatever system they come from: who they are here, why one may not
 * act, and how long a call of it may wait.
 */
import type { AgentDocument } from "../../identity/agent-document.ts";
import {
  type HostedAgent,
  type HostedIdentities,
  identifyHosted,
  openHostedIdentities,
} from "../../state/registers/hosted-identity.ts";
import type { ModuleContext } from "./module.ts";
import type { Taking } from "./shared-sections.ts";

/** A handler ends a little before its deadline, so that it says itself what there is to say. */
const HANDLER_MARGIN_MS = 500;

/** The identities of agents; keep them before anything is served. */
export function identifyAgents(
  agents: readonly HostedAgent[],
  context: ModuleContext<Taking<"server">>,
): Promise<HostedIdentities> {
  const { config, signingKey, directory, drive } = context;
  const { serverId, operator } = config.server;
  const openKept = () => context.once(openHostedIdentities);
  const places = { openKept, known: directory.list(), drive };
  return identifyHosted(agents, { serverId, operator, signingKey }, places);
}

/** Why an agent does not act, in words: its identity may be suspended or retired. */
export function findInactive(
  { lifecycle }: ModuleContext["state"],
  document: AgentDocument,
): string | undefined {
  const status = lifecycle.statusOf(document);
  return status === "suspended" || status === "retired" ? `the agent is ${status}` : undefined;
}

/** The longest that a handler may wait for a run, in milliseconds. */
export function longestWaitMs({ handlerTimeoutMs }: { readonly handlerTimeoutMs: number }): number {
  return Math.max(0, handlerTimeoutMs - HANDLER_MARGIN_MS);
}
