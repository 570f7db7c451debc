/**
 * Gate 13. Can the input be read: the body, the query, and the values in the path? It is the first place
 * that looks into a body. 400 460.   AGTP-API §5.5
 */
import { undeclaredMembers } from "../caller/watched-peer.ts";
import { readInput } from "../read-input.ts";
import type { Gate } from "./gate.ts";

/** Reads and merges, once it is known for which endpoint. */
export const bodyGate: Gate = (exchange) => {
  const { route } = exchange;
  if (route === undefined) return undefined;
  exchange.undeclared = undeclaredMembers(exchange, route);
  return readInput(exchange, route);
};
