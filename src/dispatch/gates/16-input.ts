/**
 * Gate 16. Does the merged input satisfy the endpoint's input schema, then the handler's own rules?
 * Did every number keep its digits? 422 with every violation, up to 20.   AGTP-API §13.2, §13.3
 */

import { unescapeToken } from "../../base/dotted-key.ts";
import { memberOf } from "../../base/json-value.ts";
import { findLost, findRounded, lostText } from "../../endpoint/input.ts";
import type { SchemaViolation } from "../../schema/schema-violation.ts";
import { watchPeer } from "../caller/watched-peer.ts";
import type { Exchange } from "../exchange.ts";
import { readInput } from "../read-input.ts";
import { schemaViolation } from "../refusals/refusal.ts";
import type { Route } from "../routes/route.ts";
import type { Gate } from "./gate.ts";

/** Checks the input schema, then the handler's own rules. */
export const inputGate: Gate = (exchange) => {
  const { route, undeclared } = exchange;
  if (route === undefined) return undefined;
  const violations = route.input.check(exchange.input, isSmall(exchange), undeclared);
  if (violations !== undefined) {
    watchPeer(exchange, route);
    return schemaViolation(withLosses(violations, exchange, route));
  }
  if (undeclared?.isPreliminary === true) {
    // Reads the input again, so that the handler gets the sent names instead of stand-ins.
    exchange.undeclared = undefined;
    readInput(exchange, route);
  }
  const broken = route.precheck?.(exchange.input) ?? lostIn(exchange, route);
  return broken && schemaViolation(broken);
};

/** Rewrites the violations of numbers in path or query that lost precision, so that they say so. */
function withLosses(
  violations: readonly SchemaViolation[],
  { query, pathValues, input }: Exchange,
  { shape }: Route,
): readonly SchemaViolation[] {
  if (query === undefined && pathValues === undefined) return violations;
  const lossOf = ({ path }: SchemaViolation): string | undefined => {
    const name = unescapeToken(path.slice(1));
    const text = input[name];
    if (typeof text !== "string" || path === "") return undefined;
    // The body wins over the query, and its texts are never numbers.
    const isTheirs = memberOf(pathValues ?? {}, name) !== undefined || query?.get(name) === text;
    return isTheirs ? lostText(shape, name, text) : undefined;
  };
  if (!violations.some(lossOf)) return violations;
  // Each branch of a schema may have reported the same value.
  const told = new Set<string>();
  return violations.flatMap((violation) => {
    const message = lossOf(violation);
    if (message === undefined) return violation;
    const { path } = violation;
    if (told.has(path)) return [];
    told.add(path);
    return { path, keyword: "precision", message };
  });
}

/** Proposed schemas may have bounds that large, and dispatches to the protocol's own routes are exempt. */
function lostIn({ inner, request, input }: Exchange, { tier, deepMembers }: Route) {
  if (inner !== undefined) return tier === "A" ? undefined : findRounded(input);
  return deepMembers === undefined ? findLost(request.body, input) : undefined;
}

/** A JSON text has at most half as many members and items as octets. */
const SMALL_OCTETS = 8192;

function isSmall({ inner, request }: Exchange): boolean {
  const octets = request.body.length + (request.query?.length ?? 0);
  return inner === undefined && octets <= SMALL_OCTETS;
}
