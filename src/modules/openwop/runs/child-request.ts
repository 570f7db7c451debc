/** Between nodes and the runs that they begin.   OpenWOP "node-packs" core.subWorkflow */
import type { JsonRecord } from "../../../base/json-value.ts";
import type { RunError } from "../agent-executor.ts";
import type { Run } from "./run.ts";
import type { RunState } from "./run-state.ts";

/** A run that was begun, as it stands. */
export interface ChildRun {
  readonly run: Run;
  readonly state: RunState;
}

/** The run that is asked for. */
export interface ChildRequest {
  readonly workflowId: string;
  readonly inputs: JsonRecord;
  /** Variables that have no value, whatever their defaults are. */
  readonly unset: readonly string[];
}

/** One execution of a node. */
export interface NodeExecution {
  readonly run: Run;
  readonly nodeId: string;
  readonly startedSequence: number;
}

/** Begins runs for nodes. */
export interface ChildRuns {
  /** The run of an execution, begun now unless it `isBegun`; or why there is none. */
  begin(
    place: NodeExecution,
    request: ChildRequest,
    isBegun: boolean,
  ): Promise<ChildRun | RunError>;
}
