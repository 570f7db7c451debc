/**
 * Gate 16. Does the merged input satisfy the endpoint's input schema, and then the handler's own rules? Is it
 * what was sent, to the digit? 422 with every violation, up to 20.   AGTP-API §13.2, §13.3
 */

import { findLost, findRounded } from "../../endpoint/input.ts";
import type { Exchange } from "../exchange.ts";
import { readInput, watchPeer } from "../read-input.ts";
import { schemaViolation } from "../refusals/refusal.ts";
import type { Route } from "../routes/route.ts";
import type { Gate } from "./gate.ts";

/** Asks the schema, and then the handler's own rules. */
export const inputGate: Gate = (exchange) => {
  const { route, undeclared } = exchange;
  if (route === undefined) return undefined;
  const violations = route.input.check(exchange.input, isSmall(exchange), undeclared);
  if (violations !== undefined) {
    watchPeer(exchange, route);
    return schemaViolation(violations);
  }
  if (undeclared?.isPreliminary === true) {
    // The handler is given what was sent, and not what stood in its place for the schema.
    exchange.undeclared = undefined;
    readInput(exchange, route);
  }
  const broken = route.precheck?.(exchange.input) ?? lostIn(exchange, route);
  return broken && schemaViolation(broken);
};

/** Schemas that are proposed may have bounds that large, and what a handler gives the protocol is its own. */
function lostIn({ inner, request, input }: Exchange, { tier, deepMembers }: Route) {
  if (inner !== undefined) return tier === "A" ? undefined : findRounded(input);
  return deepMembers === undefined ? findLost(request.body, input) : undefined;
}

/** No text has more members and items than half its octets. */
const SMALL_OCTETS = 8192;

function isSmall({ inner, request }: Exchange): boolean {
  const octets = request.body.length + (request.query?.length ?? 0);
  return inner === undefined && octets <= SMALL_OCTETS;
}
