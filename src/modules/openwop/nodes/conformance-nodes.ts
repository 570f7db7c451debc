/**
 * The small node types of the public suite, which a deployment has only where it asks for them.
 * OpenWOP "conformance"
 */
import type { EffectLedger } from "../runs/effect-ledger.ts";
import { waitFor } from "./core-nodes.ts";
import type { NodeType } from "./node-type.ts";

/**
 * core.conformance.side-effect: does something that can be counted outside of the log of its run, so that
 * it can be told whether a replay did it again.   OpenWOP RFC 0140, "replay" side-effect suppression
 */
export function sideEffectNode(ledger: Pick<EffectLedger, "record">): NodeType {
  return {
    isEffectful: true,
    execute: async ({ run, node, startedSequence }) => {
      const effectId = await ledger.record(run, node.id, startedSequence);
      return { kind: "completed", outputs: { effectId } };
    },
  };
}

/**
 * core.conformance.hold: waits for its input `delayMs`, and puts out its inputs. A replay does it
 * again.   OpenWOP "replay"
 */
export const HOLD: NodeType = {
  isEffectful: false,
  execute: async (call) => {
    const error = await waitFor(call, call.inputs["delayMs"] ?? 0);
    if (error !== undefined) return { kind: "failed", error };
    return { kind: "completed", outputs: call.inputs };
  },
};

const CAPABILITY = "conformance.never-provided";

/**
 * conformance.requiresMissing: needs a capability that no host has, and is refused before it does
 * anything.   OpenWOP "capabilities"
 */
export const REQUIRES_MISSING: NodeType = {
  isEffectful: false,
  execute: () => ({
    kind: "failed",
    error: {
      code: "capability_not_provided",
      message: `the node needs the capability ${CAPABILITY}, which this host does not provide`,
      details: { capability: CAPABILITY },
    },
  }),
};
