/**
 * DESCRIBE on an agent's path: what it is, what it takes and gives, how it can be had, whether it can
 * be called here and if not why, and how what it depends on stands. Where its server is, and how this
 * server shows who it is there, is nobody's business.
 */
import type { JsonRecord } from "../../../base/json-value.ts";
import type { Pair } from "../../../catalog/pair.ts";
import { viewOptions } from "../choose-option.ts";
import type { ConnectedAgent } from "../connect-agents.ts";
import { type AcpSpecs, schemasOf } from "../manifest/manifest.ts";

/** The body of the answer, for an agent that is served with these endpoints. */
export function describeAgent(
  { declared, remote, readiness, dependencies }: ConnectedAgent,
  agentId: string,
  endpoints: readonly Pair[],
): JsonRecord {
  const { manifest, settings, choice, access } = declared;
  const { name, version, description, specs } = manifest;
  const reason = choice.kind === "declared" ? choice.reason : readiness?.fault;
  return {
    name,
    version,
    description,
    protocol: "agntcy-acp",
    agent_id: agentId,
    base: settings.base,
    callable: reason === undefined,
    ...(reason === undefined ? {} : { reason }),
    status: readiness === undefined ? "declared" : readiness.isReady ? "verified" : "unverified",
    option: choice.option ?? null,
    options: viewOptions(manifest, access.endpoint),
    capabilities: { ...specs.capabilities, cancel: remote?.canCancel ?? false },
    schemas: describeSchemas(specs),
    dependencies: dependencies(),
    endpoints,
    required_scopes: settings.requiredScopes,
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
