/**
 * Executes queued runs, each until it is over or suspended. A fault is recorded in the run's own log; a run whose
 * log cannot be written is left unchanged.
 *
 *   execute   claims the run and bounds its time
 *     #driveAndReport   records a fault, and notifies the watchers of an interrupt
 *       driveAndNoteStop   records why the run was stopped: cancelled or timed out
 *         driveToRest   copies a fork's prefix, starts the run, completes it
 *           takeNodes   executes the nodes in order, returning for loops
 *             takeNode   starts or resumes a node, executes it, records the outcome (take-node.ts)
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import { traceOf } from "../../../base/thrown.ts";
import { uuidv7 } from "../../../identity/uuid.ts";
import { RunFullError } from "../../../runs/run-kind.ts";
import type { RunExecutor } from "../../../runs/run-schedule.ts";
import { HolderLostError } from "../../../state/holders.ts";
import { isStoreUnavailable } from "../../../state/store-fault.ts";
import type { RunError } from "../agent-executor.ts";
import type { WorkflowNode } from "../workflows/workflow.ts";
import { orderNodes } from "../workflows/workflow-graph.ts";
import { checkHandoffGate } from "./agent-pins.ts";
import { findLoopExcess } from "./fold-run.ts";
import { copyHistory } from "./fork-run.ts";
import { endChildren } from "./pause-run.ts";
import {
  type EventDraft,
  isOver,
  isSuspended,
  MIN_DURATION_MS,
  type Run,
  type RunStop,
} from "./run.ts";
import {
  begun,
  failWherever,
  loopExceeded,
  runCompleted,
  runPaused,
  stopped,
} from "./run-events.ts";
import { type RunLog, RunOverError } from "./run-log.ts";
import { openInterrupt, type RunState } from "./run-state.ts";
import { append, type Driven, failNode, takeNode } from "./take-node.ts";
import type { RunParts } from "./workflow-runs.ts";

export class RunWorker implements RunExecutor {
  readonly concurrent: number;
  readonly #parts: RunParts;

  constructor(parts: RunParts) {
    this.#parts = parts;
    this.concurrent = parts.limits.concurrent;
  }

  async execute(runId: string, stop: AbortController): Promise<void> {
    const { register } = this.#parts;
    // Yields first: reading the request took up this turn of the event loop.
    await nextTurn();
    if (!(await register.claim(runId))) return;
    const log = await register.log(runId, this.#parts);
    if (log === undefined) return;
    const limitMs = this.#durationOf(log.run);
    const timer = setTimeout(() => stop.abort({ kind: "timeout", limitMs }), limitMs).unref();
    try {
      await this.#driveAndReport(log, stop.signal);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Logs the fault; a run that could not be written is resumed by the next process. */
  reportFault(error: unknown, runId: string): void {
    const { logger, redact } = this.#parts;
    logger.warn({ trace: redact(traceOf(error)), run_id: runId }, "a run could not go on");
  }

  async #driveAndReport(log: RunLog, signal: AbortSignal): Promise<void> {
    const { register, watchers } = this.#parts;
    const { run } = log;
    try {
      await driveAndNoteStop(log, signal, this.#parts);
    } catch (error) {
      if (error instanceof RunOverError) return;
      if (error instanceof HolderLostError || isStoreUnavailable(error)) throw error;
      const fault = this.#faultOf(run, error);
      const failing = (state: RunState) => failWherever(fault, state, run, register.now());
      await log.append(failing, [], { isHolders: true });
    }
    // A failed run may have unfinished children.
    if (isOver(log.state.status)) await endChildren(this.#parts, run);
    const interrupt = openInterrupt(log.state);
    if (interrupt === undefined) return;
    for (const watcher of watchers) watcher.onInterrupt(run, interrupt);
  }

  #faultOf({ runId }: Run, error: unknown): RunError {
    if (error instanceof RunFullError) {
      return { code: "event_limit_exceeded", message: error.message };
    }
    const { logger, redact } = this.#parts;
    const correlationId = uuidv7();
    // An agent's error may quote its input.
    const fields = { error_id: correlationId, run_id: runId, trace: redact(traceOf(error)) };
    logger.warn(fields, "a node failed");
    return { code: "internal_error", message: "the server failed", details: { correlationId } };
  }

  /** The minimum of the deployment's, the workflow's and the caller's limits. */
  #durationOf({ configurable, workflow }: Run): number {
    const asked = [configurable["runTimeoutMs"], workflow.settings["timeout"]].filter(
      (value): value is number => typeof value === "number" && value > 0,
    );
    const { durationSeconds } = this.#parts.limits;
    return Math.min(durationSeconds * 1000, ...asked.map((ms) => Math.max(ms, MIN_DURATION_MS)));
  }
}

