/**
 * The core nodes without outside effects: core.noop, core.identity, core.delay and core.fail, and core.channelWrite,
 * which writes to the run itself. They emit no agent events, pinned or not.   OpenWOP "node-packs" reserved typeIds,
 * "channels-and-reducers"
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

/** Waits until `delayMs` (an input or config) after the node's first start. */
const wait: NodeType = {
  isEffectful: false,
  execute: async (call) => {
    const delayMs = delayOf(call);
    const failure = await waitFor(call, delayMs);
    return failure ?? { kind: "completed", outputs: { waitedMs: delayMs } };
  },
};

/** Waits until `delayMs` after the node's first start; returns a failure if the delay is invalid. */
export async function waitFor(
  { startedAt, now, signal }: NodeCall,
  delayMs: unknown,
): Promise<Failure | undefined> {
  const isDelay =
    Number.isSafeInteger(delayMs) && Number(delayMs) >= 0 && Number(delayMs) <= MAX_DELAY_MS;
  if (!isDelay) {
    return failed("validation_error", `delayMs must be a whole number from 0 to ${MAX_DELAY_MS}`);
  }
  // Bounds the wait by the full delay, in case the clock was set back.
  const left = Math.min(Number(delayMs), startedAt + Number(delayMs) - now);
  // The timer does not keep the process alive; the next process waits for the rest.
  if (left > 0) await delay(left, undefined, { signal, ref: false });
  return undefined;
}

/** Fails with the configured code and message. */
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
 * Writes a value to a channel of the run through a reducer, such as a list, a sum or a merged record. Each write is an
 * event, and the channel is their fold.
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
