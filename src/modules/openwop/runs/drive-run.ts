/**
 * Executes a run from where its log ends to where it ends or waits: node after node, in an order that
 * never differs. The same steps take a new run, a resumed one, a fork, and one that a killed process
 * left behind.   OpenWOP RFC 0072 §B, "replay"
 */
import type { Change } from "../../../state/store.ts";
import type { RunError } from "../run-starter.ts";
import { orderNodes } from "../workflows/node-order.ts";
import type { WorkflowNode } from "../workflows/workflow.ts";
import { findPinFault, pinMismatch } from "./agent-pins.ts";
import { beginNode } from "./begin-node.ts";
import type { ChildRuns } from "./child-request.ts";
import { type CopyOptions, copyHistory } from "./copy-history.ts";
import { begun, loopExceeded, nodeFailed, runCompleted, runFailed, stopped } from "./endings.ts";
import { executeNode } from "./execute-node.ts";
import { findLoopExcess } from "./fold-loop.ts";
import { checkHandoffGate, type HandoffGate } from "./handoff-gate.ts";
import { interruptRequested, nodeCompleted, nodeSuspended } from "./node-events.ts";
import { readInputs } from "./node-inputs.ts";
import { runPaused } from "./pause-request.ts";
import { isHeld, isOver } from "./run.ts";
import type { EventDraft, RunEvent } from "./run-event.ts";
import type { RunLimits } from "./run-limits.ts";
import type { RunLog } from "./run-log.ts";
import type { RunStop } from "./run-schedule.ts";
import type { RunState } from "./run-state.ts";
import { putHeld } from "./run-storage.ts";

/** What runs are executed with. */
export interface DriveOptions extends CopyOptions, HandoffGate {
  readonly children: ChildRuns;
  readonly limits: Pick<RunLimits, "loopIterations">;
  now(): number;
}

/** Goes on until the run is over or waits; the signal's reason is a `RunStop`. */
export async function driveRun(
  log: RunLog,
  signal: AbortSignal,
  options: DriveOptions,
): Promise<void> {
  const { run } = log;
  const { now } = options;
  try {
    await new Drive(log, signal, options).walk();
  } catch (error) {
    if (!signal.aborted) throw error;
    await log.append((state) => stopped(signal.reason as RunStop, state, run, now()));
  }
}

class Drive {
  readonly #log: RunLog;
  readonly #signal: AbortSignal;
  readonly #options: DriveOptions;
  /** It goes on when another run is over. */
  #waits = false;

  constructor(log: RunLog, signal: AbortSignal, options: DriveOptions) {
    this.#log = log;
    this.#signal = signal;
    this.#options = options;
  }

