/** EXECUTE, and the runs of it that QUERY finds. */

import { EXECUTE_SCHEMA, executeHandler } from "../modules/delegation/execute.ts";
import { ActionResolver, type Dispatchable } from "../modules/delegation/resolver.ts";
import { runSource } from "../modules/delegation/run-source.ts";
import { disclosedAgents } from "../modules/discovery/inventory.ts";
import { canonicalPair, isProtocolPair } from "../server/pairs.ts";
import type { FloorPart, FloorParts } from "./protocol-parts.ts";

/** What actions of a deployment are looked up in. */
export function actionResolver({ inventory, methodPolicy }: FloorParts): ActionResolver {
  return new ActionResolver({
    endpoints: () => inventory.endpoints(),
    agents: (callerId) => disclosedAgents(inventory, callerId),
    canonical: (pair) => canonicalPair(methodPolicy, pair),
  });
}

/** Whether a pair is answered by the protocol itself, whatever is asked for in its query. */
export function isFloorPair({ method, path }: Dispatchable): boolean {
  return isProtocolPair(method, path.split("?", 1)[0] ?? "");
}

/** The part. */
export function executionPart(parts: FloorParts): FloorPart {
  const { runs } = parts.floor;
  const handler = executeHandler({
    resolver: actionResolver(parts),
    runs,
    isFloor: isFloorPair,
  });
  const method = { inputSchema: EXECUTE_SCHEMA, handler, idempotencyMember: "idempotency_key" };
  return { methods: new Map([["EXECUTE", method]]), sources: [runSource(runs)] };
}
