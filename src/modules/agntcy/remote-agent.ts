/** An agent at a remote server: its manifest, its client, and its verification against the manifest. */
import type { AcpFailure } from "./acp/acp-call.ts";
import type { AcpClient } from "./acp/acp-client.ts";
import type { AgentManifest } from "./manifest/manifest.ts";

/** The agent is missing, or differs from its manifest. */
export interface AgentUnavailable {
  readonly kind: "unavailable";
  readonly message: string;
}

/** The agent's id at its server, or why it is not available. */
export type Readiness =
  | { readonly kind: "ready"; readonly agentId: string }
  | AgentUnavailable
  | AcpFailure;

/** An agent served on one path. */
export interface RemoteAgent {
  readonly base: string;
  readonly manifest: AgentManifest;
  readonly client: AcpClient;
  /** The maximum duration of a run between interrupts. */
  readonly timeoutMs: number;
  /** True if its server can cancel runs. */
  readonly canCancel: boolean;
  /** True if the agent that began a run may answer interrupts addressed to it. */
  readonly agentAnswers: boolean;
  /** The scope that lets agents besides the operators answer interrupts. */
  readonly approverScope: string | undefined;
  /** Resolves at once if the agent was verified at the start. */
  ready(signal: AbortSignal): Promise<Readiness>;
  /** Discards an id that the server no longer knows, so that the agent is found anew. */
  forget(agentId: string): void;
}

/** Tells whether an agent streams the events of its runs. */
export function streams({ specs: { capabilities } }: AgentManifest): boolean {
  return capabilities.streaming.values || capabilities.streaming.custom;
}
