/**
 * EXECUTE on an agent's path: begins a run at its server and waits as long as the caller asks. 200 with the output ·
 * 202 if it is running or interrupted · 404 unknown thread · 409 busy thread · 422 the run or the server failed, named
 * after the error · 429
 */

import { given, recordIn } from "../../../base/json-value.ts";
import { delegatorsOf } from "../../../dispatch/caller/delegation.ts";
import { payerOf } from "../../../dispatch/rates/rates.ts";
import { refusal } from "../../../dispatch/refusals/refusal.ts";
import type { ExchangeView } from "../../../dispatch/routes/route.ts";
import type { Call, HandlerResult } from "../../../handlers/handler.ts";
import { uuidv7 } from "../../../identity/uuid.ts";
import type { AcpOutcome } from "../acp/acp-answers.ts";
import type { AcpFailure } from "../acp/acp-call.ts";
import { type AgentUnavailable, type RemoteAgent, streams } from "../remote-agent.ts";
import type { WantedRun } from "../runs/agent-runs.ts";
import { type BegunRun, beginRun } from "../runs/begin-run.ts";
import type { AgentRun } from "../runs/run.ts";
import type { RunStream } from "../runs/run-stream.ts";
import {
  answerRun,
  askServer,
  awaitSettled,
  type HostedRuns,
  refuse,
  remainingWait,
  threadNotFound,
  tooMany,
  upstreamError,
} from "./hosted-runs.ts";

/** Answers EXECUTE. */
export async function executeAgent(
  hosted: HostedRuns,
  call: Call,
  exchange: ExchangeView,
): Promise<HandlerResult> {
  const startedAt = performance.now();
  const { agent, register, threads, findInactive } = hosted;
  const owner = call.agentId ?? "";
  const inactive = findInactive();
  if (inactive !== undefined) return upstreamError(call, inactive);
  const threadId = call.input["thread_id"];
  const thread = typeof threadId === "string" ? threads.get(threadId) : undefined;
  if (threadId !== undefined) {
    if (thread?.owner !== owner || thread.base !== agent.base) return threadNotFound();
  }
  const { base, timeoutMs } = agent;
  const payer = payerOf(exchange);
  const delegatedBy = delegatorsOf(exchange.caller);
  const wanted: WantedRun = {
    ...{ runId: uuidv7(), base, owner, deadlineAt: Date.now() + timeoutMs },
    ...(payer.isKnown ? {} : { stranger: payer.key }),
    ...given({ principalId: call.principalId }),
    ...(delegatedBy.length > 0 && { delegatedBy }),
    ...(thread && { threadId: thread.threadId, upstreamThreadId: thread.upstreamThreadId }),
  };
  const place = await register.take(wanted);
  if (place !== "added") return place === "busy" ? threadBusy() : tooMany("runs");
  let begun: Begun | HandlerResult;
  try {
    begun = await begin(hosted, call, wanted);
  } finally {
    await register.giveBack(wanted.runId);
  }
  if (!("run" in begun)) return begun;
  const { run, stream } = begun;
  hosted.follower.follow(run, stream);
  const waitMs = remainingWait(hosted, call.input["wait_seconds"], startedAt);
  await awaitSettled(hosted, run.runId, waitMs, call.signal);
  return answerRun(hosted, register.find(run.runId) ?? run);
}

interface Begun {
  readonly run: AgentRun;
  readonly stream: RunStream | undefined;
}

/** Begins and stores the run, or returns the refusal. A disconnecting caller does not undo it. */
async function begin(
  hosted: HostedRuns,
  call: Call,
  { runId, upstreamThreadId: threadId }: WantedRun,
): Promise<Begun | HandlerResult> {
  const { agent, register, closing } = hosted;
  const { client, timeoutMs } = agent;
  const { input, config, metadata } = call.input;
  const isStreaming = streams(agent.manifest);
  const begun = await askServer(hosted, (signal) =>
    asFound(agent, signal, (agentId) =>
      beginRun({
        creation: {
          ...{ agentId, input, config, threadId },
          metadata: recordIn(metadata),
        },
        ...{ client, isStreaming, runId, signal, timeoutMs, closing },
      }),
    ),
  );
  if (begun.kind === "failed" && begun.status === 409 && threadId !== undefined)
    return threadBusy();
  if (begun.kind !== "ok") return upstreamError(call, begun);
  const { upstreamRunId, stream } = begun.value;
  let run: AgentRun | undefined;
  try {
    run = await register.keep(runId, {
      ...{ upstreamAgentId: begun.agentId, upstreamRunId, deadlineAt: Date.now() + timeoutMs },
      ...(isStreaming ? { mayLackEvents: true } : {}),
    });
  } finally {
    if (run === undefined) stream?.close();
  }
  if (run !== undefined) return { run, stream };
  return tooMany("runs");
}

/**
 * Begins a run with the verified agent. If its id is unknown, as after the server was reinstalled, the agent is found
 * and verified once more.
 */
async function asFound(
  agent: RemoteAgent,
  signal: AbortSignal,
  begin: (agentId: string) => Promise<AcpOutcome<BegunRun>>,
): Promise<(AcpOutcome<BegunRun> & { readonly agentId: string }) | AgentUnavailable | AcpFailure> {
  const ready = await agent.ready(signal);
  if (ready.kind !== "ready") return ready;
  const { agentId } = ready;
  const begun = await begin(agentId);
  if (begun.kind === "ok" || begun.status !== 404) return { ...begun, agentId };
  agent.forget(agentId);
  const again = await agent.ready(signal);
  if (again.kind !== "ready") return again;
  if (again.agentId === agentId) return begun;
  return { ...(await begin(again.agentId)), agentId: again.agentId };
}

function threadBusy(): HandlerResult {
  const message = "a run of the thread is not over: wait for it, or answer what it asks";
  return refuse(refusal(409, "thread_busy", message));
}
