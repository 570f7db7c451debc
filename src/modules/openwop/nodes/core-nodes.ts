/**
 * The nodes that do nothing to the world: core.noop, core.identity, core.delay and core.fail. They
 * never emit an event of an agent, pinned or not.   OpenWOP "node-packs" reserved typeIds
 */
import { setTimeout as delay } from "node:timers/promises";
import type { RunError } from "../run-starter.ts";
import type { NodeCall, NodeFault, NodeType } from "./node-type.ts";

const MAX_DELAY_MS = 24 * 3_600_000;

const noop: NodeType = {
  isEffectful: false,
  execute: () => ({ kind: "completed", outputs: {} }),
};

const identity: NodeType = {
  isEffectful: false,
  execute: ({ inputs }) => ({ kind: "completed", outputs: inputs }),
};

/** Waits for `delayMs`, an input or in its configuration, from when it was started first. */
const wait: NodeType = {
  isEffectful: false,
  execute: async (call) => {
    const delayMs = delayOf(call);
    const error = await waitFor(call, delayMs);
    return error === undefined
      ? { kind: "completed", outputs: { waitedMs: delayMs } }
      : { kind: "failed", error };
  },
};

/** Waits for so long since the node was begun first; why it does not, if it does not. */
export async function waitFor(
  { startedAt, now, signal }: NodeCall,
  delayMs: unknown,
): Promise<RunError | undefined> {
  const isDelay =
    Number.isSafeInteger(delayMs) && Number(delayMs) >= 0 && Number(delayMs) <= MAX_DELAY_MS;
  if (!isDelay) {
    const message = `delayMs must be a whole number from 0 to ${MAX_DELAY_MS}`;
    return { code: "validation_error", message };
  }
  const left = startedAt + Number(delayMs) - now;
  // Does not keep a process from ending: what is left is waited for by the next one.
  if (left > 0) await delay(left, undefined, { signal, ref: false });
  return undefined;
}

/** Fails, with the code and the message of its configuration. */
const fail: NodeType = {
  isEffectful: false,
  execute: ({ node: { config } }) => {
    const { code, message } = config;
    return {
      kind: "failed",
      error: {
        code: typeof code === "string" && code !== "" ? code : "node_failed",
        message: typeof message === "string" && message !== "" ? message : "the node always fails",
      },
    };
  },
  checkNode: ({ config }) =>
    ["code", "message"].flatMap((name): readonly NodeFault[] =>
      config[name] === undefined || typeof config[name] === "string"
        ? []
        : [{ key: `config.${name}`, message: "must be a text" }],
    ),
};

/** By typeId. */
export const CORE_NODES: ReadonlyMap<string, NodeType> = new Map([
  ["core.noop", noop],
  ["core.identity", identity],
  ["core.delay", wait],
  ["core.fail", fail],
]);

function delayOf({ inputs, node: { config } }: NodeCall): unknown {
  return inputs["delayMs"] ?? config["delayMs"] ?? config["durationMs"] ?? config["ms"] ?? 0;
}
