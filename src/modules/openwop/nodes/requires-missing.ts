/**
 * conformance.requiresMissing: needs a capability that no host has, so that dispatching it is
 * refused before it does anything. For the public suite alone.   OpenWOP "capabilities"
 */
import type { NodeType } from "./node-type.ts";

const CAPABILITY = "conformance.never-provided";

/** The node that no host can run. */
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
