/**
 * `tasks/get`, `tasks/update` and `tasks/cancel` of 2026-07-28, for clients that declare the extension. Another
 * caller's task does not exist.
 * -32602 no such task · -32021 not declared · -32000 `store-unavailable`: it is not known.
 * MCP Tasks extension
 */
import {
  MissingRequiredClientCapabilityError,
  type Server,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { markLost } from "../../../base/exact-numbers.ts";
import { given, isRecord, type JsonRecord, recordIn } from "../../../base/json-value.ts";
import { declaredIn, withText } from "../opaque-server.ts";
import { invalidParams } from "../protocol-errors.ts";
import { type McpTask, TASK_TTL_MS } from "./task.ts";

export const TASKS_EXTENSION = "io.modelcontextprotocol/tasks";

/** Suggested polling interval. */
export const POLL_INTERVAL_MS = 2_000;

/** True if the client of a request supports tasks. */
export function knowsTasks({ mcpReq }: Pick<ServerContext, "mcpReq">): boolean {
  return declaresTasks(mcpReq.envelope);
}

/** True if an envelope declares support for tasks. */
export function declaresTasks(envelope: unknown): boolean {
  const extensions = recordIn(declaredIn(envelope))["extensions"];
  return isRecord(extensions) && isRecord(extensions[TASKS_EXTENSION]);
}

export interface ClientTasks {
  /** Finds a task of this client. */
  find(taskId: string): Promise<McpTask | undefined>;
  /** Advances a task as far as possible. */
  advance(task: McpTask): Promise<McpTask>;
  cancel(task: McpTask): Promise<void>;
}

/** Registers the handlers. */
export function handleTasks(
  server: Server,
  tasksIn: (context: ServerContext) => ClientTasks,
): void {
  const find = async (
    taskId: string,
    context: ServerContext,
  ): Promise<readonly [ClientTasks, McpTask]> => {
    if (!knowsTasks(context)) {
      const requiredCapabilities = { extensions: { [TASKS_EXTENSION]: {} } };
      throw new MissingRequiredClientCapabilityError({ requiredCapabilities });
    }
    const tasks = tasksIn(context);
    const task = await tasks.find(taskId);
    if (task === undefined) throw invalidParams("no task of this client has this id");
    return [tasks, task];
  };
  server.setRequestHandler("tasks/get", { params: TASK }, async ({ taskId }, context) => {
    const [tasks, task] = await find(taskId, context);
    return taskView(await tasks.advance(task));
  });
  server.setRequestHandler("tasks/cancel", { params: TASK }, async ({ taskId }, context) => {
    const [tasks, task] = await find(taskId, context);
    await tasks.cancel(task);
    return {};
  });
  // No task asks its client for input, so updates are ignored.
  server.setRequestHandler("tasks/update", { params: TASK }, async ({ taskId }, context) => {
    await find(taskId, context);
    return {};
  });
}

const TASK = withText("taskId");

/** A task as its client sees it. */
export function taskView(task: McpTask): JsonRecord {
  const { taskId, status, message, createdAt, updatedAt, result, exact, error } = task;
  // Marked strings stand for exact numbers, which are restored as the message leaves.
  const structuredContent: unknown = exact && JSON.parse(markLost(Buffer.from(exact)));
  return {
    ...{ taskId, status, statusMessage: message },
    createdAt: new Date(createdAt).toISOString(),
    lastUpdatedAt: new Date(updatedAt).toISOString(),
    ...{ ttlMs: TASK_TTL_MS, pollIntervalMs: POLL_INTERVAL_MS },
    ...(result === undefined
      ? {}
      : { result: { resultType: "complete", ...result, ...given({ structuredContent }) } }),
    ...(error === undefined ? {} : { error }),
  };
}
