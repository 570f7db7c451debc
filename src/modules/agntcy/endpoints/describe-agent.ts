/**
 * DESCRIBE on an agent's path: what it is, what it takes and gives, how it can be had, whether it can
 * be called here and if not why, and how what it depends on stands. Where its server is, and how this
 * server shows who it is there, is nobody's business.
 */
import type { JsonRecord } from "../../../base/json-value.ts";
import { type OptionView, viewOptions } from "../choose-option.ts";
import type { DependencyView } from "../dependencies/dependency-tree.ts";
import { type AcpSpecs, type AgentManifest, schemasOf } from "../manifest/manifest.ts";
import type { LazyReadiness } from "../verification/readiness.ts";

/** The parts of a description. */
export interface AgentDescription {
  readonly manifest: AgentManifest;
  readonly base: string;
  /** Its AGTP identity. */
  readonly agentId: string | undefined;
  readonly option: OptionView | undefined;
  /** The operator's path to it. */
  readonly endpoint: string | undefined;
  /** Why it cannot be called here. */
  readonly reason: string | undefined;
  readonly canCancel: boolean;
  /** True if its server was found and compared; undefined for one that cannot be called. */
  readonly readiness: Pick<LazyReadiness, "isReady" | "fault"> | undefined;
  dependencies(): readonly DependencyView[];
  readonly endpoints: readonly { readonly method: string; readonly path: string }[];
  readonly requiredScopes: readonly string[];
}

/** The body of the answer. */
export function describeAgent(description: AgentDescription): JsonRecord {
  const { manifest, option, endpoint, readiness } = description;
  const { name, version, specs } = manifest;
  const reason = description.reason ?? readiness?.fault;
  return {
    name,
    version,
    description: manifest.description,
    protocol: "agntcy-acp",
    agent_id: description.agentId ?? null,
    base: description.base,
    callable: reason === undefined,
    ...(reason === undefined ? {} : { reason }),
    status: readiness === undefined ? "declared" : readiness.isReady ? "verified" : "unverified",
    option: option ?? null,
    options: viewOptions(manifest, endpoint),
    capabilities: { ...specs.capabilities, cancel: description.canCancel },
    schemas: describeSchemas(specs),
    dependencies: description.dependencies(),
    endpoints: description.endpoints,
    required_scopes: description.requiredScopes,
  };
}

function describeSchemas(specs: AcpSpecs): JsonRecord {
  const interrupts = specs.interrupts.map(({ type, payload, resume, asksAgent }) => ({
    interrupt_type: type,
    asks: asksAgent ? "agent" : "people",
    interrupt_payload: payload.schema,
    resume_payload: resume.schema,
  }));
  return { ...schemasOf(specs), interrupts };
}
