/**
 * EXECUTE on an agent's path: begins a run with its server, and waits for it as long as the caller
 * says. 200 with the output · 202 while it is under way, or when it stops to ask · 404 another's
 * thread · 409 a thread that is busy · 422 the run failed, or the server did, by name · 429
 */

import { refusal } from "../../../dispatch/refusal.ts";
import type { Call, HandlerResult } from "../../../handlers/handler.ts";
import { uuidv7 } from "../../../identity/uuid.ts";
import { isRecord } from "../../../json-value.ts";
import { beginRun } from "../runs/begin-run.ts";
import type { AgentRun } from "../runs/run.ts";
import type { AgentThread } from "../runs/thread-register.ts";
import { type HostedRuns, remainingWait } from "./hosted-runs.ts";
import { answerRun, refuse, threadNotFound, tooMany, upstreamError } from "./run-answers.ts";

/** Answers EXECUTE. */
export async function executeAgent(hosted: HostedRuns, call: Call): Promise<HandlerResult> {
  const startedAt = Date.now();
  const { agent, register, threads, findLapse } = hosted;
  const owner = call.agentId ?? "";
  const lapse = findLapse();
  if (lapse !== undefined) return upstreamError(call, lapse);
  const threadId = call.input["thread_id"];
  const thread = typeof threadId === "string" ? threads.find(threadId) : undefined;
  if (threadId !== undefined) {
    if (thread?.owner !== owner || thread.base !== agent.base) return threadNotFound();
    if (register.isBusy(thread.threadId)) return threadBusy();
  }
  const reservation = register.reserve(owner, agent.base, thread?.threadId);
  if (reservation === undefined) return tooMany("runs");
  let begun: AgentRun | HandlerResult;
  try {
    begun = await begin(hosted, call, owner, thread);
  } finally {
    reservation.release();
  }
  if (!("runId" in begun)) return begun;
  hosted.follower.follow(begun, agent);
  const waitMs = remainingWait(hosted, call.input["wait_seconds"], startedAt);
  const waiting = AbortSignal.any([call.signal, hosted.stopping]);
  await register.settled(begun.runId, waitMs, waiting);
  return answerRun(register, agent, register.find(begun.runId) ?? begun);
}

/** The run once it is kept, or why there is none. A caller that leaves does not undo it. */
async function begin(
  { agent, register, patience, closing, maxWaitMs }: HostedRuns,
  call: Call,
  owner: string,
  thread: AgentThread | undefined,
): Promise<AgentRun | HandlerResult> {
  const { base, client, timeoutMs } = agent;
  const signal = AbortSignal.any([closing, AbortSignal.timeout(maxWaitMs)]);
  const ready = await agent.ready(signal);
  if (ready.kind !== "ready") return upstreamError(call, ready);
  const { input, config, metadata } = call.input;
  const runId = uuidv7();
  const begun = await beginRun({
    creation: {
      ...{ agentId: ready.agentId, input, config, threadId: thread?.upstreamThreadId },
      metadata: isRecord(metadata) ? metadata : {},
    },
    ...{ client, runId, patience, signal, timeoutMs, closing },
  });
  if (begun.kind === "failed") return upstreamError(call, begun);
  const run = await register.create({
    ...{ runId, base, owner, upstreamAgentId: ready.agentId, upstreamRunId: begun.value },
    deadlineAt: Date.now() + timeoutMs,
    ...(thread === undefined
      ? {}
      : { threadId: thread.threadId, upstreamThreadId: thread.upstreamThreadId }),
  });
  return run ?? tooMany("runs");
}

function threadBusy(): HandlerResult {
  const message = "a run of the thread is not over: wait for it, or answer what it asks";
  return refuse(refusal(409, "thread_busy", message));
}
