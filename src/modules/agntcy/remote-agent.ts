/**
 * An agent that this server drives for others: its manifest, the way to its server, and whether it
 * has been found there and is what its manifest says.
 */
import type { AcpFailure } from "./acp/acp-call.ts";
import type { AcpClient } from "./acp/acp-client.ts";
import type { AgentManifest } from "./manifest/manifest.ts";

/** The agent is not there, or is not what was declared. */
export interface AgentUnavailable {
  readonly kind: "unavailable";
  readonly message: string;
}

/** Found: its id with its server. */
export type Readiness =
  | { readonly kind: "ready"; readonly agentId: string }
  | AgentUnavailable
  | AcpFailure;

/** One agent on one path. */
export interface RemoteAgent {
  readonly base: string;
  readonly manifest: AgentManifest;
  readonly client: AcpClient;
  /** The longest that a run may take without stopping to ask. */
  readonly timeoutMs: number;
  /** True if its server calls runs off. */
  readonly canCancel: boolean;
  /** True if who began a run may answer what its manifest says is asked of it. */
  readonly agentAnswers: boolean;
  /** Agents that hold it may answer what a run asks, beside the operators. */
  readonly approverScope: string | undefined;
  /** At once where it was verified at the start. */
  ready(signal: AbortSignal): Promise<Readiness>;
  /** Its server does not know this id any more: it is to be found anew. */
  forget(agentId: string): void;
}

/** Tells whether an agent tells what happens in a run while it is under way. */
export function streams({ specs: { capabilities } }: AgentManifest): boolean {
  return capabilities.streaming.values || capabilities.streaming.custom;
}
