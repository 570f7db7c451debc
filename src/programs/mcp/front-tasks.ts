/**
 * The tasks of `agtp-mcp`'s client: calls without a final answer, kept while the program runs. Each
 * poll advances the task as far as possible, with requests to the server.   MCP Tasks extension
 */
import { randomUUID } from "node:crypto";
import { isRecord, type JsonRecord } from "../../base/json-value.ts";
import { recentlyUsed } from "../../base/recently-used.ts";
import type { ClientResponse } from "../../client/agtp-client.ts";
import { AgtpClientError } from "../../client/client-error.ts";
import { isAccepted } from "../../client/exchange.ts";
import { type Following, type McpTask, TASK_TTL_MS } from "../../modules/mcp/tasks/task.ts";
import type { ClientTasks } from "../../modules/mcp/tasks/task-requests.ts";
import {
  changeByWork,
  completedWith,
  followingIn,
  isPassing,
  saidIn,
  type TaskChange,
  waitingText,
  workState,
} from "../../modules/mcp/tasks/work-state.ts";
import { type Asked, responseResult } from "./response-result.ts";

/** A request to the server, with header fields beside those of the caller. */
interface TaskRequest {
  readonly method: string;
  readonly path: string;
  readonly parameters?: JsonRecord;
  readonly envelope?: boolean;
  readonly fields?: ReadonlyMap<string, string>;
}

type AskServer = (request: TaskRequest) => Promise<ClientResponse>;

interface BegunCall {
  readonly tool: string;
  readonly request: TaskRequest;
  readonly asked: Asked;
}

/** The maximum number of tasks; the one polled least recently makes room. */
const MAX_TASKS = 256;
const OPEN: ReadonlySet<unknown> = new Set(["pending_review", "deferred"]);

export class FrontTasks implements ClientTasks {
  readonly #ask: AskServer;
  readonly #kept = recentlyUsed<{ task: McpTask; call: BegunCall }>(MAX_TASKS, TASK_TTL_MS);
  /** The tasks that are being advanced: a second poll only reads them. */
  readonly #busy = new Set<string>();

  constructor(ask: AskServer) {
    this.#ask = ask;
  }

  /** Creates a task for a call without a final answer. */
  begin(call: BegunCall, following: Following): McpTask {
    const now = Date.now();
    const { method, path, parameters = {} } = call.request;
    const task: McpTask = {
      ...{ taskId: randomUUID(), owner: "", tool: call.tool, following, status: "working" },
      ...{ call: { method, path, input: parameters }, message: waitingText(following) },
      ...{ createdAt: now, updatedAt: now },
    };
    this.#kept.set(task.taskId, { task, call });
    return task;
  }

  async find(taskId: string): Promise<McpTask | undefined> {
    return this.#kept.get(taskId)?.task;
  }

  async advance(task: McpTask): Promise<McpTask> {
    const { taskId } = task;
    if (task.status !== "working" || this.#busy.has(taskId)) return task;
    this.#busy.add(taskId);
    try {
      return this.#keep(taskId, await this.#step(task)) ?? task;
    } catch (error) {
      // If the server is unreachable the task stays unchanged, and a later poll tries again.
      if (!(error instanceof AgtpClientError)) throw error;
      return { ...task, message: `the server cannot be asked: ${error.message}` };
    } finally {
      this.#busy.delete(taskId);
    }
  }

  async cancel(task: McpTask): Promise<void> {
    const { taskId, following } = task;
    if (task.status !== "working") return;
    if (following.kind === "work") {
      const asking = { method: "CANCEL", path: following.path };
      const answer = await this.#ask(asking).catch(() => undefined);
      const now = await this.advance(task);
      if ((answer !== undefined && isAccepted(answer.status)) || now.status !== "working") return;
      const message = "given up by its client; what is under way goes on";
      this.#keep(taskId, { status: "cancelled", message });
      return;
    }
    this.#keep(taskId, { status: "cancelled", message: "cancelled by its client" });
  }

  /** A cancelled task stays cancelled. */
  #keep(taskId: string, change: TaskChange | undefined): McpTask | undefined {
    const kept = this.#kept.get(taskId);
    if (kept === undefined || change === undefined || kept.task.status !== "working") {
      return kept?.task;
    }
    const task = { ...kept.task, ...change, updatedAt: Date.now() };
    this.#kept.set(taskId, { ...kept, task });
    return task;
  }

  /** Advances a task one step; undefined if nothing has changed. */
  #step(task: McpTask): Promise<TaskChange | undefined> {
    const call = this.#kept.get(task.taskId)?.call;
    if (call === undefined) return Promise.resolve(undefined);
    const { following } = task;
    if (following.kind === "approval") return this.#afterApproval(call, following.escalationId);
    return this.#afterWork(call, task, following);
  }

  async #afterApproval({ request, asked }: BegunCall, id: string): Promise<TaskChange | undefined> {
    // Asked first, because each premature call would leave a record.
    const question = await this.#ask({ method: "QUERY", path: `/escalations/${id}` });
    const { body } = question;
    const state = isRecord(body) ? saidIn(body)["status"] : undefined;
    if (question.status === 200 && OPEN.has(state)) return undefined;
    const fields = new Map([...(request.fields ?? []), ["escalation-id", id] as const]);
    const response = await this.#ask({ ...request, fields });
    const following = followingIn(response.status, response.body, request.path);
    if (following?.kind === "approval" && following.escalationId === id) return undefined;
    if (following !== undefined) return { following, message: waitingText(following) };
    return isPassing(response.status, response.body) ? undefined : endOf(response, asked);
  }

  async #afterWork(
    { asked }: BegunCall,
    task: McpTask,
    { method, path }: { readonly method: string; readonly path: string },
  ): Promise<TaskChange | undefined> {
    const response = await this.#ask({ method, path });
    const state = workState({ status: response.status, body: response.body, path });
    return changeByWork(state, task, () => endOf(response, asked));
  }
}

function endOf(response: ClientResponse, asked: Asked): TaskChange {
  return completedWith({ ...responseResult(response, undefined, asked) });
}
