/**
 * Runs tasks. A task makes no progress by itself: each request for it advances it as far as possible, as its caller
 * and through every gate, so that an approved call is made once and by nobody else.   MCP Tasks extension
 */
import { randomUUID } from "node:crypto";
import { ProtocolError } from "@modelcontextprotocol/server";
import { type BackOff, pause, pauseAfter } from "../../../base/back-off.ts";
import { parseJson } from "../../../base/json-value.ts";
import type { Refusal } from "../../../dispatch/refusals/refusal.ts";
import { storeUnavailable } from "../../../dispatch/refusals/store-refusals.ts";
import { isWholeName } from "../../../dispatch/routes/second-look.ts";
import { holding, mayHold } from "../../../state/holders.ts";
import { isStoreUnavailable } from "../../../state/store-fault.ts";
import { isDone } from "../../../wire/message.ts";
import { type Answer, type Asking, ask, type TellProgress } from "../ask.ts";
import { approvedCall } from "../contracts/own-tools.ts";
import type { McpFront, McpRequest } from "../front.ts";
import { challengeFor } from "../identify.ts";
import { refused, refuseKept } from "../protocol-errors.ts";
import { refusalResult, successResult } from "../tools/call-result.ts";
import { bodyText } from "../tools/content.ts";
import type { AskedCall, Following, McpTask, McpTasks } from "./task.ts";
import type { ClientTasks } from "./task-requests.ts";
import {
  changeByWork,
  completedWith,
  followingOf,
  isPassing,
  type TaskChange,
  waitingText,
  workState,
} from "./work-state.ts";

/** Stores a new task; undefined if there is no room. */
export async function beginTask(
  { front, caller }: McpRequest,
  tool: string,
  call: AskedCall,
  following: Following,
): Promise<McpTask | undefined> {
  const now = front.tasks.now();
  const task: McpTask = {
    ...{ taskId: randomUUID(), owner: caller.key, tool, call, following },
    ...{ status: "working", message: waitingText(following), createdAt: now, updatedAt: now },
  };
  const adding = await front.tasks.add(task.taskId, task);
  return adding.kind === "added" ? task : undefined;
}

/** Tasks being advanced now, with their progress message: a concurrent request only reads it. */
const busy = new WeakMap<McpTasks, Map<string, string | undefined>>();

/** Advances a task, and returns its new state. */
export async function advanceTask(request: McpRequest, task: McpTask): Promise<McpTask> {
  const { tasks } = request.front;
  const { taskId, status, message } = task;
  const taken = busy.get(tasks) ?? new Map<string, string | undefined>();
  busy.set(tasks, taken);
  if (status !== "working") return task;
  if (taken.has(taskId)) return { ...task, message: taken.get(taskId) ?? message };
  taken.set(taskId, undefined);
  let change: TaskChange | undefined;
  let settling = Promise.resolve();
  try {
    if (!(await isOurs(request.front, task))) return tasks.get(taskId) ?? task;
    change = await step(request, task, (progress) => taken.set(taskId, progress));
    return await keep(tasks, taskId, change, task);
  } catch (error) {
    settling = keepLater(request.front, change, task);
    throw error;
  } finally {
    void settling.then(() => taken.delete(taskId));
  }
}

/**
 * Claims the task's call for this node: another node would take an approval used here for one used by someone else.
 * False if another node makes the call, or has made it.
 */
async function isOurs(
  { tasks, holders, isUndecided }: McpFront,
  { taskId, following }: McpTask,
): Promise<boolean> {
  if (holders.self === undefined || following.kind !== "approval") return true;
  if (isUndecided(following.escalationId)) return true;
  let isHeld = false;
  await tasks.change(taskId, (one) => {
    isHeld = one.status === "working" && mayHold(holders, one);
    return isHeld ? holding(holders, one) : undefined;
  });
  return isHeld;
}

/** Stores a change, if there is one, and releases the task. */
async function keep(
  tasks: McpTasks,
  taskId: string,
  change: TaskChange | undefined,
  task: McpTask,
): Promise<McpTask> {
  const decide = ({ heldBy, ...one }: McpTask): McpTask | undefined => {
    const isNews = one.status === "working" && change !== undefined;
    if (isNews) return { ...one, ...change, updatedAt: tasks.now() };
    return heldBy === undefined ? undefined : one;
  };
  // A result may be long, so finished tasks make room for it.
  const { item } = await tasks.change(taskId, decide, { makesRoom: true });
  return item ?? task;
}

const AGAIN: BackOff = { firstMs: 200, longestMs: 10_000 };

/** Retries storing a change until the store takes it: other nodes wait for it, and nobody repeats the call. */
async function keepLater(
  { tasks, view, stopping }: McpFront,
  change: TaskChange | undefined,
  task: McpTask,
): Promise<void> {
  for (let attempts = 1; !stopping.aborted; attempts += 1) {
    try {
      // The store may have taken the change without confirming it.
      await view.catchUp?.();
      await keep(tasks, task.taskId, change, task);
      return;
    } catch (error) {
      if (!isStoreUnavailable(error)) return;
    }
    await pause(pauseAfter(attempts, AGAIN), stopping);
  }
}

