/**
 * core.conformance.side-effect: does something that can be counted from outside of the run's log, so
 * that it can be told whether a replay did it again. For the public suite alone.
 * OpenWOP RFC 0140, "replay" side-effect suppression
 */
import type { EffectLedger } from "../runs/effect-ledger.ts";
import type { NodeType } from "./node-type.ts";

/** The node type. */
export function sideEffectNode(ledger: Pick<EffectLedger, "record">): NodeType {
  return {
    isEffectful: true,
    execute: async ({ run, node, startedSequence }) => {
      const effectId = await ledger.record(run, node.id, startedSequence);
      return { kind: "completed", outputs: { effectId } };
    },
  };
}
