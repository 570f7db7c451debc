/**
 * The agents that a module hosts from another system: their AGTP identities, why one is inactive,
 * and how long a call of one may wait.
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

/** A handler ends shortly before its deadline, so that it can answer in its own words. */
const HANDLER_MARGIN_MS = 500;

/** Resolves the identities of agents; store them before anything is served. */
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

/** Returns the reason why an agent is inactive, in words; undefined if it is active. */
export function findInactive(
  { lifecycle }: ModuleContext["state"],
  document: AgentDocument,
): string | undefined {
  const status = lifecycle.statusOf(document);
  return status === "suspended" || status === "retired" ? `the agent is ${status}` : undefined;
}

/** Returns the longest time that a handler may wait for a run, in milliseconds. */
export function longestWaitMs({ handlerTimeoutMs }: { readonly handlerTimeoutMs: number }): number {
  return Math.max(0, handlerTimeoutMs - HANDLER_MARGIN_MS);
}
