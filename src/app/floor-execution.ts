/** EXECUTE, and the runs of it that QUERY finds. */

import { THE_SERVER } from "../base/task-queue.ts";
import { EXECUTE_SCHEMA, executeHandler } from "../modules/delegation/execute.ts";
import { ActionResolver, type Dispatchable } from "../modules/delegation/resolver.ts";
import { runSource } from "../modules/delegation/run-source.ts";
import { disclosedAgents } from "../modules/discovery/inventory.ts";
import { canonicalPair, isProtocolPair } from "../server/pairs.ts";
import type { FloorPart, FloorParts } from "./protocol-parts.ts";

/** What actions of a deployment are looked up in. */
export function actionResolver({ inventory, methodPolicy }: FloorParts): ActionResolver {
  const known = resolvers.get(inventory);
  if (known !== undefined) return known;
  const resolver = new ActionResolver({
    endpoints: () => inventory.endpoints(),
    agents: (callerId) => disclosedAgents(inventory, callerId),
    canonical: (pair) => canonicalPair(methodPolicy, pair),
  });
  resolvers.set(inventory, resolver);
  return resolver;
}

/** EXECUTE and DELEGATE look names up in the same one. */
const resolvers = new WeakMap<object, ActionResolver>();

/** Whether a pair is answered by the protocol itself, whatever is asked for in its query. */
export function isFloorPair({ method, path }: Dispatchable): boolean {
  return isProtocolPair(method, path.split("?", 1)[0] ?? "");
}

/** The part. */
export function executionPart(parts: FloorParts): FloorPart {
  const { runs, work, stopping } = parts.floor;
  const resolver = actionResolver(parts);
  const handler = executeHandler({ resolver, runs, isFloor: isFloorPair });
  const method = { inputSchema: EXECUTE_SCHEMA, handler, idempotencyMember: "idempotency_key" };
  return {
    methods: new Map([["EXECUTE", method]]),
    sources: [runSource(runs)],
    // A server that stops prepares nothing more; whoever names an action hears of anything else.
    start: () =>
      void work.pace(resolver.prepare(), THE_SERVER, stopping.signal).catch(() => undefined),
  };
}
