/**
 * The installed agents of this host: each with its prompt, its compiled handoff schemas, and its degraded capabilities.
 * OpenWOP RFC 0003, RFC 0072 §C
 */

import type { JsonRecord } from "../../base/json-value.ts";
import type { CompiledSchema } from "../../schema/schema.ts";

export const MANIFEST_CLASSES = [
  "reasoning",
  "writing",
  "coding",
  "research",
  "classification",
  "general",
] as const;

/** A class of model that a manifest asks for. */
export type ManifestClass = (typeof MANIFEST_CLASSES)[number];

/** The kinds of memory that an agent expects. */
export interface MemoryShape {
  readonly scratchpad?: boolean;
  readonly conversation?: boolean;
  readonly longTerm?: boolean;
}

/** An agent of a pack, ready to take turns. */
export interface InstalledAgent {
  readonly agentId: string;
  readonly persona: string;
  readonly label: string;
  readonly description: string | undefined;
  readonly modelClass: ManifestClass;
  readonly prompt: string;
  readonly toolAllowlist: readonly string[];
  readonly memoryShape: MemoryShape | undefined;
  /** `confidence.defaultThreshold`. */
  readonly confidenceThreshold: number | undefined;
  /** Undefined if any value is a task. */
  readonly taskSchema: CompiledSchema | undefined;
  /** Undefined if any value is a result. */
  readonly returnSchema: CompiledSchema | undefined;
  /** The suite that `evalSuiteRef` names; it is not run here. */
  readonly evalSuite: string | undefined;
  /** Optional capabilities that this host lacks. */
  readonly degraded: readonly string[];
  readonly pack: PackIdentity;
  /** The manifest as it is written in the pack. */
  readonly manifest: JsonRecord;
}

/** The name and version of a pack. */
export interface PackIdentity {
  readonly name: string;
  readonly version: string;
  /** The tenant that it is installed for; undefined for all tenants. */
  readonly tenant: string | undefined;
  /** Its pack.json, relative to the deployment directory. */
  readonly file: string;
}

/** A pack and its installed agents. */
export interface InstalledPack extends PackIdentity {
  /** Its pack.json. */
  readonly manifest: JsonRecord;
  /** Version ranges by pack name. */
  readonly dependencies: Readonly<Record<string, string>>;
  readonly agents: readonly InstalledAgent[];
}

/** The installed packs and agents, by tenant. */
export interface AgentRegistry {
  find(agentId: string, tenant: string): InstalledAgent | undefined;
  /** The reference that a workflow node pins; undefined if the tenant has no such agent. */
  reference(agentId: string, tenant: string): AgentRef | undefined;
  /** Sorted by agent id. */
  list(tenant: string): readonly InstalledAgent[];
  /** In order of installation. */
  packs(tenant: string): readonly InstalledPack[];
  /** The agents of every tenant. */
  readonly all: readonly InstalledAgent[];
}

/** Creates a registry of installed packs. */
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

/** A reference to an agent; without `channel`, since this host deploys on none. */
export interface AgentRef {
  readonly agentId: string;
  readonly name: string;
  readonly modelClass: string;
  readonly version: string;
  readonly sourceManifestId: string;
}

/** References name model classes differently from manifests. */
const REFERENCE_CLASSES: Readonly<Record<ManifestClass, string>> = {
  reasoning: "reasoning",
  classification: "classification",
  writing: "chat",
  general: "chat",
  coding: "code",
  research: "retrieval",
};

function agentRef({ agentId, persona, modelClass, pack }: InstalledAgent): AgentRef {
  return {
    agentId,
    name: persona,
    modelClass: REFERENCE_CLASSES[modelClass],
    version: pack.version,
    sourceManifestId: agentId,
  };
}
