/**
 * A task of an MCP client: a call whose answer is not the last word. It is kept before its client
 * hears of it, and goes on whatever becomes of the connection.   MCP Tasks extension (SEP-2663)
 */
import type { JsonRecord } from "../../../base/json-value.ts";
import { Collection } from "../../../state/collection.ts";
import type { Held } from "../../../state/holders.ts";
import { recordReader } from "../../../state/records/stored-record.ts";
import type { Store } from "../../../state/store.ts";

/** The event that a task waits for. */
export type Following =
  /** An operator's word; then the call is made. */
  | { readonly kind: "approval"; readonly escalationId: string }
  /** Work that is under way, of which somebody may ask here. */
  | { readonly kind: "work"; readonly method: string; readonly path: string };

export interface AskedCall {
  readonly method: string;
  readonly path: string;
  readonly input: JsonRecord;
  /** The contract that it was made under. */
  readonly contract?: string | undefined;
}

/** One task; it is held while its call is made. */
export interface McpTask extends Held {
  readonly taskId: string;
  /** The key of its caller. */
  readonly owner: string;
  readonly tool: string;
  readonly call: AskedCall;
  readonly following: Following;
  readonly status: "working" | "completed" | "failed" | "cancelled";
  readonly message: string;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  readonly updatedAt: number;
  /** The result of the tool, once there is one. */
  readonly result?: JsonRecord;
  /** The JSON of the result's value, where it has numbers that a double does not keep. */
  readonly exact?: string;
  /** The error of JSON-RPC that ended it. */
  readonly error?: JsonRecord;
  /** The scopes that its result took: who is given it holds them. */
  readonly scopes?: readonly string[];
}

/** How long a task is kept. */
export const TASK_TTL_MS: number = 24 * 3_600_000;

/** Results may be long. */
const SIZES = { charactersPerOwner: 8_388_608, characters: 67_108_864 };

export type McpTasks = Collection<McpTask>;

/** Opens the tasks of a store. */
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
    // A task that still waits never goes for a new one.
    rankOf: ({ status }) => (status === "working" ? undefined : 0),
    now: () => clock.now(),
  });
}
