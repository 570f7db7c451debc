/**
 * The agents that are installed, by id and for whom: those of the host for every tenant, those of a
 * tenant for nobody else.   OpenWOP RFC 0072 §A, RFC 0074
 */
import type { InstalledAgent, InstalledPack } from "./installed-agent.ts";

/** The packs and agents of a tenant. */
export interface AgentRegistry {
  find(agentId: string, tenant: string): InstalledAgent | undefined;
  /** Sorted by agent id. */
  list(tenant: string): readonly InstalledAgent[];
  /** In the order they were installed. */
  packs(tenant: string): readonly InstalledPack[];
  /** Of every tenant. */
  readonly all: readonly InstalledAgent[];
}

/** A registry over packs that are installed. */
export function createAgentRegistry(packs: readonly InstalledPack[]): AgentRegistry {
  const all = packs.flatMap(({ agents }) => agents).toSorted(byAgentId);
  const byKey = new Map(all.map((agent) => [keyOf(agent.agentId, agent.pack.tenant), agent]));
  const isFor = (owner: string | undefined, tenant: string): boolean =>
    owner === undefined || owner === tenant;
  return {
    find: (agentId, tenant) =>
      byKey.get(keyOf(agentId, undefined)) ?? byKey.get(keyOf(agentId, tenant)),
    list: (tenant) => all.filter(({ pack }) => isFor(pack.tenant, tenant)),
    packs: (tenant) => packs.filter((pack) => isFor(pack.tenant, tenant)),
    all,
  };
}

function keyOf(agentId: string, tenant: string | undefined): string {
  return JSON.stringify([tenant, agentId]);
}

function byAgentId(a: InstalledAgent, b: InstalledAgent): number {
  return a.agentId < b.agentId ? -1 : a.agentId > b.agentId ? 1 : 0;
}
