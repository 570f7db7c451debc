/**
 * Executes a run from where its log ends to where it ends or waits: node after node, in an order that
 * never differs. The same steps take a new run, a resumed one, a fork, and one that a killed process
 * left behind.   OpenWOP RFC 0072 §B, "replay"
 */
import { HolderLostError } from "../../../state/holders.ts";
import { orderNodes } from "../workflows/node-order.ts";
import type { WorkflowNode } from "../workflows/workflow.ts";
import { copyHistory } from "./copy-history.ts";
import { begun, loopExceeded, runCompleted, stopped } from "./endings.ts";
import { findLoopExcess } from "./fold-loop.ts";
import { checkHandoffGate } from "./handoff-gate.ts";
import { runPaused } from "./pause-request.ts";
import { isHeld, isOver } from "./run.ts";
import type { EventDraft } from "./run-event.ts";
import type { RunLog } from "./run-log.ts";
import type { RunState } from "./run-state.ts";
import type { RunStop } from "./run-stop.ts";
import { type Driven, type DriveOptions, failNode, say, takeNode } from "./take-node.ts";

/** Goes on until the run is over or waits; the signal's reason is a `RunStop`. */
export async function driveRun(
  log: RunLog,
  signal: AbortSignal,
  options: DriveOptions,
): Promise<void> {
  const { run } = log;
  const { now } = options;
  try {
    await drive({ log, signal, options });
  } catch (error) {
    if (!signal.aborted || error instanceof HolderLostError) throw error;
    const stop = signal.reason as RunStop;
    if (stop.kind === "taken") throw new HolderLostError();
    await log.append((state) => stopped(stop, state, run, now()), [], { isHolders: true });
  }
}

async function drive(driven: Driven): Promise<void> {
  const { log, options } = driven;
  const { run } = log;
  if (run.source !== undefined) {
    const fault = await copyHistory(log, run.source, options);
    if (fault !== undefined) return failNode(driven, fault.nodeId, fault.error);
  }
  await say(driven, (state) => begun(state, run));
  // A branch goes its own way, whether or not its source was to stop there.
  if (run.source?.mode === "branch" && log.state.status === "paused") {
    await say(driven, () => [{ type: "run.resumed", payload: {} }]);
  }
  // The events that were copied may end the run, or have it wait as its source does.
  if (isAtRest(log)) return;
  if ((await walk(driven)) === "halted") return;
  await say(driven, (state) => {
    const pause = askedPause(log);
    return pause.length > 0 ? pause : [runCompleted(run, state, options.now())];
  });
}

/** Takes one node after the other; `halted`: the run is over, or waits. */
async function walk(driven: Driven): Promise<"done" | "halted"> {
  const { log, options } = driven;
  const { run } = log;
  const gate = log.state.executions > 0 ? undefined : checkHandoffGate(run, options);
  const nodes = orderNodes(run.workflow) ?? [];
  let pinned: string | undefined;
  for (let at = 0; at < nodes.length; ) {
    const node = nodes[at] as WorkflowNode;
    const { backTo } = log.state;
    await say(driven, (state) => [...loopExcess(driven, state), ...askedPause(log)]);
    if (isAtRest(log)) return "halted";
    // A loop goes on from the agent that worked last.
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

/** A loop that goes on for too long is not begun again. */
function loopExcess(
  { log: { run }, options: { limits, now } }: Driven,
  state: RunState,
): readonly EventDraft[] {
  const excess = findLoopExcess(run, state, limits.loopIterations);
  return excess === undefined || isOver(state.status) ? [] : loopExceeded(excess, state, now());
}

/** Between two nodes, and behind the last one, a run is paused that somebody wants paused. */
function askedPause({ pause }: RunLog): readonly EventDraft[] {
  return pause === undefined ? [] : [runPaused(pause)];
}

function isAtRest({ state: { status } }: RunLog): boolean {
  return isOver(status) || isHeld(status);
}