  async walk(): Promise<void> {
    const { run } = this.#log;
    if (run.source !== undefined) {
      const fault = await copyHistory(this.#log, run.source, this.#options);
      if (fault !== undefined) return this.#fail(fault.nodeId, fault.error);
    }
    await this.#say((state) => begun(state, run));
    // A branch goes its own way, whether or not its source was to stop there.
    if (run.source?.mode === "branch" && this.#log.state.status === "paused") {
      await this.#say(() => [{ type: "run.resumed", payload: {} }]);
    }
    // What was copied may have ended, or wait for the word that its source waits for.
    if (this.#isHalted()) return;
    const isBegun = this.#log.state.executions > 0;
    const gate = isBegun ? undefined : checkHandoffGate(run, this.#options);
    const nodes = orderNodes(run.workflow) ?? [];
    let pinned: string | undefined;
    for (let at = 0; at < nodes.length; ) {
      const node = nodes[at] as WorkflowNode;
      const { backTo } = this.#log.state;
      await this.#say((state) => [...this.#excess(state), ...this.#askedPause()]);
      if (this.#isHalted()) return;
      // Whoever worked last is the one that a loop goes on from.
      const before = backTo === undefined ? pinned : this.#log.state.agent?.agentId;
      await this.#step(node, before, gate);
      if (this.#isHalted()) return;
      if (node.disabled !== true) pinned = node.agent?.agentId ?? pinned;
      const { backTo: next } = this.#log.state;
      const isBack = next !== undefined && next.round !== backTo?.round;
      at = isBack ? nodes.findIndex(({ id }) => id === next.nodeId) : at + 1;
    }
    await this.#say((state) => {
      const pause = this.#askedPause();
      return pause.length > 0 ? pause : [runCompleted(run, state, this.#options.now())];
    });
  }

  /** A loop that goes on for too long is not begun again. */
  #excess(state: RunState): readonly EventDraft[] {
    const { limits, now } = this.#options;
    const { run } = this.#log;
    const excess = findLoopExcess(run, state, limits.loopIterations);
    return excess === undefined || isOver(state.status) ? [] : loopExceeded(excess, state, now());
  }

  /** Between two nodes, and behind the last one, a run is paused that somebody wants paused. */
  #askedPause(): readonly EventDraft[] {
    const { pause } = this.#log;
    return pause === undefined ? [] : [runPaused(pause)];
  }

  #isHalted(): boolean {
    const { status } = this.#log.state;
    return this.#waits || isOver(status) || isHeld(status);
  }

  async #step(
    node: WorkflowNode,
    pinned: string | undefined,
    gate: RunError | undefined,
  ): Promise<void> {
    const { state } = this.#log;
    const before = state.nodes[node.id];
    if (before?.status === "completed" || before?.status === "skipped") return;
    if (before?.status === "failed" && before.error !== undefined) {
      const { error } = before;
      await this.#append([runFailed(error, state, this.#options.now(), node.id)]);
      return;
    }
    if (node.disabled === true) {
      const payload = { nodeId: node.id, reason: "disabled" };
      await this.#append([{ type: "node.skipped", nodeId: node.id, payload }]);
      return;
    }
    this.#signal.throwIfAborted();
    const error = (await this.#begin(node, pinned)) ?? gate ?? this.#checkPin(node);
    if (error !== undefined) return this.#fail(node.id, error);
    await this.#execute(node);
  }

  /** Says that the node is begun; why it must not be, if it must not. */
  async #begin(node: WorkflowNode, pinned: string | undefined): Promise<RunError | undefined> {
    const { run, state } = this.#log;
    const { events, error } = beginNode(node, pinned, { run, state, types: this.#options.types });
    if (events.length > 0) await this.#append(events);
    return error;
  }

  /** Packs may have been changed since the run was created. */
  #checkPin({ agent }: WorkflowNode): RunError | undefined {
    const { catalog } = this.#options;
    const { tenant } = this.#log.run.owner;
    const fault = agent && findPinFault(agent, { catalog, tenant });
    return fault && pinMismatch(fault);
  }

  async #execute(node: WorkflowNode): Promise<void> {
    const { state } = this.#log;
    const read = readInputs(node, state);
    if (read.error !== undefined) return this.#fail(node.id, read.error);
    const startedAt = Date.parse(state.nodes[node.id]?.startedAt ?? "");
    const { run } = this.#log;
    const outcome = await executeNode(node, read.inputs, {
      ...{ log: this.#log, signal: this.#signal, startedAt, options: this.#options },
      append: (drafts) => this.#append(drafts),
    });
    switch (outcome.kind) {
      case "failed":
        return this.#fail(node.id, outcome.error);
      case "completed":
        await this.#append([
          ...(outcome.events ?? []),
          nodeCompleted(node, outcome.outputs, this.#options.now() - startedAt),
        ]);
        return;
      case "waiting":
        this.#waits = true;
        await this.#append(outcome.events);
        return;
      case "suspended": {
        const startedSequence = state.nodes[node.id]?.startedSequence ?? 0;
        const at = { run, nodeId: node.id, startedSequence };
        await this.#append(interruptRequested(outcome.request, at));
        return;
      }
      case "low-confidence": {
        const { result } = outcome;
        const held = putHeld(run.runId, node.id, result);
        await this.#say(() => [nodeSuspended(node.id, outcome)], [held]);
      }
    }
  }

  async #fail(nodeId: string, error: RunError): Promise<void> {
    const { run } = this.#log;
    await this.#say((state) => [
      ...begun(state, run),
      ...nodeFailed(nodeId, error, state, this.#options.now()),
    ]);
  }

  #append(drafts: readonly EventDraft[]): Promise<readonly RunEvent[]> {
    return this.#say(() => drafts);
  }

  /** An execution that was stopped says nothing more: whoever stopped it has said what there is. */
  #say(
    drafts: (state: RunState) => readonly EventDraft[],
    alongside: readonly Change[] = [],
  ): Promise<readonly RunEvent[]> {
    return this.#log.append((state) => {
      this.#signal.throwIfAborted();
      return drafts(state);
    }, alongside);
  }
}
