/**
 * Gate 13. Can the input be read: body, query and path values? No earlier gate reads the body. 400
 * 460.   AGTP-API §5.5
 */
import { undeclaredMembers } from "../caller/watched-peer.ts";
import { readInput } from "../read-input.ts";
import type { Gate } from "./gate.ts";

/** Reads and merges the input for the resolved endpoint. */
export const bodyGate: Gate = (exchange) => {
  const { route } = exchange;
  if (route === undefined) return undefined;
  exchange.undeclared = undeclaredMembers(exchange, route);
  return readInput(exchange, route);
};
