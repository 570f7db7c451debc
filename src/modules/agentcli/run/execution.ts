/** The dependencies and outcomes of task runs; keys are the protocol's. */

import { given } from "../../../base/json-value.ts";
import type { ProcessGroups } from "../../../base/process-groups.ts";
import type { TaskOwner } from "../../../base/task-queue.ts";
import type { QueryCaller } from "../../../dispatch/module/query-source.ts";
import type { EndpointDefinition } from "../../../endpoint/endpoint.ts";
import type { Call, HandlerResult } from "../../../handlers/handler.ts";
import type { RunError } from "../compile/endpoints.ts";
import type { TaskPlan } from "../compile/task-plan.ts";
import type { FoundTask } from "../identity/find-task.ts";
import type { TrustLevel } from "../manifest/fields.ts";
import type { World } from "../world.ts";
import type { Approvals, Delegators } from "./approvals.ts";
import type { TaskRuns } from "./task-runs.ts";

/** The parts that are shared by all runs of a deployment. */
export interface Executor {
  readonly world: World;
  readonly approvals: Pick<Approvals, "ask">;
  readonly runs: TaskRuns;
  readonly groups: ProcessGroups;
  /** Undefined if no agent answers prompts. */
  readonly runtime: PromptRuntime | undefined;
  /** The reason that a caller may not act now, or undefined. */
  findInactive(asker: QueryCaller): string | undefined;
  /** The trust level of a tier; undefined if the operator maps no tiers. */
  trustOf(tier: number | undefined): TrustLevel | undefined;
  /** The default timeout in milliseconds. */
  readonly usualTimeoutMs: number;
  /** The daemon's own secrets. */
  readonly secrets: readonly string[];
}

/** The agent that answers prompts. */
export interface PromptRuntime {
  readonly path: string;
  /** Its endpoint as currently served. */
  endpoint(): EndpointDefinition | undefined;
}

/** The caller of a task. */
export interface RunCaller {
  readonly call: Call;
  /** True if this server has the agent's document; state is stored for known agents only. */
  readonly isKnown: boolean;
  readonly delegators: Delegators;
  /** The account that its runs' slots are charged to. */
  readonly payer: TaskOwner;
  /** The reason that the caller may no longer act, or undefined. */
  findInactive(): string | undefined;
}

/** A run of one task. */
export interface Run extends RunCaller {
  readonly found: FoundTask;
  readonly executionId: string;
}

/** A task that was refused or failed. */
export interface RunRefusal {
  readonly kind: "refused";
  readonly error: RunError;
  readonly message: string;
  readonly details?: unknown;
  /** The reason for the operator's log only. */
  readonly reason?: string;
  /** The output if the task was run and failed. */
  readonly output?: TaskOutput;
}

/** The part of an outcome that triggers depend on. */
export interface TaskOutput {
  readonly isOk: boolean;
  readonly text: string;
}

/** A successful outcome: a result, a preview, or a pending approval. */
export interface RunReport {
  readonly kind: "report";
  readonly status: 200 | 202;
  readonly body: Readonly<Record<string, unknown>>;
  /** Undefined if nothing was run. */
  readonly output?: TaskOutput;
}

/** Creates a refusal. */
export function refuseRun(error: RunError, message: string, details?: unknown): RunRefusal {
  return { kind: "refused", error, message, ...given({ details }) };
}

/** Creates the failure of a task that was run, which may trigger others. */
export function failRun(
  error: RunError,
  message: string,
  { text, details }: { readonly text: string; readonly details?: unknown },
): RunRefusal {
  return { ...refuseRun(error, message, details), output: { isOk: false, text } };
}

/** Converts an outcome to a handler's result. */
export function toHandlerResult(outcome: RunReport | RunRefusal): HandlerResult {
  if (outcome.kind === "report") return { status: outcome.status, body: outcome.body };
  const { error, message, details } = outcome;
  return { error, message, ...given({ details }) };
}

/** The maximum length of each stream in the answer, in octets. */
export function outputLimit({ output: { preview_bytes, retrieve } }: TaskPlan): number {
  const wanted = retrieve === "inline" ? preview_bytes * 4 : preview_bytes;
  return Math.min(Math.max(wanted, 65_536), 1_048_576);
}
