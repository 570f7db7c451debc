/**
 * The agents that are installed, by id and for whom: those of the host for every tenant, those of a
 * tenant for nobody else; and the slim reference to one that workflow nodes pin and that events and
 * snapshots carry.   OpenWOP RFC 0072 §A, RFC 0074, RFC 0002 §A
 */
import type { InstalledAgent, InstalledPack, ManifestClass } from "./installed-agent.ts";

/** The packs and agents of a tenant. */
export interface AgentRegistry {
  find(agentId: string, tenant: string): InstalledAgent | undefined;
  /** As a workflow node names an agent; undefined: there is none, for this tenant. */
  reference(agentId: string, tenant: string): AgentRef | undefined;
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
  const find = (agentId: string, tenant: string): InstalledAgent | undefined =>
    byKey.get(keyOf(agentId, undefined)) ?? byKey.get(keyOf(agentId, tenant));
  return {
    find,
    reference: (agentId, tenant) => {
      const agent = find(agentId, tenant);
      return agent && agentRef(agent);
    },
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

/** A reference to an agent; it never names a channel, since nothing is deployed on one. */
export interface AgentRef {
  readonly agentId: string;
  readonly name: string;
  readonly modelClass: string;
  readonly version: string;
  readonly sourceManifestId: string;
}

/** A reference's classes of model are other words than a manifest's. */
const REFERENCE_CLASSES: Readonly<Record<ManifestClass, string>> = {
  reasoning: "reasoning",
  classification: "classification",
  writing: "chat",
  general: "chat",
  coding: "code",
  research: "retrieval",
};

/** The reference of an agent. */
function agentRef({ agentId, persona, modelClass, pack }: InstalledAgent): AgentRef {
  return {
    agentId,
    name: persona,
    modelClass: REFERENCE_CLASSES[modelClass],
    version: pack.version,
    sourceManifestId: agentId,
  };
}
