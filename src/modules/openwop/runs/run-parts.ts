/** The parts that the runs of a deployment are made, executed, answered and ended with. */
import type { CallLog } from "../../../handlers/handler.ts";
import type { SchemaCompiler } from "../../../schema/schema.ts";
import type { AgentCatalog } from "../agent-catalog.ts";
import type { RunLimits } from "../config.ts";
import type { NodeTypes } from "../nodes/node-type.ts";
import type { Workflows } from "../workflows/load-workflows.ts";
import type { RequestShapes } from "./make-run.ts";
import type { Redact } from "./run-log.ts";
import type { RunWatcher } from "./run-state.ts";
import type { WorkflowRuns } from "./workflow-runs.ts";

/** What a deployment has for its runs. */
export interface RunParts extends RequestShapes {
  readonly register: WorkflowRuns;
  readonly workflows: Workflows;
  readonly types: NodeTypes;
  readonly catalog: AgentCatalog;
  readonly compiler: SchemaCompiler;
  readonly redact: Redact;
  readonly limits: RunLimits;
  readonly isConformance: boolean;
  readonly log: Pick<CallLog, "warn">;
  /** Aborted when nobody is to wait for a run any more: the server begins to stop. */
  readonly stopping: AbortSignal;
  /** They hear of every run that begins to wait, or has its answer. */
  readonly watchers: ReadonlySet<RunWatcher>;
}
