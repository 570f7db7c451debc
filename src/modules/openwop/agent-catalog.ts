/**
 * The installed agents as the HTTP API and the runs read them: the inventory, their packs, and handoff checks.
 * Manifests are listed as their packs have them. An exported manifest can be installed elsewhere: it contains the
 * prompt, its pack brings the files it refers to, and suspected secrets are redacted.   OpenWOP RFC 0072 §A,
 * RFC 0003 §A, §C-D
 */
import { given, type JsonRecord, recordIn } from "../../base/json-value.ts";
import type { Redactor } from "../../base/redaction.ts";
import type { RunError } from "./agent-executor.ts";
import type {
  AgentRegistry,
  InstalledAgent,
  InstalledPack,
  MemoryShape,
} from "./installed-agent.ts";
import { schemaFailure } from "./turn/turn-rules.ts";

/** The direction of a handoff: the task to an agent, or the result back from it. */
type HandoffSide = "task" | "return";

/** The agents that a tenant can run, sorted; unchanged until the next reload. */
export interface AgentCatalog extends Pick<AgentRegistry, "reference"> {
  /** Sorted by agentId. */
  inventory(tenant: string): readonly InventoryEntry[];
  /** Undefined if the tenant has no such agent. */
  find(agentId: string, tenant: string): InventoryEntry | undefined;
  /** The packs with their agents' manifests, as GET /v1/packs lists them. */
  packs(tenant: string): readonly JsonRecord[];
  /** Installable manifests, alone and as packs with the files that they refer to. */
  exports(tenant: string): Readonly<Record<"manifests" | "packs", readonly JsonRecord[]>>;
  /** Returns undefined if the value is valid or the agent declares no schema for it. */
  checkHandoff(
    agentId: string,
    tenant: string,
    side: HandoffSide,
    value: unknown,
  ): RunError | undefined;
}

/** The body of `GET /v1/agents` and `QUERY /agents`. */
export function inventoryBody(agents: readonly InventoryEntry[]): JsonRecord {
  return { agents, total: agents.length };
}

/** The catalog of the agents that are installed. */
export function createCatalog(registry: AgentRegistry, redactor: Redactor): AgentCatalog {
  const entries = new Map(
    registry.all.map((agent) => [agent, Object.freeze(inventoryEntry(agent, redactor))]),
  );
  return {
    inventory: (tenant) => registry.list(tenant).flatMap((agent) => entries.get(agent) ?? []),
    find: (agentId, tenant) => {
      const agent = registry.find(agentId, tenant);
      return agent && entries.get(agent);
    },
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

/** The manifest schema's limits in characters. A redacted name can exceed them and is then cut. */
const MAX_LENGTHS = { persona: 200, label: 100, description: 500 } as const;

/** The manifest as it stands in the pack. */
function listedManifest({ manifest, agentId }: InstalledAgent, redactor: Redactor): JsonRecord {
  const shown = redactor.value(manifest);
  const cut = Object.entries(MAX_LENGTHS).flatMap(([name, length]) => {
    const text = shown[name];
    return typeof text === "string" ? [[name, [...text].slice(0, length).join("")] as const] : [];
  });
  return { ...shown, ...Object.fromEntries(cut), agentId };
}

/** Inlines the agent's prompt into its manifest; an empty prompt can only be a file. */
function exportedManifest(agent: InstalledAgent, redactor: Redactor): JsonRecord {
  const { systemPromptRef, systemPrompt: _, ...manifest } = listedManifest(agent, redactor);
  const prompt = redactor.text(agent.prompt);
  return prompt === "" ? { ...manifest, systemPromptRef } : { ...manifest, systemPrompt: prompt };
}

/**
 * Returns a pack that can be written to a directory: its agents and, by path, the texts that they refer to. It is
 * unsigned, since it differs from the signed pack.
 */
function exportPack(pack: InstalledPack, redactor: Redactor): JsonRecord {
  const { name, version, manifest, agents } = pack;
  const { signing: _s, nodes: _n, connector: _c, ...kept } = manifest;
  const files = agents.flatMap((agent) => filesOf(agent, redactor));
  return {
    ...{ name, version },
    manifest: {
      ...redactor.value(kept),
      agents: agents.map((agent) => exportedManifest(agent, redactor)),
    },
    files: Object.fromEntries(files),
  };
}

function filesOf(agent: InstalledAgent, redactor: Redactor): readonly [string, string][] {
  const { manifest, taskSchema, returnSchema, evalSuite, prompt } = agent;
  const handoff = recordIn(manifest["handoff"]);
  const promptRef = prompt === "" ? manifest["systemPromptRef"] : undefined;
  const named: readonly (readonly [unknown, string | undefined])[] = [
    [handoff["taskSchemaRef"], taskSchema && written(taskSchema.schema)],
    [handoff["returnSchemaRef"], returnSchema && written(returnSchema.schema)],
    [manifest["evalSuiteRef"], evalSuite],
    [promptRef, prompt],
  ];
  return named.flatMap(([path, text]): [string, string][] =>
    typeof path === "string" && text !== undefined ? [[path, redactor.text(text)]] : [],
  );
}

function written(schema: object): string {
  return `${JSON.stringify(schema, undefined, 2)}\n`;
}

export interface InventoryEntry {
  readonly agentId: string;
  readonly persona: string;
  readonly label: string;
  readonly description?: string;
  readonly modelClass: string;
  readonly packName: string;
  readonly packVersion: string;
  readonly toolAllowlist: readonly string[];
  readonly hasHandoffSchemas: boolean;
  readonly memoryShape?: MemoryShape;
  readonly confidenceThreshold?: number;
  readonly degraded?: readonly string[];
  readonly memoryDegraded?: true;
  readonly degradedMemoryDimensions?: readonly string[];
}

function inventoryEntry(agent: InstalledAgent, redactor: Redactor): InventoryEntry {
  const { description, memoryShape, confidenceThreshold, degraded, pack } = agent;
  const dimensions = unmetDimensions(memoryShape);
  return {
    agentId: agent.agentId,
    persona: redactor.text(agent.persona),
    label: redactor.text(agent.label),
    ...(description === undefined ? {} : { description: redactor.text(description) }),
    modelClass: agent.modelClass,
    packName: pack.name,
    packVersion: pack.version,
    toolAllowlist: agent.toolAllowlist.map((tool) => redactor.text(tool)),
    hasHandoffSchemas: agent.taskSchema !== undefined || agent.returnSchema !== undefined,
    ...given({ memoryShape, confidenceThreshold }),
    ...(degraded.length === 0 ? {} : { degraded: degraded.map((key) => redactor.text(key)) }),
    ...(dimensions.length === 0
      ? {}
      : { memoryDegraded: true, degradedMemoryDimensions: dimensions }),
  };
}

/** Memory of a turn is its own steps only, which is a scratchpad. */
function unmetDimensions(shape: MemoryShape = {}): readonly string[] {
  return [
    ...(shape.conversation === true ? ["read", "write"] : []),
    ...(shape.longTerm === true ? ["long-term-durability"] : []),
  ];
}