/** Advances a task by one step; undefined if nothing changed. */
function step(
  request: McpRequest,
  task: McpTask,
  tell: (message: string) => void,
): Promise<TaskChange | undefined> {
  const { following, call, tool } = task;
  if (following.kind === "approval") {
    const { escalationId } = following;
    const progress: TellProgress = (done, total, message) =>
      tell(
        `under way: ${done}${total === undefined ? "" : ` of ${total}`} ${message ?? ""}`.trim(),
      );
    const asking = { ...approvedCall(call, escalationId), progress };
    return afterApproval(request, { escalationId, asking, tool });
  }
  return afterWork(request, task, following);
}

interface Approved {
  readonly escalationId: string;
  readonly asking: Asking;
  readonly tool: string;
}

/** Makes the call once the approval is decided; earlier attempts would only leave records. */
async function afterApproval(
  request: McpRequest,
  { escalationId, asking, tool }: Approved,
): Promise<TaskChange | undefined> {
  if (request.front.isUndecided(escalationId)) return undefined;
  const answer = await askFurther(request, asking);
  if (answer === undefined) return undefined;
  const following = followingOf(answer);
  const isAsked = following?.kind === "approval" && following.escalationId === escalationId;
  if (isAsked) return undefined;
  if (following !== undefined) return { following, message: waitingText(following) };
  return endOf(request, tool, answer);
}

/** Sends a request for a task; undefined if a retry or another token may still advance the task. */
async function askFurther(request: McpRequest, asking: Asking): Promise<Answer | undefined> {
  const answer = await ask(request, asking);
  if (answer === undefined) return undefined;
  const challenge = challengeFor(request.front.protection, answer);
  request.challenge ??= challenge;
  const { response } = answer;
  const isOver = challenge === undefined && !isPassing(response.status, bodyOf(answer));
  return isOver ? answer : undefined;
}

function bodyOf({ response }: Answer): unknown {
  return parseJson(bodyText(response));
}

async function afterWork(
  request: McpRequest,
  task: McpTask,
  { method, path }: { readonly method: string; readonly path: string },
): Promise<TaskChange | undefined> {
  const answer = await askFurther(request, { method, path, input: {} });
  if (answer === undefined) return undefined;
  const { response, exchange } = answer;
  const state = workState({
    ...{ status: response.status, body: bodyOf(answer), path: exchange.path },
  });
  return changeByWork(state, task, () => endOf(request, task.tool, answer));
}

function endOf(request: McpRequest, tool: string, answer: Answer): TaskChange {
  const { front } = request;
  const answered = { answer, serverId: front.serverId, meta: {}, isCurrent: true };
  const { route, partScopes = [] } = answer.exchange;
  const scopes = [...(route?.requiredScopes ?? []), ...partScopes];
  try {
    const result = isDone(answer.response.status)
      ? successResult(front.toolbox.find(tool), answered)
      : refusalResult(answered);
    return { ...completedWith({ ...result }), scopes };
  } catch (error) {
    const told =
      error instanceof ProtocolError ? error : front.reportFault(error, `task of ${tool}`);
    const { code, message, data } = told;
    return { status: "failed", message, error: { code, message, data }, scopes };
  }
}

/** Refuses a client the result of its task; undefined if it may have it, or there is none yet. */
export function refuseResult(
  { front, caller }: Pick<McpRequest, "front" | "caller">,
  { status, scopes = [] }: McpTask,
): Refusal | undefined {
  return status === "working" ? undefined : front.refuseKept(caller, scopes);
}

/** Cancels a task: running work is cancelled if possible, and a question stays unanswered. */
async function cancelTask(request: McpRequest, task: McpTask): Promise<void> {
  const { following, status, taskId } = task;
  if (status !== "working") return;
  const { tasks } = request.front;
  if (following.kind === "approval") {
    await keep(tasks, taskId, { status: "cancelled", message: "cancelled by its client" }, task);
    return;
  }
  const answer = await ask(request, { method: "CANCEL", path: following.path, input: {} });
  // The work may be over by now; a task that its client may not read is given up all the same.
  const now = await advanceTask({ ...request }, task);
  if (answer !== undefined && isDone(answer.response.status)) return;
  // Work that cannot be cancelled goes on, but its task ends.
  const message = "given up by its client; what is under way goes on";
  if (now.status === "working") await keep(tasks, taskId, { status: "cancelled", message }, now);
}

/**
 * Catches up with other nodes if a task is unknown here, since one may just have begun it. Returns a refusal if their
 * commits cannot be read.
 */
export async function hearOf(
  { tasks, view }: Pick<McpFront, "tasks" | "view">,
  taskIds: readonly string[],
): Promise<Refusal | undefined> {
  if (!taskIds.some((id) => isWholeName(id) && tasks.get(id) === undefined)) return undefined;
  try {
    await view.catchUp?.();
    return undefined;
  } catch (error) {
    if (isStoreUnavailable(error)) return storeUnavailable();
    throw error;
  }
}

/** Creates the task operations for the client of a request. */
export function tasksOf(request: McpRequest): ClientTasks {
  return {
    find: async (taskId) => {
      const refusal = await hearOf(request.front, [taskId]);
      if (refusal !== undefined) throw refused(refusal.message, { code: refusal.code });
      const task = request.front.tasks.get(taskId);
      return task?.owner === request.caller.key ? task : undefined;
    },
    advance: async (task) => {
      const now = await advanceTask(request, task);
      const refusal = refuseResult(request, now);
      if (refusal !== undefined) throw refuseKept(request, refusal, now.scopes ?? []);
      return now;
    },
    cancel: (task) => cancelTask(request, task),
  };
}
