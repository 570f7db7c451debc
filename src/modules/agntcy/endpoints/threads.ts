/**
 * Threads of an agent that supports them, each visible only to the caller that created it. 200 · 404 · 422 named after
 * the server's error · 429   Agent Connect Protocol "Threads"
 */

import { given, recordIn } from "../../../base/json-value.ts";
import { seesAll } from "../../../dispatch/caller/caller.ts";
import type { RouteHandler } from "../../../dispatch/routes/route.ts";
import type { Call, HandlerResult } from "../../../handlers/handler.ts";
import { uuidv7 } from "../../../identity/uuid.ts";
import type { AcpThread } from "../acp/acp-answers.ts";
import type { AgentThread } from "../runs/agent-runs.ts";
import {
  askServer,
  type HostedRuns,
  threadNotFound,
  tooMany,
  upstreamError,
} from "./hosted-runs.ts";

/** The metadata member with this server's id of a thread. */
const THREAD_ID_MEMBER = "agtp_thread_id";

/** Handles CREATE. */
export async function createThread(hosted: HostedRuns, call: Call): Promise<HandlerResult> {
  const inactive = hosted.findInactive();
  if (inactive !== undefined) return upstreamError(call, inactive);
  return askServer(hosted, (signal) => create(hosted, call, signal));
}

async function create(
  { agent, threads }: HostedRuns,
  call: Call,
  signal: AbortSignal,
): Promise<HandlerResult> {
  const ready = await agent.ready(signal);
  if (ready.kind !== "ready") return upstreamError(call, ready);
  const threadId = uuidv7();
  const { metadata } = call.input;
  const kept = { ...recordIn(metadata), [THREAD_ID_MEMBER]: threadId };
  const wanted: AgentThread = {
    ...{ threadId, base: agent.base, owner: call.agentId ?? "", createdAt: Date.now() },
    upstreamThreadId: "",
  };
  // Reserves the place before the agent's server creates the thread.
  const place = threads.draft(threadId, wanted);
  if (place === undefined) return tooMany("threads");
  const created = await agent.client.createThread(kept, signal).finally(() => place.release());
  if (created.kind === "failed") return upstreamError(call, created);
  const thread = { ...wanted, upstreamThreadId: created.value.threadId };
  const { kind } = await threads.add(threadId, thread);
  if (kind !== "added") return tooMany("threads");
  return { body: view(thread, created.value) };
}

/** Handles QUERY. */
export function queryThread(hosted: HostedRuns): RouteHandler {
  const { agent, threads, register } = hosted;
  return async (call, { caller }) => {
    const thread = threads.get(String(call.input["thread_id"]));
    const isOwn = thread !== undefined && thread.owner === call.agentId;
    if (thread === undefined || thread.base !== agent.base) return threadNotFound();
    if (!isOwn && !seesAll(caller)) return threadNotFound();
    const found = await askServer(hosted, (signal) =>
      agent.client.thread(thread.upstreamThreadId, signal),
    );
    if (found.kind === "failed") return upstreamError(call, found);
    const run = register.busyIn(thread.threadId);
    const status = run && (run.status === "interrupted" ? run.status : "busy");
    return { body: { ...view(thread, found.value), ...given({ status }) } };
  };
}

function view({ threadId, createdAt }: AgentThread, { status, values, metadata }: AcpThread) {
  const { [THREAD_ID_MEMBER]: _, ...own } = metadata;
  return {
    thread_id: threadId,
    created_at: new Date(createdAt).toISOString(),
    status: status ?? "idle",
    values: values ?? null,
    metadata: own,
  };
}
