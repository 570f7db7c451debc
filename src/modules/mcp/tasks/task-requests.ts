/**
 * `tasks/get`, `tasks/update` and `tasks/cancel` of 2026-07-28, for clients that have said that they
 * know tasks. Another's task does not exist.
 * -32602 no such task · -32021 the client has not said so · -32000 `store-unavailable`: it is not known.
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

/** How often it is worth asking for a task. */
export const POLL_INTERVAL_MS = 2_000;

/** True if the client of a request knows tasks. */
export function knowsTasks({ mcpReq }: Pick<ServerContext, "mcpReq">): boolean {
  return declaresTasks(mcpReq.envelope);
}

/** Tells by an envelope whether the client knows tasks. */
export function declaresTasks(envelope: unknown): boolean {
  const extensions = recordIn(declaredIn(envelope))["extensions"];
  return isRecord(extensions) && isRecord(extensions[TASKS_EXTENSION]);
}

export interface ClientTasks {
  /** Undefined: none of this client's. */
  find(taskId: string): Promise<McpTask | undefined>;
  /** Takes a task as far as it can go. */
  advance(task: McpTask): Promise<McpTask>;
  cancel(task: McpTask): Promise<void>;
}

/** Adds the handlers. */
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
  // No task here asks its client for anything: what is said to one is passed over.
  server.setRequestHandler("tasks/update", { params: TASK }, async ({ taskId }, context) => {
    await find(taskId, context);
    return {};
  });
}

const TASK = withText("taskId");

/** A task as its client sees it. */
export function taskView(task: McpTask): JsonRecord {
  const { taskId, status, message, createdAt, updatedAt, result, exact, error } = task;
  // Texts stand for numbers, which are put back as the message leaves.
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
