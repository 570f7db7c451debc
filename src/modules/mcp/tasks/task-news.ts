/**
 * `taskIds` of `subscriptions/listen`: a listener is told the state of its tasks, in the form of `tasks/get`, whenever
 * it changes. Tasks are polled one after the other, as their caller; without a change nothing is sent.   MCP Tasks
 * extension
 */
import { pause } from "../../../base/back-off.ts";
import { isRecord, type JsonRecord, recordIn } from "../../../base/json-value.ts";
import { isStoreUnavailable } from "../../../state/store-fault.ts";
import type { McpFront, McpRequest } from "../front.ts";
import { isAdmitted } from "../identify.ts";
import { advanceTask, refuseResult } from "./run-task.ts";
import type { McpTask } from "./task.ts";
import { POLL_INTERVAL_MS, taskView } from "./task-requests.ts";

/** Maximal number of tasks on one stream. */
const MOST = 16;
const SUBSCRIPTION_ID = "io.modelcontextprotocol/subscriptionId";

/** Returns the tasks that a message subscribes to; undefined if it names none. */
export function askedTasks(body: unknown): readonly string[] | undefined {
  const filter = filterOf(body);
  const ids = filter?.["taskIds"];
  return Array.isArray(ids) ? ids.filter((id) => typeof id === "string") : undefined;
}

/** Rewrites the message for the library, which keeps a stream open only for list changes. */
export function withoutTasks(body: unknown): unknown {
  const message = body as { readonly params: JsonRecord };
  const { taskIds: _, ...filter } = filterOf(body) ?? {};
  const notifications = { ...filter, toolsListChanged: true };
  return { ...message, params: { ...message.params, notifications } };
}

/** True if a message subscribes to changes of the tools. */
export function asksForTools(body: unknown): boolean {
  return filterOf(body)?.["toolsListChanged"] === true;
}

/** Filters the caller's own tasks. */
export function ownTasks(
  { front, caller }: McpRequest,
  taskIds: readonly string[],
): readonly string[] {
  const own = taskIds.filter((id) => front.tasks.get(id)?.owner === caller.key);
  return [...new Set(own)].slice(0, MOST);
}

interface TaskNews {
  readonly request: McpRequest;
  readonly taskIds: readonly string[];
  /** The id of the request. */
  readonly id: unknown;
  readonly hearsTools: boolean;
  /** Aborting it ends the stream. */
  readonly stream: AbortController;
  /** The deployment that is served now. */
  served(): McpFront | undefined;
}

/** Inserts task notifications into the library's stream. */
export function withTaskNews(response: Response, news: TaskNews): Response {
  const encoder = new TextEncoder();
  let isBegun = false;
  const stream = new TransformStream<Uint8Array, Uint8Array>(
    {
      transform(chunk, controller) {
        if (isBegun) return controller.enqueue(chunk);
        isBegun = true;
        controller.enqueue(encoder.encode(acknowledgement(chunk, news)));
        const tell = (task: McpTask): boolean => {
          // A slow reader gets nothing more until it has read.
          if ((controller.desiredSize ?? 0) <= 0) return false;
          controller.enqueue(encoder.encode(frameOf(notification(task, news))));
          return true;
        };
        void followTasks(news, tell).catch((error: unknown) => {
          if (!news.stream.signal.aborted) news.request.front.reportFault(error, news.id);
        });
      },
    },
    undefined,
    { highWaterMark: MOST },
  );
  const { status, headers } = response;
  return new Response(response.body?.pipeThrough(stream), { status, headers });
}

/** Rewrites the first event, so that it acknowledges the whole subscription. */
function acknowledgement(chunk: Uint8Array, { taskIds, hearsTools }: TaskNews): string {
  const text = Buffer.from(chunk).toString("utf8");
  const [, data = "{}"] = /^data: (.*)$/m.exec(text) ?? [];
  const message = JSON.parse(data) as { readonly params: JsonRecord };
  const { toolsListChanged, ...others } = message.params["notifications"] as JsonRecord;
  const notifications = { ...others, ...(hearsTools ? { toolsListChanged } : {}), taskIds };
  return frameOf({ ...message, params: { ...message.params, notifications } });
}

async function followTasks(news: TaskNews, tell: (task: McpTask) => boolean): Promise<void> {
  const { request, stream, served } = news;
  const { signal } = stream;
  const open = new Set(news.taskIds);
  const told = new Map<string, string>();
  while (open.size > 0 && !signal.aborted) {
    for (const taskId of open) {
      const front = served() ?? request.front;
      // The caller may no longer be admitted, as when its token has expired.
      if (!(await isAdmitted(front, request.caller))) return stream.abort();
      const task = front.tasks.get(taskId);
      const now = task && (await advanceTask({ ...request, front }, task).catch(passing(task)));
      if (signal.aborted) return;
      if (now !== undefined && refuseResult({ front, caller: request.caller }, now) !== undefined) {
        open.delete(taskId);
        continue;
      }
      const state = JSON.stringify([now?.status, now?.message]);
      const isNews = now !== undefined && told.get(taskId) !== state;
      if (isNews && !tell(now)) continue;
      told.set(taskId, state);
      if (now?.status !== "working") open.delete(taskId);
    }
    await pause(POLL_INTERVAL_MS, signal);
  }
}

/** A store that fails now may recover before the next poll. */
function passing(task: McpTask): (error: unknown) => McpTask {
  return (error) => {
    if (isStoreUnavailable(error)) return task;
    throw error;
  };
}

function notification(task: McpTask, { id }: TaskNews): JsonRecord {
  const params = { ...taskView(task), _meta: { [SUBSCRIPTION_ID]: id } };
  return { jsonrpc: "2.0", method: "notifications/tasks", params };
}

function frameOf(message: JsonRecord): string {
  return `event: message\ndata: ${JSON.stringify(message)}\n\n`;
}

function filterOf(body: unknown): JsonRecord | undefined {
  const params = recordIn(body)["params"];
  const filter = recordIn(params)["notifications"];
  return isRecord(filter) ? filter : undefined;
}
