/**
 * What the HTTP face and the runs read of the installed agents: the inventory, the packs they came
 * in, and whether a value fits an agent's handoff.   OpenWOP RFC 0072 §A, RFC 0003 §D
 */
import type { JsonRecord } from "../../json-value.ts";
import type { RunError } from "./run-starter.ts";

/** One entry of the inventory, closed as its schema has it. */
export interface InventoryEntry extends JsonRecord {
  readonly agentId: string;
  readonly label: string;
  readonly modelClass: string;
  readonly packName: string;
  readonly packVersion: string;
}

/** An installed pack, as GET /v1/packs lists it. */
export interface ListedPack {
  readonly name: string;
  readonly version: string;
  readonly agents: readonly InventoryEntry[];
}

/** Which side of an agent a value is for. */
export type HandoffSide = "task" | "return";

/** The agents that a tenant can run; everything is sorted, and the same until the next reload. */
export interface AgentCatalog {
  /** By agentId. */
  inventory(tenant: string): readonly InventoryEntry[];
  packs(tenant: string): readonly ListedPack[];
  /** Manifests without prompts, schemas and credentials. */
  manifests(tenant: string): readonly JsonRecord[];
  /** Undefined: the value is valid, or the agent declares no schema for it. */
  checkHandoff(
    agentId: string,
    tenant: string,
    side: HandoffSide,
    value: unknown,
  ): RunError | undefined;
}

/** A host that has no agents. */
export const NO_AGENTS: AgentCatalog = {
  inventory: () => [],
  packs: () => [],
  manifests: () => [],
  checkHandoff: () => undefined,
};
