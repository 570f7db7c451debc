/**
 * The installed agents as the HTTP API and the runs read them: the inventory, the packs they came
 * in, and whether a value fits an agent's handoff.   OpenWOP RFC 0072 §A, RFC 0003 §D
 */
import type { JsonRecord } from "../../base/json-value.ts";
import type { RunError } from "./agent-executor.ts";
import type { AgentRegistry } from "./agent-registry.ts";
import type { AgentInventory, InventoryEntry } from "./inventory.ts";
import {
  type ExportedPack,
  exportedManifest,
  exportPack,
  listedManifest,
} from "./packs/export-pack.ts";
import type { Redactor } from "./redaction.ts";
import { schemaFailure } from "./turn/outcome.ts";

/** An installed pack, as GET /v1/packs lists it. */
interface ListedPack {
  readonly name: string;
  readonly version: string;
  /** Manifests, as they stand in the pack. */
  readonly agents: readonly JsonRecord[];
}

/** The answer to GET /v1/packs/export. */
interface PackExport {
  readonly manifests: readonly JsonRecord[];
  readonly packs: readonly ExportedPack[];
}

/** The side of an agent that a value is for. */
type HandoffSide = "task" | "return";

/** The agents that a tenant can run; everything is sorted, and the same until the next reload. */
export interface AgentCatalog extends Pick<AgentRegistry, "reference"> {
  /** By agentId. */
  inventory(tenant: string): readonly InventoryEntry[];
  packs(tenant: string): readonly ListedPack[];
  /** Manifests that can be installed elsewhere, by themselves and in packs with their files. */
  exports(tenant: string): PackExport;
  /** Undefined: the value is valid, or the agent declares no schema for it. */
  checkHandoff(
    agentId: string,
    tenant: string,
    side: HandoffSide,
    value: unknown,
  ): RunError | undefined;
}

interface CatalogSources {
  readonly registry: AgentRegistry;
  readonly inventory: AgentInventory;
  readonly redactor: Redactor;
}

/** The catalog of the agents that are installed. */
export function createCatalog({ registry, inventory, redactor }: CatalogSources): AgentCatalog {
  return {
    inventory: (tenant) => inventory.list(tenant).agents,
    reference: registry.reference,
    packs: (tenant) =>
      registry.packs(tenant).map(({ name, version, agents }) => ({
        ...{ name, version },
        agents: agents.map((agent) => listedManifest(agent, redactor)),
      })),
    exports: (tenant) => ({
      manifests: registry.list(tenant).map((agent) => exportedManifest(agent, redactor)),
      packs: registry
        .packs(tenant)
        .filter(({ agents }) => agents.length > 0)
        .map((pack) => exportPack(pack, redactor)),
    }),
    checkHandoff: (agentId, tenant, side, value) => {
      const agent = registry.find(agentId, tenant);
      const schema = side === "task" ? agent?.taskSchema : agent?.returnSchema;
      const violations = schema?.check(value);
      if (violations === undefined) return undefined;
      return schemaFailure(`handoff_${side}_schema_violation`, violations, redactor).error;
    },
  };
}
