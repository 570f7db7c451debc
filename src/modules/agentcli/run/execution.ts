/** The parts that runs of tasks are made with, and their outcomes; keys are the protocol's. */

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

/** The parts that all runs of a deployment share. */
export interface Executor {
  readonly world: World;
  readonly approvals: Pick<Approvals, "ask">;
  readonly runs: TaskRuns;
  readonly groups: ProcessGroups;
  /** Undefined: prompts have nobody to go to. */
  readonly runtime: PromptRuntime | undefined;
  /** Why a caller may not act at this moment, in words. */
  findInactive(asker: QueryCaller): string | undefined;
  /** The trust in a caller of a tier; undefined where the operator maps no tier at all. */
  trustOf(tier: number | undefined): TrustLevel | undefined;
  /** Milliseconds that a task may take which does not say. */
  readonly usualTimeoutMs: number;
  /** Secrets of the daemon's own. */
  readonly secrets: readonly string[];
}

/** The agent behind `prompt_runtime`. */
export interface PromptRuntime {
  readonly path: string;
  /** As it is served now. */
  endpoint(): EndpointDefinition | undefined;
}

/** For whom tasks run. */
export interface RunCaller {
  readonly call: Call;
  /** True if this server has the agent's document: for nobody else does it keep anything. */
  readonly isKnown: boolean;
  readonly delegators: Delegators;
  /** The owner of the places that its runs take. */
  readonly payer: TaskOwner;
  /** Why the caller may not act any more, in words. */
  findInactive(): string | undefined;
}

/** One task that is to run, and for whom. */
export interface Run extends RunCaller {
  readonly found: FoundTask;
  readonly executionId: string;
}

/** Why a task did not run, or did not do what it promised. */
export interface RunRefusal {
  readonly kind: "refused";
  readonly error: RunError;
  readonly message: string;
  readonly details?: unknown;
  /** The reason for the operator alone, in the log. */
  readonly reason?: string;
  /** Of a task that was let run, and has failed; undefined where it was not. */
  readonly output?: TaskOutput;
}

/** The parts that triggers look at: how a task has ended, and what it has put out. */
export interface TaskOutput {
  readonly isOk: boolean;
  readonly text: string;
}

/** A run that came to something: a result, a preview, or a question for a person. */
export interface RunReport {
  readonly kind: "report";
  readonly status: 200 | 202;
  readonly body: Readonly<Record<string, unknown>>;
  /** Undefined where nothing has run. */
  readonly output?: TaskOutput;
}

/** Refuses. */
export function refuseRun(error: RunError, message: string, details?: unknown): RunRefusal {
  return { kind: "refused", error, message, ...given({ details }) };
}

/** Refuses to call a task done that was let run; others may follow on its failure. */
export function failRun(
  error: RunError,
  message: string,
  { text, details }: { readonly text: string; readonly details?: unknown },
): RunRefusal {
  return { ...refuseRun(error, message, details), output: { isOk: false, text } };
}

/** As a handler answers it. */
export function toHandlerResult(outcome: RunReport | RunRefusal): HandlerResult {
  if (outcome.kind === "report") return { status: outcome.status, body: outcome.body };
  const { error, message, details } = outcome;
  return { error, message, ...given({ details }) };
}

/** The most of each stream that is shown. */
export function outputLimit({ output: { preview_bytes, retrieve } }: TaskPlan): number {
  const wanted = retrieve === "inline" ? preview_bytes * 4 : preview_bytes;
  return Math.min(Math.max(wanted, 65_536), 1_048_576);
}
