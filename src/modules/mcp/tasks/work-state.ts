/**
 * How work under way stands, by what its place answers: a run, an escalation, a delegated task. Each
 * says so in its protocol's own words.   MCP Tasks extension
 */
import { isRecord, type JsonRecord } from "../../../base/json-value.ts";
import { followingIn, saidIn } from "./following.ts";
import type { McpTask } from "./task.ts";

/** An answer about work. */
interface WorkAnswer {
  readonly status: number;
  readonly body: unknown;
  /** The path that was asked. */
  readonly path: string;
}

/** How it stands. */
type WorkState =
  /** Nothing new is known. */
  | { readonly kind: "unsaid" }
  | { readonly kind: "cancelled" }
  | { readonly kind: "under-way"; readonly message: string }
  | { readonly kind: "over"; readonly isFailed: boolean };

const FAILED: ReadonlySet<unknown> = new Set(["failed", "error", "timeout", "refused"]);
/** A question that was decided is over, whatever was decided. */
const DECIDED: readonly string[] = ["accepted", "rejected", "expired"];
const ENDED: ReadonlySet<unknown> = new Set(["completed", "success", ...DECIDED, ...FAILED]);

/** Reads an answer. */
export function workState({ status, body, path }: WorkAnswer): WorkState {
  if (followingIn(status, body, path) !== undefined) return { kind: "unsaid" };
  // A client that asks too often, or while nothing can be said, asks again.
  if (status === 429 || status === 503) return { kind: "unsaid" };
  const state = stateIn(body);
  if (state === "cancelled") return { kind: "cancelled" };
  if (status === 200 && state !== undefined && !ENDED.has(state)) {
    return { kind: "under-way", message: `under way: ${state}` };
  }
  return { kind: "over", isFailed: FAILED.has(state) };
}

/** The change of a task. */
export type TaskChange = Partial<
  Pick<McpTask, "status" | "message" | "result" | "error" | "following">
>;

/** The change of a task by how its work stands; undefined: nothing new. `end` reads the last answer. */
export function changeByWork(
  state: WorkState,
  { message: before }: Pick<McpTask, "message">,
  end: () => TaskChange,
): TaskChange | undefined {
  switch (state.kind) {
    case "unsaid":
      return undefined;
    case "cancelled":
      return { status: "cancelled", message: "cancelled" };
    case "under-way":
      return state.message === before ? undefined : { message: state.message };
    case "over": {
      const over = end();
      return state.isFailed ? { ...over, result: { ...over.result, isError: true } } : over;
    }
  }
}

function stateIn(body: unknown): string | undefined {
  const { status, state }: JsonRecord = isRecord(body) ? saidIn(body) : {};
  // Where a status is a number, it is that of what was done.
  return [status, state].find((word) => typeof word === "string");
}
