/**
 * core.conformance.hold: waits for its input `delayMs`, and then puts out its inputs. It does nothing
 * to the world, so a replay does it again. For the public suite alone.   OpenWOP "replay"
 */
import { waitFor } from "./core-nodes.ts";
import type { NodeType } from "./node-type.ts";

/** The node type. */
export const HOLD: NodeType = {
  isEffectful: false,
  execute: async (call) => {
    const error = await waitFor(call, call.inputs["delayMs"] ?? 0);
    if (error !== undefined) return { kind: "failed", error };
    return { kind: "completed", outputs: call.inputs };
  },
};
