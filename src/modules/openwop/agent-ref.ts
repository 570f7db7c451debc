/**
 * An installed agent as runs name it: the slim reference that workflow nodes pin and that events and
 * snapshots carry. Its classes of model are other words than a manifest's.   OpenWOP RFC 0002 §A
 */
import type { InstalledAgent, ManifestClass } from "./installed-agent.ts";

/** A reference to an agent; it never names a channel, since nothing is deployed on one. */
export interface AgentRef {
  readonly agentId: string;
  readonly name: string;
  readonly modelClass: string;
  readonly version: string;
  readonly sourceManifestId: string;
}

const REFERENCE_CLASSES: Readonly<Record<ManifestClass, string>> = {
  reasoning: "reasoning",
  classification: "classification",
  writing: "chat",
  general: "chat",
  coding: "code",
  research: "retrieval",
};

/** The reference of an agent. */
export function agentRef({ agentId, persona, modelClass, pack }: InstalledAgent): AgentRef {
  return {
    agentId,
    name: persona,
    modelClass: REFERENCE_CLASSES[modelClass],
    version: pack.version,
    sourceManifestId: agentId,
  };
}
