/**
 * Does the merged input (body, query, path) satisfy the endpoint's input schema?
 * 422 with every violation, up to 20.   AGTP-API §13.2, §13.3
 */
import type { Exchange } from "../exchange.ts";
import { schemaViolation } from "../refusals/refusal.ts";
import type { Gate } from "./gate.ts";

/** Asks the schema, and then the handler's own rules. */
export const inputGate: Gate = (exchange) => {
  const { route, input } = exchange;
  if (route === undefined) return undefined;
  const violations = route.input.check(input, isSmall(exchange)) ?? route.precheck?.(input);
  return violations && schemaViolation(violations);
};

/** No text has more members and items than half its octets. */
const SMALL_OCTETS = 8192;

function isSmall({ inner, request }: Exchange): boolean {
  const octets = request.body.length + (request.query?.length ?? 0);
  return inner === undefined && octets <= SMALL_OCTETS;
}
