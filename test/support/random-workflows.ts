/** Random workflows, the words and the disturbances that their runs meet, and which of these are left standing. */
import fc from "fast-check";
import type { AgentExecutor } from "../../src/modules/openwop/agent-executor.ts";
import { isOver, isSuspended } from "../../src/modules/openwop/runs/run.ts";
import type { RunCaller } from "../../src/modules/openwop/runs/run-entry.ts";
import type { RunHost } from "../../src/modules/openwop/runs/run-host.ts";
import type { RunLog } from "../../src/modules/openwop/runs/run-log.ts";
import type { Interrupt } from "../../src/modules/openwop/runs/run-state.ts";
import type { WorkflowRuns } from "../../src/modules/openwop/runs/workflow-runs.ts";
import type {
  WorkflowDefinition,
  WorkflowNode,
} from "../../src/modules/openwop/workflows/workflow.ts";
import { BOOKER, CONCIERGE, ordinaryTurn, scriptedAgents } from "./openwop-agents.ts";
import { node, workflow } from "./openwop-workflows.ts";

const TYPES = [
  ...(["noop", "write", "gate", "votes", "ask", "child", "fail", "off", "turn", "unsure"] as const),
];
type Type = (typeof TYPES)[number];

const ACTIONS = ["accept", "refine", "reject"];

function nodeOf(type: Type, at: number): WorkflowNode {
  const id = `n${at}`;
  switch (type) {
    case "noop":
      return node(id, "core.identity");
    case "off":
      return node(id, "core.noop", { disabled: true });
    case "write":
      return node(id, "core.channelWrite", { config: { channelName: "notes", value: at } });
    case "gate":
      return node(id, "core.approvalGate", { config: { actions: ACTIONS } });
    case "votes":
      return node(id, "core.approvalGate", { config: { actions: ACTIONS, requiredApprovals: 2 } });
    case "ask":
      return node(id, "core.clarificationGate", { config: { question: "which?" } });
    case "child":
      return node(id, "core.subWorkflow", { config: { workflowId: "inner" } });
    case "turn":
      return node(id, "core.agent", { agent: { agentId: CONCIERGE } });
    case "unsure":
      return node(id, "core.agent", { agent: { agentId: BOOKER } });
    case "fail":
      return node(id, "core.fail");
  }
}

/** A chain; a gate may lead back to its beginning. */
function chain(id: string, types: readonly Type[], isLooping: boolean): WorkflowDefinition {
  const flow = workflow(id, types.map(nodeOf));
  const gates = flow.nodes.filter(({ typeId }) => typeId === "core.approvalGate");
  const condition = { type: "equals", left: "action", right: "refine" } as const;
  const back = gates.map(({ id: sourceNodeId }) => {
    return { id: `back-${sourceNodeId}`, sourceNodeId, targetNodeId: "n0", condition };
  });
  return isLooping ? { ...flow, edges: [...flow.edges, ...back] } : flow;
}

/** One that is sure of what it does, and one that is not, and would hand on. */
export const EXECUTOR: AgentExecutor = scriptedAgents(async (turn) => {
  const { agentId, emit } = turn;
  if (agentId === CONCIERGE) return ordinaryTurn(turn);
  await emit({ type: "agent.reasoned", payload: { agentId, reasoning: "perhaps" } });
  await emit({ type: "agent.decided", payload: { agentId, decision: "ask", confidence: 0.2 } });
  const doubt = { kind: "low-confidence", threshold: 0.7, observed: 0.2, decision: "ask" } as const;
  return { ...doubt, result: { reply: "perhaps" }, handoff: { toAgentId: CONCIERGE } };
});

/** A word for what a run waits for; a gate hears one of three. */
export function wordFor({ kind }: Interrupt, word: number): unknown {
  const action = ACTIONS[word % ACTIONS.length];
  const refineFeedback = { scope: "whole", text: "again" };
  switch (kind) {
    case "clarification":
      return { answers: { answer: word } };
    case "approval":
      return { action, ...(action === "refine" ? { refineFeedback } : {}) };
    case "low-confidence":
      return action === "refine" ? { decision: "other" } : { action };
  }
}

/** A workflow, `outer`, and the one that it may begin runs of, `inner`. */
export const FLOWS: fc.Arbitrary<readonly WorkflowDefinition[]> = fc
  .tuple(typesOf(4), typesOf(2), fc.boolean())
  .map(([outer, inner, isLooping]) => {
    const within = inner.map((type) => (type === "child" ? "gate" : type));
    return [chain("outer", outer, isLooping), chain("inner", within, false)];
  });

function typesOf(maxLength: number): fc.Arbitrary<readonly Type[]> {
  // Those that wait for somebody are what most can go wrong with.
  const type = fc.constantFrom<Type>(...TYPES, "gate", "unsure", "unsure", "unsure");
  return fc.array(type, { minLength: 1, maxLength });
}

/** Neither over nor waiting, for itself or for a run that it began; and forks that are not whole yet. */
export function standing(logs: readonly RunLog[]): readonly string[] {
  const statusOf = new Map(logs.map(({ run, state }) => [run.runId, state.status]));
  return logs
    .filter(({ run: { source }, state: { status, nodes, nextSequence } }) => {
      if (isOver(status)) return false;
      if (source !== undefined && nextSequence < source.copied) return true;
      if (isSuspended(status)) return false;
      const children = Object.values(nodes).flatMap(({ childRunId }) => childRunId ?? []);
      return !children.some((id) => {
        const childStatus = statusOf.get(id);
        return childStatus !== undefined && !isOver(childStatus);
      });
    })
    .map(({ run: { runId }, state: { status } }) => `${runId} ${status}`);
}

/** A run, and who works on it from outside. */
interface Disturbed {
  readonly host: Pick<RunHost, "cancel" | "pause" | "resume" | "fork">;
  readonly register: Pick<WorkflowRuns, "find">;
  readonly caller: RunCaller;
  readonly runId: string;
}

const DISTURBANCES = ["cancel", "pause", "cut", "resume", "replay", "branch"] as const;
/** The ways in which a run is disturbed. */
export type Disturbance = (typeof DISTURBANCES)[number];

export function isDisturbance(kind: string): kind is Disturbance {
  return DISTURBANCES.some((one) => one === kind);
}

/** Disturbs a run; a refusal is as good as anything. */
export async function disturb(
  kind: Disturbance,
  { host, register, caller, runId }: Disturbed,
  word: number,
): Promise<void> {
  switch (kind) {
    case "cancel":
      return void (await host.cancel(runId, undefined, caller));
    case "pause":
      return void (await host.pause(runId, { drainPolicy: "drain-current-node" }, caller));
    case "cut":
      return void (await host.pause(runId, { drainPolicy: "immediate" }, caller));
    case "resume":
      return void (await host.resume(runId, undefined, caller));
    case "replay":
      return void (await host.fork(runId, { mode: "replay" }, caller));
    case "branch": {
      const { eventCount = 0 } = register.find(runId) ?? {};
      const fromSeq = word % Math.max(1, eventCount);
      return void (await host.fork(runId, { mode: "branch", fromSeq }, caller));
    }
  }
}
