/** A run as its readers see it: what was asked for, and where its log has brought it.   OpenWOP "run-snapshot" */

import { type JsonRecord, presentMembers } from "../../../base/json-value.ts";
import { isWaiting, type Run } from "./run.ts";
import type { RunLog } from "./run-log.ts";
import type { Interrupt, NodeState, RunState } from "./run-state.ts";

const EVENT_LOG_SCHEMA_VERSION = 1;

/** The snapshot; the same run at the same event always has the same one. */
export function runSnapshot(run: Run, state: RunState): JsonRecord {
  const { runId, workflow, owner, source, parent, scopeId, tags, metadata, configurable } = run;
  const { status, currentNodeId, startedAt, completedAt, pausedAt, agent } = state;
  const { variables, outputs, error } = state;
  const interrupt = openInterrupt(state);
  return {
    ...{ runId, workflowId: workflow.id, status },
    owner: { tenant: owner.tenant, principal: owner.principal },
    ...presentMembers({ currentNodeId, startedAt, completedAt, pausedAt, agent }),
    nodeStates: Object.fromEntries(Object.entries(state.nodes).map(withoutSequence)),
    variables,
    ...presentMembers({ outputs, error }),
    ...presentMembers({ interrupt: interrupt && interruptView(interrupt) }),
    ...presentMembers({ parentNodeId: parent?.nodeId, childDepth: parent?.depth }),
    ...presentMembers({
      parentRunId: source?.runId ?? parent?.runId,
      parentSeq: source?.fromSeq,
      forkMode: source?.mode,
    }),
    ...presentMembers({ scopeId }),
    ...{ tags, metadata, configurable, eventLogSchemaVersion: EVENT_LOG_SCHEMA_VERSION },
  };
}

/** The interrupt that the run waits for. */
export function openInterrupt({ status, interrupts }: RunState): Interrupt | undefined {
  if (!isWaiting(status)) return undefined;
  return Object.values(interrupts).find(({ isResolved }) => !isResolved);
}

/** An interrupt, as its readers see it. */
export function interruptView(interrupt: Interrupt): JsonRecord {
  const { interruptId, nodeId, kind, data, resumeSchema, votes } = interrupt;
  const said = votes.length === 0 ? {} : { votes };
  return { interruptId, nodeId, kind, data, ...presentMembers({ resumeSchema }), ...said };
}

/** The outcome of an agent's turn; of other workflows, all that they put out. */
export function runResult({ outputs }: RunState): unknown {
  if (outputs === undefined) return undefined;
  return Object.hasOwn(outputs, "result") ? outputs["result"] : outputs;
}

function withoutSequence([nodeId, node]: readonly [string, NodeState]): [string, JsonRecord] {
  const { startedSequence: _, handedTo: __, ...shown } = node;
  return [nodeId, shown];
}

/**
 * The facts that are told of a run that goes on without its caller: pending, running, or waiting for
 * the answer to its `interrupt`.
 */
export function acceptedRun({ run: { runId }, state }: RunLog): JsonRecord {
  const interrupt = openInterrupt(state);
  return {
    ...{ runId, status: state.status, eventsUrl: `/runs/${runId}/events` },
    ...presentMembers({ interrupt: interrupt && interruptView(interrupt) }),
  };
}
