/**
 * A task of an MCP client: a call without a final answer yet. It is stored before its client learns of it, and
 * survives the connection.   MCP Tasks extension (SEP-2663)
 */
import type { JsonRecord } from "../../../base/json-value.ts";
import { Collection } from "../../../state/collection.ts";
import type { Held } from "../../../state/holders.ts";
import { recordReader } from "../../../state/records/stored-record.ts";
import type { Store } from "../../../state/store.ts";

/** The event that a task waits for. */
export type Following =
  /** An operator's decision; then the call is made. */
  | { readonly kind: "approval"; readonly escalationId: string }
  /** Running work, with the endpoint that reports its state. */
  | { readonly kind: "work"; readonly method: string; readonly path: string };

export interface AskedCall {
  readonly method: string;
  readonly path: string;
  readonly input: JsonRecord;
  /** The contract of the call, if it has one. */
  readonly contract?: string | undefined;
}

/** One task; a node holds it while making its call. */
export interface McpTask extends Held {
  readonly taskId: string;
  /** The caller's key. */
  readonly owner: string;
  readonly tool: string;
  readonly call: AskedCall;
  readonly following: Following;
  readonly status: "working" | "completed" | "failed" | "cancelled";
  readonly message: string;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  readonly updatedAt: number;
  /** The tool's result, once there is one. */
  readonly result?: JsonRecord;
  /** The result's value as JSON, if a double cannot represent its numbers exactly. */
  readonly exact?: string;
  /** The JSON-RPC error that ended it. */
  readonly error?: JsonRecord;
  /** The scopes that the result took; its reader must hold them. */
  readonly scopes?: readonly string[];
}

/** Retention of a task, in milliseconds. */
export const TASK_TTL_MS: number = 24 * 3_600_000;

/** Bounds on stored results, which may be long. */
const SIZES = { charactersPerOwner: 8_388_608, characters: 67_108_864 };

export type McpTasks = Collection<McpTask>;

/** Opens the stored tasks. */
export function openMcpTasks(store: Store, clock: { now(): number }): Promise<McpTasks> {
  return Collection.open<McpTask>(store, {
    name: "mcp-tasks",
    read: recordReader<McpTask>({
      ...{ taskId: "string", owner: "string", tool: "string", call: "object" },
      ...{ following: "object", status: "string", message: "string" },
      ...{ createdAt: "number", updatedAt: "number" },
    }),
    ownerOf: ({ owner }) => owner,
    orderOf: ({ createdAt }) => createdAt,
    forgottenAt: ({ createdAt }) => createdAt + TASK_TTL_MS,
    quota: { openPerOwner: 64, perOwner: 256, open: 4_096, all: 8_192, ...SIZES },
    // A working task is never evicted for a new one.
    rankOf: ({ status }) => (status === "working" ? undefined : 0),
    now: () => clock.now(),
  });
}
