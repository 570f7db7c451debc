/**
 * The core nodes that do nothing to the world: core.noop, core.identity, core.delay and core.fail,
 * and core.channelWrite, which writes to the run itself. They never emit an event of an agent,
 * pinned or not.   OpenWOP "node-packs" reserved typeIds, "channels-and-reducers"
 */

import { setTimeout as delay } from "node:timers/promises";
import { isRecord, textIn } from "../../../base/json-value.ts";
import { closedObject } from "../../../schema/json-schema.ts";
import { type Failure, failed } from "../agent-executor.ts";
import { MAX_TTL_MS, REDUCERS, readRule, written } from "../runs/run-state.ts";
import { NAME } from "../workflows/workflow.ts";
import type { NodeCall, NodeOutcome, NodeType } from "./node-type.ts";

const MAX_DELAY_MS = 24 * 3_600_000;

const noop: NodeType = { isEffectful: false, execute: () => ({ kind: "completed", outputs: {} }) };

const identity: NodeType = {
  isEffectful: false,
  execute: ({ inputs }) => ({ kind: "completed", outputs: inputs }),
};

/** Waits for `delayMs`, an input or in its configuration, from when it was started first. */
const wait: NodeType = {
  isEffectful: false,
  execute: async (call) => {
    const delayMs = delayOf(call);
    const failure = await waitFor(call, delayMs);
    return failure ?? { kind: "completed", outputs: { waitedMs: delayMs } };
  },
};

/** Waits for so long since the node was begun first; why it does not, if it does not. */
export async function waitFor(
  { startedAt, now, signal }: NodeCall,
  delayMs: unknown,
): Promise<Failure | undefined> {
  const isDelay =
    Number.isSafeInteger(delayMs) && Number(delayMs) >= 0 && Number(delayMs) <= MAX_DELAY_MS;
  if (!isDelay) {
    return failed("validation_error", `delayMs must be a whole number from 0 to ${MAX_DELAY_MS}`);
  }
  // A clock that was set back since it started makes it no longer than it is.
  const left = Math.min(Number(delayMs), startedAt + Number(delayMs) - now);
  // Does not keep a process from ending: what is left is waited for by the next one.
  if (left > 0) await delay(left, undefined, { signal, ref: false });
  return undefined;
}

/** Fails, with the code and the message of its configuration. */
const fail: NodeType = {
  isEffectful: false,
  config: { type: "object", properties: { code: { type: "string" }, message: { type: "string" } } },
  execute: ({ node: { config } }) => {
    const { code, message } = config;
    return failed(textIn(code) || "node_failed", textIn(message) || "the node always fails");
  },
};

function delayOf({ inputs, node: { config } }: NodeCall): unknown {
  return inputs["delayMs"] ?? config["delayMs"] ?? config["durationMs"] ?? config["ms"] ?? 0;
}

const MAX_SIZE = 10_000;

const CONFIG = closedObject(
  {
    ...{ channelName: NAME, reducer: { enum: REDUCERS }, value: {} },
    ttlMs: { type: "integer", minimum: 0, maximum: MAX_TTL_MS },
    maxSize: { type: "integer", minimum: 1, maximum: MAX_SIZE },
  },
  ["channelName"],
);

/**
 * Writes a value to a channel of the run, by a reducer: a list that grows, a sum, a record that is added
 * to. What is written is an event, and the channel is the fold of those.
 */
const channelWrite: NodeType = { isEffectful: false, config: CONFIG, execute: write };

/** By typeId. */
export const CORE_NODES: ReadonlyMap<string, NodeType> = new Map([
  ["core.noop", noop],
  ["core.identity", identity],
  ["core.delay", wait],
  ["core.fail", fail],
  ["core.channelWrite", channelWrite],
]);

function write({ node, inputs, now, state }: NodeCall): NodeOutcome {
  const { channelName, value: fixed } = node.config;
  const channel = String(channelName);
  const value = Object.hasOwn(inputs, "value") ? inputs["value"] : (fixed ?? null);
  const rule = readRule(node.config);
  const { reducer } = rule;
  if (reducer === "counter" && typeof value !== "number") {
    return failed("validation_error", "a counter is added numbers to", { channel });
  }
  if ((reducer === "merge" || reducer === "votes") && !isRecord(value)) {
    const message = `what is written by "${reducer}" must be an object`;
    return failed("validation_error", message, { channel });
  }
  const after = written(state.variables[channel], value, now, rule);
  const size = Array.isArray(after) ? after.length : 1;
  const writtenAt = new Date(now).toISOString();
  const payload = { channel, value, reducer, nodeId: node.id, writtenAt };
  const events = [{ type: "channel.written", nodeId: node.id, payload } as const];
  return { kind: "completed", outputs: { channelName: channel, size }, events };
}