/**
 * Executes a run from the end of its log until it is over or suspended, node by node in a fixed order. New, resumed,
 * forked and abandoned runs take the same steps. The signal's reason is a `RunStop`.   OpenWOP RFC 0072 §B, "replay"
 */
async function driveAndNoteStop(log: RunLog, signal: AbortSignal, parts: RunParts): Promise<void> {
  const { run } = log;
  try {
    await driveToRest({ log, signal, parts });
  } catch (error) {
    if (!signal.aborted || error instanceof HolderLostError) throw error;
    const stop = signal.reason as RunStop;
    if (stop.kind === "taken") throw new HolderLostError();
    await log.append((state) => stopped(stop, state, run, parts.register.now()), [], {
      isHolders: true,
    });
  }
}

async function driveToRest(driven: Driven): Promise<void> {
  const { log, parts } = driven;
  const { run } = log;
  if (run.source !== undefined) {
    const fault = await copyHistory(log, run.source, parts);
    if (fault !== undefined) return failNode(driven, fault.nodeId, fault.error);
  }
  await append(driven, (state) => begun(state, run));
  // A branch ignores a pause of its source.
  if (run.source?.mode === "branch" && log.state.status === "paused") {
    await append(driven, () => [{ type: "run.resumed", payload: {} }]);
  }
  // The copied events may have ended or suspended the run.
  if (isAtRest(log)) return;
  if ((await takeNodes(driven)) === "halted") return;
  await append(driven, (state) => {
    const pause = askedPause(log);
    return pause.length > 0 ? pause : [runCompleted(run, state, parts.register.now())];
  });
}

/** Executes the nodes in order; `halted` if the run is over or suspended, or another deployment takes it. */
async function takeNodes(driven: Driven): Promise<"done" | "halted"> {
  const { log, parts } = driven;
  const { run } = log;
  const gate = log.state.executions > 0 ? undefined : checkHandoffGate(run, parts);
  const nodes = orderNodes(run.workflow) ?? [];
  let pinned: string | undefined;
  for (let at = 0; at < nodes.length; ) {
    const node = nodes[at] as WorkflowNode;
    const { backTo } = log.state;
    await append(driven, (state) => [...loopExcess(driven, state), ...askedPause(log)]);
    if (isAtRest(log)) return "halted";
    if (parts.isReplaced()) {
      parts.register.enqueueLog(log);
      return "halted";
    }
    // After a loop edge, the previous agent is the one that worked last.
    const before = backTo === undefined ? pinned : log.state.agent?.agentId;
    const taken = await takeNode(driven, node, { pinned: before, gate });
    if (taken === "waiting" || isAtRest(log)) return "halted";
    if (node.disabled !== true) pinned = node.agent?.agentId ?? pinned;
    const { backTo: next } = log.state;
    const isBack = next !== undefined && next.round !== backTo?.round;
    at = isBack ? nodes.findIndex(({ id }) => id === next.nodeId) : at + 1;
  }
  return "done";
}

/** The events of a loop that exceeds its limit. */
function loopExcess({ log: { run }, parts }: Driven, state: RunState): readonly EventDraft[] {
  const excess = findLoopExcess(run, state, parts.limits.loopIterations);
  if (excess === undefined || isOver(state.status)) return [];
  return loopExceeded(excess, state, parts.register.now());
}

/** The pause that was requested during the last node. */
function askedPause({ pause }: RunLog): readonly EventDraft[] {
  return pause === undefined ? [] : [runPaused(pause)];
}

function isAtRest({ state: { status } }: RunLog): boolean {
  return isOver(status) || isSuspended(status);
}
