/** The first segments of DISCOVER paths that belong to the protocol.   AGTP-API §5.9 */
export const RESERVED_NAMES: readonly string[] = [
  "methods",
  "agents",
  "genesis",
  "tools",
  "apis",
  "patterns",
  "contracts",
];
