/**
 * core.channelWrite: writes a value to a channel of the run, by a reducer: a list that grows, a sum, a
 * record that is added to. What is written is an event, and the channel is the fold of those.
 * OpenWOP "channels-and-reducers"
 */

import { isRecord } from "../../../base/json-value.ts";
import type { SchemaCompiler } from "../../../schema/schema.ts";
import { MAX_TTL_MS, REDUCERS, readRule, written } from "../runs/channels.ts";
import { closed, configCheck, NAME } from "./node-config.ts";
import type { NodeCall, NodeOutcome, NodeType } from "./node-type.ts";

const MAX_SIZE = 10_000;

const CONFIG = closed(
  {
    ...{ channelName: NAME, reducer: { enum: REDUCERS }, value: {} },
    ttlMs: { type: "integer", minimum: 0, maximum: MAX_TTL_MS },
    maxSize: { type: "integer", minimum: 1, maximum: MAX_SIZE },
  },
  ["channelName"],
);

/** The node type. */
export function channelWriteNode(compiler: SchemaCompiler): NodeType {
  return {
    isEffectful: false,
    execute: write,
    checkNode: configCheck(compiler, "core.channelWrite", CONFIG),
  };
}

function write({ node, inputs, now, state }: NodeCall): NodeOutcome {
  const { channelName, value: fixed } = node.config;
  const channel = String(channelName);
  const value = Object.hasOwn(inputs, "value") ? inputs["value"] : (fixed ?? null);
  const rule = readRule(node.config);
  const { reducer } = rule;
  if (reducer === "counter" && typeof value !== "number") {
    return refused(channel, "a counter is added numbers to");
  }
  if ((reducer === "merge" || reducer === "votes") && !isRecord(value)) {
    return refused(channel, `what is written by "${reducer}" must be an object`);
  }
  const after = written(state.variables[channel], value, now, rule);
  const size = Array.isArray(after) ? after.length : 1;
  const writtenAt = new Date(now).toISOString();
  const payload = { channel, value, reducer, nodeId: node.id, writtenAt };
  const events = [{ type: "channel.written", nodeId: node.id, payload } as const];
  return { kind: "completed", outputs: { channelName: channel, size }, events };
}

function refused(channel: string, message: string): NodeOutcome {
  const error = { code: "validation_error", message, details: { channel } };
  return { kind: "failed", error };
}
