/** A run that is to begin, and the body that asks an agent's server for it. */
import type { JsonRecord } from "../../../base/json-value.ts";

/** The content of a run that is to begin. */
export interface RunCreation {
  readonly agentId: string;
  readonly input: unknown;
  readonly config: unknown;
  readonly metadata: JsonRecord;
  /** Undefined: a run without a thread. */
  readonly threadId: string | undefined;
}

/** The agent's configuration goes where the protocol has it, and what it has is there even if empty. */
export function creationBody({
  agentId,
  input,
  config,
  metadata,
  threadId,
}: RunCreation): JsonRecord {
  return {
    agent_id: agentId,
    input,
    config: { configurable: config ?? {} },
    metadata,
    // This server comes back for the run, and must find it when it does.
    on_disconnect: "continue",
    ...(threadId === undefined ? { on_completion: "keep" } : {}),
  };
}
